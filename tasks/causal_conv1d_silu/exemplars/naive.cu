// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// causal_conv1d_silu, the plainest design: one thread an output, which finds
// its sequence and reads all four rows from global memory. It is correct; it is
// where a faster kernel starts. Runs on sm_80 and later, for any T, C and B.

#include "d2k_causal_conv1d_silu.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;
constexpr int kTaps = D2K_CAUSAL_CONV1D_SILU_K;

/// A row of sequence b, counted from its first token; negative ones are in the
/// initial state.
__device__ __nv_bfloat16 getRow(const __nv_bfloat16 *x,
                                const __nv_bfloat16 *initialState,
                                const int32_t *cuSeqlens, int64_t b,
                                int64_t row, int64_t c, int64_t C) {
  if (row < 0)
    return initialState[(b * (kTaps - 1) + kTaps - 1 + row) * C + c];
  return x[(cuSeqlens[b] + row) * C + c];
}

__global__ void __launch_bounds__(kThreads)
    convolveNaive(const __nv_bfloat16 *x, const __nv_bfloat16 *w,
                  const float *bias, const int32_t *cuSeqlens,
                  const __nv_bfloat16 *initialState, __nv_bfloat16 *y,
                  int64_t T, int64_t C, int64_t B) {
  int64_t index = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= T * C)
    return;
  int64_t t = index / C, c = index % C;

  // The last sequence that begins at or before t.
  int64_t low = 0, high = B - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (cuSeqlens[middle] <= t)
      low = middle;
    else
      high = middle - 1;
  }
  int64_t row = t - cuSeqlens[low];

  float sum = bias[c];
  for (int j = 0; j < kTaps; ++j)
    sum += __bfloat162float(w[c * kTaps + j]) *
           __bfloat162float(getRow(x, initialState, cuSeqlens, low,
                                   row - (kTaps - 1) + j, c, C));
  y[index] = __float2bfloat16_rn(sum / (1.0f + expf(-sum)));
}

__global__ void __launch_bounds__(kThreads)
    copyFinalState(const __nv_bfloat16 *x, const int32_t *cuSeqlens,
                   const __nv_bfloat16 *initialState, __nv_bfloat16 *finalState,
                   int64_t C, int64_t B) {
  int64_t index = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= B * (kTaps - 1) * C)
    return;
  int64_t c = index % C;
  int64_t b = index / C / (kTaps - 1);
  int64_t length = cuSeqlens[b + 1] - cuSeqlens[b];
  int64_t row = length - (kTaps - 1) + index / C % (kTaps - 1);
  finalState[index] = getRow(x, initialState, cuSeqlens, b, row, c, C);
}

extern "C" int d2k_causal_conv1d_silu(const d2k_causal_conv1d_silu_args *args,
                                      void *, size_t, cudaStream_t stream) {
  if (args->T < 1 || args->C < 1 || args->B < 1)
    return cudaSuccess;
  int64_t blocks = (args->T * args->C + kThreads - 1) / kThreads;
  int64_t stateBlocks =
      (args->B * (kTaps - 1) * args->C + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX || stateBlocks > INT32_MAX)
    return cudaErrorInvalidValue;
  auto *x = static_cast<const __nv_bfloat16 *>(args->x);
  auto *w = static_cast<const __nv_bfloat16 *>(args->w);
  auto *initialState = static_cast<const __nv_bfloat16 *>(args->initial_state);
  convolveNaive<<<unsigned(blocks), kThreads, 0, stream>>>(
      x, w, args->bias, args->cu_seqlens, initialState,
      static_cast<__nv_bfloat16 *>(args->y), args->T, args->C, args->B);
  copyFinalState<<<unsigned(stateBlocks), kThreads, 0, stream>>>(
      x, args->cu_seqlens, initialState,
      static_cast<__nv_bfloat16 *>(args->final_state), args->C, args->B);
  return cudaGetLastError();
}
