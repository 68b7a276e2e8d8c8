// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task layernorm_backward with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                            1 partial sums of dw rounded to bf16
//   2 mean of g left out of dx        3 mean of g * n left out of dx
//   4 g without w                     5 the last token not in dw
//   6 dw of x, not of n               7 dx to 8 bits
//   8 db not written                  9 one element past the end of dw
//   10 an input changed               11 dx of the last token not written
//   12 n = x * rstd - mean * rstd in bf16

#include "d2k_layernorm_backward.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 12"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__device__ float normalise(float x, float mean, float rstd) {
  if (D2K_FAULT == 12)
    return roundToBf16(roundToBf16(x * rstd) - roundToBf16(mean * rstd));
  return (x - mean) * rstd;
}

/// One thread a token: slow, and easy to put a fault into.
__global__ void faultyRows(d2k_layernorm_backward_args args) {
  int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t H = args.H, base = t * H;
  if (t >= args.T || (D2K_FAULT == 11 && t == args.T - 1))
    return;
  auto *dy = static_cast<const __nv_bfloat16 *>(args.dy);
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *w = static_cast<const __nv_bfloat16 *>(args.w);
  auto *dx = static_cast<__nv_bfloat16 *>(args.dx);
  auto getG = [&](int64_t i) {
    float g = __bfloat162float(dy[base + i]);
    return D2K_FAULT == 4 ? g : g * __bfloat162float(w[i]);
  };
  auto getN = [&](int64_t i) {
    return normalise(__bfloat162float(x[base + i]), args.mean[t], args.rstd[t]);
  };
  float sumG = 0, sumGn = 0;
  for (int64_t i = 0; i < H; ++i) {
    sumG += getG(i);
    sumGn += getG(i) * getN(i);
  }
  if (D2K_FAULT == 2)
    sumG = 0;
  if (D2K_FAULT == 3)
    sumGn = 0;
  for (int64_t i = 0; i < H; ++i) {
    float value = args.rstd[t] * (getG(i) - sumG / float(H) -
                                  getN(i) * (sumGn / float(H)));
    if (D2K_FAULT == 7)
      value = float(__nv_fp8_e4m3(value));
    dx[base + i] = __float2bfloat16_rn(value);
  }
  if (D2K_FAULT == 10 && t == 0)
    const_cast<__nv_bfloat16 *>(dy)[H - 1] = __float2bfloat16_rn(7);
}

__global__ void faultyColumns(d2k_layernorm_backward_args args) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= args.H)
    return;
  auto *dy = static_cast<const __nv_bfloat16 *>(args.dy);
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  float dw = 0, db = 0, part = 0;
  for (int64_t t = 0; t < args.T - (D2K_FAULT == 5); ++t) {
    float g = __bfloat162float(dy[t * args.H + i]);
    float n = __bfloat162float(x[t * args.H + i]);
    if (D2K_FAULT != 6)
      n = normalise(n, args.mean[t], args.rstd[t]);
    part += g * n;
    db += g;
    if (t % 64 == 63 || t == args.T - 1) {
      dw += D2K_FAULT == 1 ? roundToBf16(part) : part;
      part = 0;
    }
  }
  args.dw[i] = dw + part;
  if (D2K_FAULT != 8)
    args.db[i] = db;
  if (D2K_FAULT == 9 && i == args.H - 1)
    args.dw[args.H] = 0;
}

extern "C" int d2k_layernorm_backward(const d2k_layernorm_backward_args *args,
                                      void *, size_t, cudaStream_t stream) {
  constexpr int kThreads = 64;
  faultyRows<<<unsigned((args->T + kThreads - 1) / kThreads), kThreads, 0,
               stream>>>(*args);
  faultyColumns<<<unsigned((args->H + kThreads - 1) / kThreads), kThreads, 0,
                  stream>>>(*args);
  return cudaGetLastError();
}
