// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cross_entropy_fwd_bwd, the plainest design: one block a row, which reads the
// row three times: for its maximum, for the sum of exponentials, and for the
// gradient. Each block counts the rows that are not ignored by itself. It is
// correct; it is where a faster kernel starts. Runs on sm_80 and later, for any
// T and V.

#include "d2k_cross_entropy_fwd_bwd.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;
constexpr int kIgnored = -100;

template <typename Combine>
__device__ float reduceBlock(float value, float *scratch, Combine combine) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] =
          combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    __syncthreads();
  }
  float result = scratch[0];
  __syncthreads();
  return result;
}

__global__ void __launch_bounds__(kThreads)
    crossEntropyNaive(const __nv_bfloat16 *logits, const int32_t *target,
                      float *loss, __nv_bfloat16 *dlogits, int64_t T,
                      int64_t V) {
  __shared__ float scratch[kThreads];
  auto add = [](float a, float b) { return a + b; };
  auto larger = [](float a, float b) { return fmaxf(a, b); };
  int64_t row = blockIdx.x;
  logits += row * V;
  dlogits += row * V;
  int right = target[row];
  if (right == kIgnored) {
    for (int64_t i = threadIdx.x; i < V; i += kThreads)
      dlogits[i] = __float2bfloat16_rn(0.0f);
    if (threadIdx.x == 0)
      loss[row] = 0.0f;
    return;
  }
  float valid = 0.0f, most = -INFINITY, sum = 0.0f;
  for (int64_t i = threadIdx.x; i < T; i += kThreads)
    valid += target[i] != kIgnored ? 1.0f : 0.0f;
  valid = reduceBlock(valid, scratch, add);
  for (int64_t i = threadIdx.x; i < V; i += kThreads)
    most = fmaxf(most, __bfloat162float(logits[i]));
  most = reduceBlock(most, scratch, larger);
  for (int64_t i = threadIdx.x; i < V; i += kThreads)
    sum += expf(__bfloat162float(logits[i]) - most);
  sum = reduceBlock(sum, scratch, add);
  if (threadIdx.x == 0)
    loss[row] = most + logf(sum) - __bfloat162float(logits[right]);
  for (int64_t i = threadIdx.x; i < V; i += kThreads) {
    float p = expf(__bfloat162float(logits[i]) - most) / sum;
    dlogits[i] = __float2bfloat16_rn((p - (i == right ? 1.0f : 0.0f)) / valid);
  }
}

extern "C" int
d2k_cross_entropy_fwd_bwd(const d2k_cross_entropy_fwd_bwd_args *args, void *,
                          size_t, cudaStream_t stream) {
  if (args->T > INT32_MAX)
    return cudaErrorInvalidValue;
  crossEntropyNaive<<<unsigned(args->T), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->logits), args->target,
      args->loss, static_cast<__nv_bfloat16 *>(args->dlogits), args->T,
      args->V);
  return cudaGetLastError();
}
