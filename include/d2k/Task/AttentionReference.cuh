// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of softmax attention, for the references of the attention
// tasks: in fp64, and O in the working precision (scores, sums and outputs in
// fp32, exponentials to the base 2, probabilities rounded to bf16 before they
// are multiplied with V). The error of LSE is measured with a nominal one.
//
// Written to be read, not to be fast: a warp computes four query rows, a lane
// one key of 32 at a time, first all scores for their maximum, then all again.

#ifndef D2K_TASK_ATTENTIONREFERENCE_CUH
#define D2K_TASK_ATTENTIONREFERENCE_CUH

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <cuda_bf16.h>

#include <climits>
#include <cmath>
#include <vector>

namespace d2k::attention {

using Bf16 = __nv_bfloat16;

/// Query rows of a unit (see d2k_reference_units), those of a warp, and keys
/// that a warp looks at together.
constexpr int kUnitRows = 32;
constexpr int kWarpRows = 4;
constexpr int kThreads = kUnitRows / kWarpRows * 32;
/// Queries and keys of a block of a block list.
constexpr int kListBlock = 128;

/// Attention of sequences that lie one behind the other. Position i of a
/// sequence's queries sees the keys j with i + lengthK - lengthQ - window < j
/// and, when causal, j <= i + lengthK - lengthQ; with a block list only those
/// of listed blocks.
struct Problem {
  /// [tokensQ, headsQ, width], and [tokensK, headsK, width] twice.
  const Bf16 *q, *k, *v;
  int64_t sequences, tokensQ, tokensK, headsQ, headsK, width;
  float scale;
  bool isCausal;
  /// [sequences + 1], the first tokens of the sequences; null when all
  /// sequences are of the same length.
  const int32_t *startsQ = nullptr, *startsK = nullptr;
  int64_t window = INT64_MAX;
  /// [headsQ], logits that take part in the sum of the softmax only; null for
  /// none.
  const float *sinks = nullptr;
  /// Block list: [sequences, headsQ, blocks + 1] and block columns; null for
  /// none.
  const int32_t *rowStarts = nullptr, *columns = nullptr;

  __host__ __device__ int64_t countRowBlocks() const {
    return (tokensQ + kUnitRows - 1) / kUnitRows;
  }
};

__device__ inline int64_t getStart(const int32_t *starts, int64_t sequence,
                                   int64_t tokens, int64_t sequences) {
  return starts ? starts[sequence] : tokens / sequences * sequence;
}

/// The keys [first, last) of its sequence that a query may see, and where the
/// query is.
struct Range {
  int64_t first = 0, last = 0;
  /// Position of the query among the keys.
  int64_t position = 0;
};

/// The range of packed query \p token in \p sequence; empty when the token is
/// of another sequence.
__device__ inline Range getRange(const Problem &p, int64_t sequence,
                                 int64_t token) {
  Range range;
  int64_t beginQ = getStart(p.startsQ, sequence, p.tokensQ, p.sequences);
  int64_t endQ = getStart(p.startsQ, sequence + 1, p.tokensQ, p.sequences);
  int64_t lengthK = getStart(p.startsK, sequence + 1, p.tokensK, p.sequences) -
                    getStart(p.startsK, sequence, p.tokensK, p.sequences);
  if (token < beginQ || token >= endQ)
    return range;
  range.position = token - beginQ + lengthK - (endQ - beginQ);
  range.last = p.isCausal ? range.position + 1 : lengthK;
  range.first = 0;
  if (p.window <= range.position)
    range.first = range.position - p.window + 1;
  return range;
}

/// The row of the block list that is of \p position: its entries are those from
/// the first to before the second number.
__device__ inline const int32_t *getListRow(const Problem &p, int64_t sequence,
                                            int64_t head, int64_t position) {
  int64_t blocks = (p.tokensQ / p.sequences + kListBlock - 1) / kListBlock;
  return p.rowStarts + (sequence * p.headsQ + head) * (blocks + 1) +
         position / kListBlock;
}

/// Whether \p position sees the block of \p key.
__device__ inline bool isListed(const Problem &p, int64_t sequence,
                                int64_t head, int64_t position, int64_t key) {
  if (!p.rowStarts)
    return true;
  const int32_t *row = getListRow(p, sequence, head, position);
  for (int32_t at = row[0]; at < row[1]; ++at)
    if (p.columns[at] == key / kListBlock)
      return true;
  return false;
}

/// In fp32 the softmax is taken to the base 2, as kernels do because the
/// exponential unit does: scores are multiplied with log2(e) once.
template <typename Real>
constexpr Real kLogOfBase = 1;
template <>
inline constexpr float kLogOfBase<float> = 0.6931471805599453f;

__device__ inline double power(double x) { return exp(x); }
__device__ inline float power(float x) { return exp2f(x); }
__device__ inline double logarithm(double x) { return log(x); }
__device__ inline float logarithm(float x) { return log2f(x); }

/// The precision in which probabilities are multiplied with V.
__device__ inline double roundProbability(double p) { return p; }
__device__ inline float roundProbability(float p) {
  return __bfloat162float(__float2bfloat16_rn(p));
}

template <typename T>
__device__ T sumOfWarp(T value) {
  for (int step = 16; step; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

template <typename T>
__device__ T maximumOfWarp(T value) {
  for (int step = 16; step; step /= 2) {
    T other = __shfl_xor_sync(0xffffffffu, value, step);
    value = value < other ? other : value;
  }
  return value;
}

/// The error of LSE, relative to its magnitude, that the rms of a result is
/// compared with: that of an approximate instruction (ex2.approx, lg2.approx).
/// The errors of an fp32 computation are no measure: they average out over many
/// keys, or are 0 by luck.
constexpr double kNominalError = 0x1p-22;

/// Where the values of a pass go; all [tokensQ, headsQ, width] or [headsQ,
/// tokensQ].
struct Destination {
  double *o, *lse, *lseWorking;
  float *lseMagnitude;
  /// The same, rounded to the types of the outputs.
  Bf16 *roundedO;
  float *roundedLse;
};

/// Units are ordered so that the first of them are the ends of all heads: the
/// first rows of all heads, the last rows, then the others.
__device__ inline void locateUnit(const Problem &p, int64_t unit, int64_t &head,
                                  int64_t &row) {
  int64_t order = unit / p.headsQ, blocks = p.countRowBlocks();
  head = unit % p.headsQ;
  row = (order == 0 ? 0 : order == 1 ? blocks - 1 : order - 1) * kUnitRows;
}

/// One unit a block. \p Real is the precision of everything; \p kColumns
/// columns of O are those of a lane.
template <typename Real, int kColumns>
__global__ void __launch_bounds__(kThreads)
    computeUnits(Problem p, Destination to, const int64_t *units) {
  extern __shared__ double shared[]; // [kUnitRows][width]
  int64_t unit = units ? units[blockIdx.x] : int64_t(blockIdx.x);
  int64_t head = 0, row0 = 0;
  locateUnit(p, unit, head, row0);
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  Real *queries = reinterpret_cast<Real *>(shared);
  for (int64_t at = threadIdx.x; at < kUnitRows * p.width; at += kThreads) {
    int64_t token = row0 + at / p.width;
    queries[at] =
        token < p.tokensQ
            ? Real(__bfloat162float(
                  p.q[(token * p.headsQ + head) * p.width + at % p.width]))
            : Real(0);
  }
  __syncthreads();
  queries += warp * kWarpRows * p.width;
  row0 += warp * kWarpRows;

  const Real none = -Real(INFINITY);
  // Of scores and sinks.
  Real toBase = 1 / kLogOfBase<Real>, scale = Real(p.scale) * toBase;
  Real maximum[kWarpRows], sum[kWarpRows], magnitude[kWarpRows];
  Real o[kWarpRows][kColumns];
  for (int r = 0; r < kWarpRows; ++r) {
    maximum[r] = none;
    sum[r] = magnitude[r] = 0;
    for (int c = 0; c < kColumns; ++c)
      o[r][c] = 0;
  }
  int64_t headK = head / (p.headsQ / p.headsK);
  for (int64_t turn = 0; turn < 2 * p.sequences; ++turn) {
    // Once for the maximum, once for the sums.
    int64_t sequence = turn / 2;
    bool isForMaximum = turn % 2 == 0;
    Range ranges[kWarpRows];
    int64_t first = INT64_MAX, last = 0;
    for (int r = 0; r < kWarpRows; ++r) {
      ranges[r] = getRange(p, sequence, row0 + r);
      if (ranges[r].last <= ranges[r].first)
        continue;
      first = min(first, ranges[r].first);
      last = max(last, ranges[r].last);
    }
    int64_t beginK = getStart(p.startsK, sequence, p.tokensK, p.sequences);
    bool listed[kWarpRows], any = false;
    for (int64_t key0 = first / 32 * 32; key0 < last; key0 += 32) {
      if (key0 % kListBlock == 0 || key0 == first / 32 * 32) {
        any = false;
        for (int r = 0; r < kWarpRows; ++r) {
          listed[r] = ranges[r].first < ranges[r].last &&
                      isListed(p, sequence, head, ranges[r].position, key0);
          any |= listed[r];
        }
      }
      if (!any)
        continue;
      // Scores of this lane's key with the warp's rows.
      int64_t key = key0 + lane;
      Real s[kWarpRows] = {}, g[kWarpRows] = {};
      if (key < last) {
        const Bf16 *k = p.k + ((beginK + key) * p.headsK + headK) * p.width;
        for (int64_t d0 = 0; d0 < p.width; d0 += 8) {
          alignas(16) Bf16 values[8]; // 16 bytes at once.
          *reinterpret_cast<uint4 *>(values) =
              *reinterpret_cast<const uint4 *>(k + d0);
          for (int d = 0; d < 8; ++d) {
            Real value = Real(__bfloat162float(values[d]));
            for (int r = 0; r < kWarpRows; ++r) {
              Real product = queries[r * p.width + d0 + d] * value; // Exact.
              s[r] += product;
              g[r] += product < 0 ? -product : product;
            }
          }
        }
      }
      Real probability[kWarpRows];
      for (int r = 0; r < kWarpRows; ++r) {
        bool isVisible =
            listed[r] && key >= ranges[r].first && key < ranges[r].last;
        Real score = isVisible ? scale * s[r] : none;
        if (isForMaximum) {
          Real top = maximumOfWarp(score);
          maximum[r] = maximum[r] < top ? top : maximum[r];
          continue;
        }
        Real own = isVisible ? power(score - maximum[r]) : Real(0);
        sum[r] += sumOfWarp(own);
        magnitude[r] += sumOfWarp(own * Real(p.scale) * g[r]);
        probability[r] = roundProbability(own);
      }
      if (isForMaximum)
        continue;
      for (int j = 0; j < 32 && key0 + j < last; ++j) {
        const Bf16 *v =
            p.v + ((beginK + key0 + j) * p.headsK + headK) * p.width + lane;
        Real values[kColumns];
        for (int c = 0; c < kColumns; ++c)
          values[c] = Real(__bfloat162float(v[32 * c]));
        for (int r = 0; r < kWarpRows; ++r) {
          Real weight = __shfl_sync(0xffffffffu, probability[r], j);
          for (int c = 0; c < kColumns; ++c)
            o[r][c] += weight * values[c];
        }
      }
    }
  }

  for (int r = 0; r < kWarpRows; ++r) {
    int64_t token = row0 + r;
    if (token >= p.tokensQ)
      break;
    // The sink takes part in the sum; the maximum is that of all.
    Real factor = 0;
    if (sum[r] > 0) {
      Real sink = p.sinks ? Real(p.sinks[head]) * toBase : none;
      Real top = maximum[r] < sink ? sink : maximum[r];
      Real kept = power(maximum[r] - top);
      factor = kept / (sum[r] * kept + power(sink - top));
    }
    for (int c = 0; c < kColumns; ++c) {
      double value = double(o[r][c] * factor);
      Bf16 rounded = __double2bfloat16(value);
      if (sizeof(Real) == sizeof(float))
        value = __bfloat162float(rounded);
      int64_t at = (token * p.headsQ + head) * p.width + lane + 32 * c;
      if (to.o)
        to.o[at] = value;
      if (to.roundedO)
        to.roundedO[at] = rounded;
    }
    if (lane != 0)
      continue;
    int64_t at = head * p.tokensQ + token;
    double lse =
        double(sum[r] > 0 ? (maximum[r] + logarithm(sum[r])) * kLogOfBase<Real>
                          : none);
    double size = double(1 + (sum[r] > 0 ? magnitude[r] / sum[r] : Real(0)));
    if (to.lse)
      to.lse[at] = lse;
    if (to.lseWorking)
      to.lseWorking[at] = double(float(lse + kNominalError * size));
    if (to.roundedLse)
      to.roundedLse[at] = float(lse);
    if (to.lseMagnitude)
      to.lseMagnitude[at] = float(size);
  }
}

inline int64_t countUnits(const Problem &p) {
  return p.headsQ * p.countRowBlocks();
}
/// Units that every sample has: the first and the last rows of all heads.
inline int64_t countUnitsAlways(const Problem &p) {
  return p.headsQ * (p.countRowBlocks() < 2 ? 1 : 2);
}

template <typename Real>
int enqueueUnits(const Problem &p, const Destination &to, const int64_t *units,
                 int64_t count, cudaStream_t stream) {
  auto *kernel = p.width == 64    ? computeUnits<Real, 2>
                 : p.width == 128 ? computeUnits<Real, 4>
                                  : computeUnits<Real, 8>;
  int bytes = int(kUnitRows * p.width * int64_t(sizeof(Real)));
  cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess)
    return error;
  kernel<<<unsigned(count), kThreads, size_t(bytes), stream>>>(p, to, units);
  return cudaGetLastError();
}

/// Enqueues both passes, for the listed units or, when \p units is null, for
/// all. The magnitude of LSE is 1 + the mean over the keys, with the softmax's
/// weights, of scale * sum |q||k|: so much an error of every product, of the
/// exponential and of the logarithm weighs; its working value is the exact one
/// and kNominalError times that more. The magnitude of O is not computed.
inline int computeForward(const Problem &p, const d2k_expected &o,
                          const d2k_expected &lse, const int64_t *units,
                          int64_t count, cudaStream_t stream) {
  if (!units)
    count = countUnits(p);
  if (count == 0)
    return cudaSuccess;
  if (count > INT32_MAX ||
      (p.width != 64 && p.width != 128 && p.width != 256) ||
      p.headsQ % p.headsK != 0)
    return cudaErrorInvalidValue;
  int error = enqueueUnits<double>(
      p, {o.exact, lse.exact, lse.working, lse.magnitude, nullptr, nullptr},
      units, count, stream);
  if (error == cudaSuccess && o.working)
    error = enqueueUnits<float>(
        p, {o.working, nullptr, nullptr, nullptr, nullptr, nullptr}, units,
        count, stream);
  return error;
}

/// Enqueues the exact pass for all rows and rounds it: inputs of a backward
/// pass.
inline int computeRounded(const Problem &p, Bf16 *o, float *lse,
                          cudaStream_t stream) {
  return enqueueUnits<double>(p, {nullptr, nullptr, nullptr, nullptr, o, lse},
                              nullptr, countUnits(p), stream);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Tokens of a sequence.
struct SequenceLength {
  int32_t q, k;
};

/// Writes the first tokens of the sequences of \p p: those that \p listed
/// says when it has as many tokens; else all of the same length where that can
/// be, and else the longer the later, with keys to spare.
inline int writeStarts(const Problem &p,
                       const std::vector<SequenceLength> &listed,
                       cudaStream_t stream) {
  int64_t count = p.sequences, tokensQ = 0, tokensK = 0;
  for (const SequenceLength &length : listed) {
    tokensQ += length.q;
    tokensK += length.k;
  }
  bool isListed = int64_t(listed.size()) == count && tokensQ == p.tokensQ &&
                  tokensK == p.tokensK;
  bool isEqual = p.tokensQ % count == 0 && p.tokensK % count == 0;
  int64_t spare = p.tokensK - p.tokensQ;
  std::vector<int32_t> q = {0}, k = {0};
  for (int64_t b = 1; b <= count; ++b) {
    // At least one token each.
    int64_t quadratic = b + (p.tokensQ - count) * b * b / (count * count);
    q.push_back(isListed  ? q.back() + listed[size_t(b - 1)].q
                : isEqual ? int32_t(p.tokensQ / count * b)
                          : int32_t(quadratic));
    k.push_back(isListed  ? k.back() + listed[size_t(b - 1)].k
                : isEqual ? int32_t(p.tokensK / count * b)
                          : int32_t(quadratic + spare * b / count));
  }
  size_t bytes = q.size() * sizeof(int32_t);
  cudaError_t error =
      cudaMemcpyAsync(const_cast<int32_t *>(p.startsQ), q.data(), bytes,
                      cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess)
    error = cudaMemcpyAsync(const_cast<int32_t *>(p.startsK), k.data(), bytes,
                            cudaMemcpyHostToDevice, stream);
  return error;
}

/// Element \p d of the sign pattern of \p key, one of all sequences' keys.
__device__ inline bool isNegative(uint64_t seed, int64_t key, int64_t headK,
                                  int64_t headsK, int64_t d) {
  uint64_t bits = task::drawBits(seed, 0x7369676e,
                                 uint64_t((key * headsK + headK) * 4 + d / 64));
  return bits >> (d % 64) & 1;
}

/// K of a key is a pattern of signs, and Q of a query that of one key that it
/// sees times 48 to 80, or times \p fixedSize unless that is 0. Scores of other
/// keys are then smaller by more than 100 (for the widths here, and up to some
/// 10^5 keys), so that their exponentials vanish in fp32. Queries take their
/// last key, their first, or any between.
static __global__ void drawRetrieval(Problem p, uint64_t seed,
                                     float fixedSize) {
  int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  auto *k = const_cast<Bf16 *>(p.k), *q = const_cast<Bf16 *>(p.q);
  if (index < p.tokensK * p.headsK * p.width) {
    int64_t d = index % p.width, headK = index / p.width % p.headsK;
    int64_t key = index / p.width / p.headsK;
    k[index] = __float2bfloat16_rn(
        isNegative(seed, key, headK, p.headsK, d) ? -1.0f : 1.0f);
  }
  if (index >= p.tokensQ * p.headsQ * p.width)
    return;
  int64_t d = index % p.width, head = index / p.width % p.headsQ;
  int64_t token = index / p.width / p.headsQ, sequence = 0;
  while (getStart(p.startsQ, sequence + 1, p.tokensQ, p.sequences) <= token)
    ++sequence;
  Range range = getRange(p, sequence, token);
  uint64_t bits = task::drawBits(seed, 0x71, uint64_t(token * p.headsQ + head));
  bool isFirst = bits % 4 == 1, isLast = bits % 4 == 0;
  if (p.rowStarts) {
    const int32_t *row = getListRow(p, sequence, head, range.position);
    int32_t entry =
        isFirst ? row[0]
        : isLast
            ? row[1] - 1
            : row[0] + int32_t((bits >> 8) % uint64_t(row[1] - row[0] + 1));
    // An empty row sees nothing, whatever its query is.
    if (row[0] < row[1]) {
      range.first = int64_t(p.columns[min(entry, row[1] - 1)]) * kListBlock;
      range.last = min(range.last, range.first + kListBlock);
    }
  }
  int64_t key =
      isFirst  ? range.first
      : isLast ? range.last - 1
               : range.first +
                     int64_t((bits >> 32) % uint64_t(range.last - range.first));
  key += getStart(p.startsK, sequence, p.tokensK, p.sequences);
  float size = fixedSize > 0 ? fixedSize : float(48 + (bits >> 2) % 33);
  q[index] = __float2bfloat16_rn(
      isNegative(seed, key, head / (p.headsQ / p.headsK), p.headsK, d) ? -size
                                                                       : size);
}

/// Writes Q and K of \p p so. All queries must see a key, but for empty rows of
/// a block list.
inline int makeRetrieval(const Problem &p, uint64_t seed, cudaStream_t stream,
                         float fixedSize = 0) {
  int64_t count = p.width * (p.tokensQ * p.headsQ < p.tokensK * p.headsK
                                 ? p.tokensK * p.headsK
                                 : p.tokensQ * p.headsQ);
  drawRetrieval<<<unsigned((count + 255) / 256), 256, 0, stream>>>(p, seed,
                                                                   fixedSize);
  return cudaGetLastError();
}

} // namespace d2k::attention

#endif // D2K_TASK_ATTENTIONREFERENCE_CUH
