// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rmsnorm_residual_fp8, the plainest design: one block a token, one element at
// a time, and r read back from global memory for each of the two later passes.
// It is correct; it is where a faster kernel starts. Runs on sm_80 and later,
// for any T and H.

#include "d2k_rmsnorm_residual_fp8.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

constexpr int kThreads = 128;
constexpr int kGroup = D2K_RMSNORM_RESIDUAL_FP8_G;
static_assert(kThreads == kGroup, "each group has one column a thread");

/// The smallest power of two that is not below `value`, a positive number.
__device__ float ceilPowerOfTwo(float value) {
  int exponent;
  float fraction = frexpf(value, &exponent); // fraction in [0.5, 1)
  return ldexpf(1.0f, fraction == 0.5f ? exponent - 1 : exponent);
}

__global__ void __launch_bounds__(kThreads)
    rmsnormNaive(const __nv_bfloat16 *x, const __nv_bfloat16 *res,
                 const __nv_bfloat16 *w, float eps, __nv_bfloat16 *r,
                 __nv_fp8_e4m3 *q, float *s, int64_t T, int64_t H) {
  __shared__ float scratch[kThreads];
  int64_t token = blockIdx.x;
  x += token * H;
  res += token * H;
  r += token * H;
  q += token * H;

  // The norm is that of the rounded sum.
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    r[i] = __float2bfloat16_rn(__bfloat162float(x[i]) +
                               __bfloat162float(res[i]));
    float value = __bfloat162float(r[i]);
    squares += value * value;
  }
  scratch[threadIdx.x] = squares;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  float factor = rsqrtf(scratch[0] / float(H) + eps);
  __syncthreads();

  for (int64_t first = 0; first < H; first += kGroup) {
    int64_t i = first + threadIdx.x;
    bool inRow = i < H;
    float n = inRow ? __bfloat162float(r[i]) * factor * __bfloat162float(w[i])
                    : 0.0f;
    scratch[threadIdx.x] = fabsf(n);
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half)
        scratch[threadIdx.x] =
            fmaxf(scratch[threadIdx.x], scratch[threadIdx.x + half]);
      __syncthreads();
    }
    float scale = ceilPowerOfTwo(fmaxf(scratch[0], 1e-10f) / 448.0f);
    if (inRow)
      q[i] = __nv_fp8_e4m3(n / scale); // Saturates, rounds to nearest even.
    if (threadIdx.x == 0)
      s[first / kGroup * T + token] = scale;
    __syncthreads();
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t stream) {
  if (args->T < 1 || args->H < 1)
    return cudaSuccess;
  if (args->T > INT32_MAX)
    return cudaErrorInvalidValue;
  rmsnormNaive<<<unsigned(args->T), kThreads, 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->x),
      static_cast<const __nv_bfloat16 *>(args->res),
      static_cast<const __nv_bfloat16 *>(args->w), args->eps,
      static_cast<__nv_bfloat16 *>(args->r),
      static_cast<__nv_fp8_e4m3 *>(args->q), args->s, args->T, args->H);
  return cudaGetLastError();
}
