// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task rmsnorm_residual_fp8 with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                          1 n rounded to bf16 before it is quantised
//   2 the norm of the unrounded sum 3 scales of the nearest power of two
//   4 quantised towards zero        5 the last 64 columns not written
//   6 one element past the end      7 eps left out
//   8 scales with groups contiguous 9 one scale a token
//   10 no lower bound of the scale  11 an input changed

#include "d2k_rmsnorm_residual_fp8.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 11"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// One thread a token: slow, and easy to put a fault into.
__global__ void faultyRmsnorm(d2k_rmsnorm_residual_fp8_args args) {
  int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  int64_t H = args.H, base = t * H;
  if (t >= args.T)
    return;
  auto *x = static_cast<const __nv_bfloat16 *>(args.x);
  auto *res = static_cast<const __nv_bfloat16 *>(args.res);
  auto *w = static_cast<const __nv_bfloat16 *>(args.w);
  auto *r = static_cast<__nv_bfloat16 *>(args.r);
  auto *q = static_cast<__nv_fp8_e4m3 *>(args.q);
  float squares = 0;
  for (int64_t i = 0; i < H; ++i) {
    float sum = __bfloat162float(x[base + i]) + __bfloat162float(res[base + i]);
    r[base + i] = __float2bfloat16_rn(sum);
    float value = D2K_FAULT == 2 ? sum : __bfloat162float(r[base + i]);
    squares += value * value;
  }
  float factor = rsqrtf(squares / float(H) + (D2K_FAULT == 7 ? 0 : args.eps));
  float previous = 0;
  for (int64_t first = 0; first < H; first += 128) {
    auto getN = [&](int64_t i) {
      float value = __bfloat162float(r[base + i]);
      if (D2K_FAULT == 2)
        value = __bfloat162float(x[base + i]) + __bfloat162float(res[base + i]);
      float n = value * factor * __bfloat162float(w[i]);
      return D2K_FAULT == 1 ? roundToBf16(n) : n;
    };
    int64_t last = first + 128 < H ? first + 128 : H;
    float largest = 0;
    for (int64_t i = first; i < last; ++i)
      largest = fmaxf(largest, fabsf(getN(i)));
    if (D2K_FAULT != 10)
      largest = fmaxf(largest, 1e-10f);
    float exponent = log2f(largest / 448);
    float scale = exp2f(D2K_FAULT == 3 ? rintf(exponent) : ceilf(exponent));
    if (D2K_FAULT == 9 && first != 0)
      scale = previous;
    previous = scale;
    args.s[D2K_FAULT == 8 ? t * ((H + 127) / 128) + first / 128
                          : first / 128 * args.T + t] = scale;
    for (int64_t i = first; i < last; ++i) {
      if (D2K_FAULT == 5 && i >= H - 64)
        continue;
      float value = getN(i) / scale;
      // Less than half a step of e4m3 towards zero.
      if (D2K_FAULT == 4)
        value *= 1 - 0x1p-5f;
      q[base + i] = __nv_fp8_e4m3(value);
    }
  }
  if (D2K_FAULT == 6 && t == args.T - 1)
    r[args.T * H] = r[0];
  if (D2K_FAULT == 11 && t == args.T - 1)
    const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t stream) {
  faultyRmsnorm<<<unsigned((args->T + 31) / 32), 32, 0, stream>>>(*args);
  return cudaGetLastError();
}
