// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// layernorm_backward, the plainest design: one block a token for dx, and for dw
// and db one thread a column that walks down all tokens. It is correct; it is
// where a faster kernel starts. Runs on sm_80 and later, for any T and H.

#include "d2k_layernorm_backward.h"

#include <cuda_bf16.h>

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    rowsNaive(const __nv_bfloat16 *dy, const __nv_bfloat16 *x,
              const __nv_bfloat16 *w, const float *mean, const float *rstd,
              __nv_bfloat16 *dx, int64_t H) {
  __shared__ float sumG[kThreads], sumGn[kThreads];
  int64_t token = blockIdx.x;
  dy += token * H;
  x += token * H;
  dx += token * H;
  float m = mean[token], r = rstd[token];
  float g = 0.0f, gn = 0.0f;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    float gradient = __bfloat162float(dy[i]) * __bfloat162float(w[i]);
    g += gradient;
    gn += gradient * (__bfloat162float(x[i]) - m) * r;
  }
  sumG[threadIdx.x] = g;
  sumGn[threadIdx.x] = gn;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      sumG[threadIdx.x] += sumG[threadIdx.x + half];
      sumGn[threadIdx.x] += sumGn[threadIdx.x + half];
    }
    __syncthreads();
  }
  float meanG = sumG[0] / float(H), meanGn = sumGn[0] / float(H);
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    float gradient = __bfloat162float(dy[i]) * __bfloat162float(w[i]);
    float n = (__bfloat162float(x[i]) - m) * r;
    dx[i] = __float2bfloat16_rn(r * (gradient - meanG - n * meanGn));
  }
}

__global__ void __launch_bounds__(kThreads)
    columnsNaive(const __nv_bfloat16 *dy, const __nv_bfloat16 *x,
                 const float *mean, const float *rstd, float *dw, float *db,
                 int64_t T, int64_t H) {
  int64_t column = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= H)
    return;
  float sumW = 0.0f, sumB = 0.0f;
  for (int64_t token = 0; token < T; ++token) {
    float gradient = __bfloat162float(dy[token * H + column]);
    sumW += gradient * ((__bfloat162float(x[token * H + column]) -
                         mean[token]) *
                        rstd[token]);
    sumB += gradient;
  }
  dw[column] = sumW;
  db[column] = sumB;
}

extern "C" int d2k_layernorm_backward(const d2k_layernorm_backward_args *args,
                                      void *, size_t, cudaStream_t stream) {
  if (args->T > INT32_MAX)
    return cudaErrorInvalidValue;
  auto *dy = static_cast<const __nv_bfloat16 *>(args->dy);
  auto *x = static_cast<const __nv_bfloat16 *>(args->x);
  rowsNaive<<<unsigned(args->T), kThreads, 0, stream>>>(
      dy, x, static_cast<const __nv_bfloat16 *>(args->w), args->mean,
      args->rstd, static_cast<__nv_bfloat16 *>(args->dx), args->H);
  columnsNaive<<<unsigned((args->H + kThreads - 1) / kThreads), kThreads, 0,
                 stream>>>(dy, x, args->mean, args->rstd, args->dw, args->db,
                           args->T, args->H);
  return cudaGetLastError();
}
