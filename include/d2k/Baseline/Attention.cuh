// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention as the kernels of baselines see it, whatever they multiply with:
// the problem, the keys that a block of queries has to visit, and the rows of
// an online softmax.

#ifndef D2K_BASELINE_ATTENTION_CUH
#define D2K_BASELINE_ATTENTION_CUH

#include "d2k/Baseline/MmaSync.cuh"

#include <climits>
#include <cmath>

namespace d2k::baseline {

/// Queries and keys of a block of a block list.
constexpr int kListBlock = 128;
/// Queries of a block.
constexpr int kAttentionRows = 128;
static_assert(kAttentionRows == kListBlock);

/// What the kernel needs. Queries are [tokens, headsQ, width], keys and values
/// [tokens, headsK, width]; sequences lie one behind the other.
struct AttentionProblem {
  const Bf16 *q, *k, *v;
  Bf16 *o;
  /// [headsQ, tokensQ]; null when it is not wanted.
  float *lse;
  /// [sequences + 1]; null when all sequences have the length maxQ, keys too.
  const int32_t *startsQ = nullptr, *startsK = nullptr;
  int64_t sequences = 1, tokensQ = 0, tokensK = 0, maxQ = 0;
  int headsQ = 1, headsK = 1, width = 0;
  float scale = 1;
  bool isCausal = true;
  /// Keys that a query sees, its own included.
  int64_t window = INT32_MAX;
  /// [headsQ], logits in the sum of the softmax; null for none.
  const float *sinks = nullptr;
  /// Block list, [sequences, headsQ, blocks + 1] and columns; null for none.
  const int32_t *rowStarts = nullptr, *columns = nullptr;

  __device__ int64_t getBeginQ(int sequence) const {
    return startsQ ? startsQ[sequence] : sequence * maxQ;
  }
  __device__ int getLengthQ(int sequence) const {
    return int(startsQ ? startsQ[sequence + 1] - startsQ[sequence] : maxQ);
  }
};

/// A block of query rows of one head, and the keys that they see, kKeys at a
/// step.
template <int kKeys, bool kIsListed, int kRows = kAttentionRows>
struct AttentionTile {
  /// The first row among all queries, the sequence's first key among all keys.
  int64_t firstRow, beginK;
  int head, headK;
  /// Rows that there are; 0: none of the members below has a value.
  int rows;
  int lengthK;
  /// Row r is at position r + shift among the sequence's keys.
  int shift;
  int steps;

  __device__ AttentionTile(const AttentionProblem &p, int sequence, int head,
                           int block)
      : head(head) {
    int lengthQ = p.getLengthQ(sequence), row0 = block * kRows;
    rows = max(min(kRows, lengthQ - row0), 0);
    if (rows == 0)
      return;
    firstRow = p.getBeginQ(sequence) + row0;
    beginK = p.startsK ? p.startsK[sequence] : sequence * p.maxQ;
    lengthK = int(p.startsK ? p.startsK[sequence + 1] - beginK : p.maxQ);
    headK = head / (p.headsQ / p.headsK);
    shift = row0 + lengthK - lengthQ;
    if constexpr (kIsListed) {
      int blocks = (lengthQ + kListBlock - 1) / kListBlock;
      const int32_t *starts =
          p.rowStarts + (int64_t(sequence) * p.headsQ + head) * (blocks + 1) +
          block;
      list = p.columns + starts[0];
      steps = (starts[1] - starts[0]) * (kListBlock / kKeys);
    } else {
      int last = p.isCausal ? min(lengthK, rows + shift) : lengthK;
      first = 0;
      if (p.window <= shift)
        first = (shift - int(p.window) + 1) / kKeys * kKeys;
      steps = (max(last - first, 0) + kKeys - 1) / kKeys;
    }
  }

  /// The first key of a step, of the sequence.
  __device__ int getKey(int step) const {
    if constexpr (kIsListed)
      return list[step / (kListBlock / kKeys)] * kListBlock +
             step % (kListBlock / kKeys) * kKeys;
    else
      return first + step * kKeys;
  }

  /// Whether some row does not see some of the keys from \p key on.
  __device__ bool isPartial(const AttentionProblem &p, int key) const {
    return key + kKeys > lengthK || (p.isCausal && key + kKeys - 1 > shift) ||
           key + p.window <= shift + rows - 1;
  }
  /// The first key that a row sees, and the one after its last.
  __device__ int2 getVisible(const AttentionProblem &p, int row) const {
    int position = shift + row;
    return make_int2(p.window <= position ? position - int(p.window) + 1 : 0,
                     p.isCausal ? min(position + 1, lengthK) : lengthK);
  }

private:
  int first;
  const int32_t *list;
};

/// The maximum, and the sum, of a row over the four lanes that have it.
__device__ inline float maximumOfRow(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
__device__ inline float sumOfRow(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

constexpr float kLog2e = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

/// A row of an online softmax. Exponentials are 2^(scale2 (s - maximum)),
/// scale2 = scale * log2(e).
struct SoftmaxRow {
  float maximum = -INFINITY;
  /// Of this lane's exponentials.
  float sum = 0;

  /// Takes the largest score of the next keys. Returns what the sum and the
  /// result so far are to be multiplied with; \p base is what is to be
  /// subtracted from a score times scale2.
  __device__ float raise(float largest, float scale2, float &base) {
    float now = fmaxf(maximum, largest);
    // Of a row without keys so far everything is 0. The difference is scaled,
    // not the maxima: where the maximum stays, the factor is then 1 at every
    // step, whether or not products and sums are fused.
    float top = now == -INFINITY ? 0 : now;
    float kept = exp2Fast((maximum - top) * scale2);
    base = top * scale2;
    maximum = now;
    sum *= kept;
    return kept;
  }

  /// After all keys: what the result is to be multiplied with, and the
  /// logarithm of the sum. All lanes of a row call it.
  __device__ float finish(float scale, float sink, float &lse) const {
    float total = sumOfRow(sum);
    float top = fmaxf(maximum * scale, sink);
    lse = total > 0 ? fmaf(maximum, scale, log2f(total) * kLn2) : -INFINITY;
    if (!(total > 0))
      return 0;
    float kept = exp2Fast((maximum * scale - top) * kLog2e);
    return kept / (total * kept + exp2Fast((sink - top) * kLog2e));
  }
};

/// Scores in accumulators of a warpgroup become probabilities. Element 4 j + 2
/// h + c of a thread has row h of its two and key 8 j + 2 (lane % 4) + c.
template <int kKeys>
__device__ inline void applySoftmax(float (&s)[kKeys / 2],
                                    SoftmaxRow (&softmax)[2], float (&kept)[2],
                                    float scale2) {
  float largest[2], base[2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
    largest[half] = fmaxf(s[2 * half], s[2 * half + 1]);
#pragma unroll
  for (int j = 1; j < kKeys / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      largest[half] = fmaxf(
          largest[half], fmaxf(s[4 * j + 2 * half], s[4 * j + 2 * half + 1]));
#pragma unroll
  for (int half = 0; half < 2; ++half)
    kept[half] =
        softmax[half].raise(maximumOfRow(largest[half]), scale2, base[half]);
  // Two chains a row: one would be too long.
  float sums[2][2] = {};
#pragma unroll
  for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float &score = s[4 * j + 2 * half + c];
        score = exp2Fast(fmaf(score, scale2, -base[half]));
        sums[half][c] += score;
      }
#pragma unroll
  for (int half = 0; half < 2; ++half)
    softmax[half].sum += sums[half][0] + sums[half][1];
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_ATTENTION_CUH
