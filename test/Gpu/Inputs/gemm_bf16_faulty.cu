// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_bf16 with one fault each, chosen by D2K_FAULT. The
// driver must reject every one: a checker that has never said no proves
// nothing. scripts/gpu-check builds them all.
//   0 none: must pass            1 sums rounded to bf16 every 64 products
//   2 X narrowed to 8-bit floats 3 sum rounded to bf16 before R is added
//   4 last row not written       5 one element written past the end of D
//   6 an input changed           7 zeros
//   8 R left out                 9 another result in every second call

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 9"
#endif

__global__ void faultyGemm(__nv_bfloat16 *x, const __nv_bfloat16 *w,
                           const __nv_bfloat16 *r, __nv_bfloat16 *d, int64_t m,
                           int64_t n, int64_t k, bool second) {
  int64_t row = blockIdx.y;
  int64_t col = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (col >= n)
    return;
  float sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    float a = __bfloat162float(x[row * k + i]);
    if (D2K_FAULT == 2)
      a = float(__nv_fp8_e4m3(a));
    sum += a * __bfloat162float(w[col * k + i]);
    if (D2K_FAULT == 1 && i % 64 == 63)
      sum = __bfloat162float(__float2bfloat16_rn(sum));
  }
  if (D2K_FAULT == 3)
    sum = __bfloat162float(__float2bfloat16_rn(sum));
  if (D2K_FAULT != 8)
    sum += __bfloat162float(r[row * n + col]);
  if (D2K_FAULT == 7)
    sum = 0;
  if (D2K_FAULT == 9 && second)
    sum *= 1.01f;
  if (D2K_FAULT != 4 || row != m - 1)
    d[row * n + col] = __float2bfloat16_rn(sum);
  if (D2K_FAULT == 5 && row == m - 1 && col == n - 1)
    d[m * n] = d[0];
  if (D2K_FAULT == 6 && row == m - 1 && col == n - 1)
    x[0] = __float2bfloat16_rn(__bfloat162float(x[0]) + 1);
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  static bool second = false;
  constexpr int kThreads = 128;
  faultyGemm<<<dim3(unsigned((args->N + kThreads - 1) / kThreads),
                    unsigned(args->M)),
               kThreads, 0, stream>>>(
      const_cast<__nv_bfloat16 *>(
          reinterpret_cast<const __nv_bfloat16 *>(args->X)),
      reinterpret_cast<const __nv_bfloat16 *>(args->W),
      reinterpret_cast<const __nv_bfloat16 *>(args->R),
      reinterpret_cast<__nv_bfloat16 *>(args->D), args->M, args->N, args->K,
      second);
  second = !second;
  return cudaGetLastError();
}
