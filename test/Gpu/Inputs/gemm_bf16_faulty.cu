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

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 9"
#endif

__global__ void faultyGemm(__nv_bfloat16 *x, const __nv_bfloat16 *w,
                           const __nv_bfloat16 *r, __nv_bfloat16 *d, int64_t m,
                           int64_t n, int64_t k, bool second) {
  auto getX = [&](int64_t row, int64_t i) {
    float a = __bfloat162float(x[row * k + i]);
    return D2K_FAULT == 2 ? float(__nv_fp8_e4m3(a)) : a;
  };
  auto getW = [&](int64_t column, int64_t i) {
    return __bfloat162float(w[column * k + i]);
  };
  faulty::Sums sums;
  faulty::forAllDepths(m, n, k, getX, getW,
                       [&](const faulty::Operands &operands, int64_t first) {
                         sums.add(operands, 0, faulty::kDepth);
                         if (D2K_FAULT == 1 &&
                             (first + faulty::kDepth) % 64 == 0)
                           sums.round();
                       });
  faulty::forAllOutputs(m, n, [&](int64_t row, int64_t col, int i, int j) {
    float sum = sums.at[i][j];
    if (D2K_FAULT == 3)
      sum = faulty::roundToBf16(sum);
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
  });
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  static bool second = false;
  faultyGemm<<<faulty::getGrid(args->M, args->N), faulty::kThreads, 0,
               stream>>>(
      const_cast<__nv_bfloat16 *>(
          reinterpret_cast<const __nv_bfloat16 *>(args->X)),
      reinterpret_cast<const __nv_bfloat16 *>(args->W),
      reinterpret_cast<const __nv_bfloat16 *>(args->R),
      reinterpret_cast<__nv_bfloat16 *>(args->D), args->M, args->N, args->K,
      second);
  second = !second;
  return cudaGetLastError();
}
