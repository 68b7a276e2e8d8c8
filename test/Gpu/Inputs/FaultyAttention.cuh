// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels with a fault in a softmax attention have in common: a warp takes
// a query row and 32 keys at a time, a lane one of these keys and then some
// columns of the result. Which keys, and where they are, is the task's.

#ifndef D2K_TEST_GPU_INPUTS_FAULTYATTENTION_CUH
#define D2K_TEST_GPU_INPUTS_FAULTYATTENTION_CUH

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cstring>

#include <math.h>

namespace faulty {

using Bf16 = __nv_bfloat16;

/// Most warps of a block.
constexpr int kMaxWarps = 8;

__device__ inline float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}
__device__ inline float roundToE4m3(float value) {
  return float(__nv_fp8_e4m3(value));
}

/// Faults of the softmax; all false: none.
struct AttentionFaults {
  bool bf16Scores, e4m3Weights;
  /// Weights rounded to bf16, also where they are summed.
  bool roundedSum;
  /// The largest score is not subtracted.
  bool noMaximum;
  /// Queries, keys and values rounded to e4m3.
  bool e4m3Operands;

  __device__ float load(Bf16 value) const {
    float wide = __bfloat162float(value);
    return e4m3Operands ? roundToE4m3(wide) : wide;
  }
};

/// The softmax of one query row, by a warp. The sum is one chain of fp32, which
/// is the worst order that has to pass.
template <int kMaxColumns>
struct AttentionRow {
  /// Not yet divided by the sum. A lane has the columns lane, lane + 32, ...
  float o[kMaxColumns] = {};
  float maximum = -INFINITY, sum = 0;

  /// Adds the keys from \p first to before \p end: getKey(key) and
  /// getValue(key) are their rows, of \p keyWidth (a multiple of 8) and
  /// \p valueWidth (a multiple of 32) elements.
  template <typename GetKey, typename GetValue>
  __device__ void add(const AttentionFaults &faults, const Bf16 *q,
                      int64_t keyWidth, int64_t valueWidth, float scale,
                      int64_t first, int64_t end, GetKey getKey,
                      GetValue getValue) {
    __shared__ float shared[kMaxWarps][32];
    int lane = int(threadIdx.x) % 32;
    float *weights = shared[threadIdx.x / 32];
    for (int64_t tile = first; tile < end; tile += 32) {
      float score = -INFINITY;
      if (tile + lane < end) {
        const Bf16 *key = getKey(tile + lane);
        score = 0;
        for (int64_t d0 = 0; d0 < keyWidth; d0 += 8) {
          uint4 words = *reinterpret_cast<const uint4 *>(key + d0);
          Bf16 values[8];
          memcpy(values, &words, sizeof(words));
          for (int d = 0; d < 8; ++d)
            score += faults.load(q[d0 + d]) * faults.load(values[d]);
        }
        score *= scale;
        if (faults.bf16Scores)
          score = roundToBf16(score);
      }
      float larger = score;
      for (int step = 16; step > 0; step /= 2)
        larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, step));
      larger = fmaxf(larger, maximum);
      if (faults.noMaximum)
        larger = 0;
      float kept = sum == 0 ? 0 : expf(maximum - larger);
      maximum = larger;
      __syncwarp();
      weights[lane] = expf(score - larger);
      __syncwarp();
      sum *= kept;
#pragma unroll
      for (float &column : o)
        column *= kept;
      for (int i = 0; i < 32 && tile + i < end; ++i) {
        float weight = weights[i];
        if (faults.roundedSum)
          weight = roundToBf16(weight);
        sum += weight;
        if (faults.e4m3Weights)
          weight = roundToE4m3(weight);
        const Bf16 *value = getValue(tile + i);
#pragma unroll
        for (int c = 0; c < kMaxColumns; ++c)
          if (32 * c < valueWidth)
            o[c] += weight * faults.load(value[32 * c + lane]);
      }
    }
  }
};

/// The output of a row and its sum over `length` keys, by `attend(first, end)`:
/// in one chain, or, as a fault, in two parts that are joined as if their sums
/// were alike.
template <typename Attend>
__device__ auto attendInParts(Attend attend, int64_t length, bool joinsWrong) {
  int64_t half = joinsWrong ? (length + 1) / 2 : length;
  auto result = attend(0, half);
  for (float &column : result.o)
    column /= result.sum;
  if (half < length) {
    auto other = attend(half, length);
    for (size_t i = 0; i < sizeof(result.o) / sizeof(float); ++i)
      result.o[i] = (result.o[i] + other.o[i] / other.sum) / 2;
    float best = fmaxf(result.maximum, other.maximum);
    result.sum = result.sum * expf(result.maximum - best) +
                 other.sum * expf(other.maximum - best);
    result.maximum = best;
  }
  return result;
}

} // namespace faulty

#endif // D2K_TEST_GPU_INPUTS_FAULTYATTENTION_CUH
