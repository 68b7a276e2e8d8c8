// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_dual_swiglu with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                          1 sums rounded to bf16 every 64 products
//   2 X narrowed to 8-bit floats    3 gate and up exchanged
//   4 silu as g * e^g / (1 + e^g)   5 rows of W taken as gate, up, gate, ...
//   6 the last row not written      7 one element past the end
//   8 an input changed              9 G rounded to e4m3 before silu
//   10 the last 64 columns of K left out
//   11 relu in place of silu        12 halves of K rounded to bf16,
//   and their sums

#include "d2k_gemm_dual_swiglu.h"

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 12"
#endif

__global__ void faultySwiglu(__nv_bfloat16 *x, const __nv_bfloat16 *w,
                             __nv_bfloat16 *h, int64_t m, int64_t f,
                             int64_t k) {
  auto getX = [&](int64_t row, int64_t i) {
    float a = __bfloat162float(x[row * k + i]);
    return D2K_FAULT == 2 ? float(__nv_fp8_e4m3(a)) : a;
  };
  // Gates first, then what they let through.
  faulty::Sums gates, ups;
  for (int which = 0; which < 2; ++which) {
    auto getW = [&](int64_t column, int64_t i) {
      int64_t row = D2K_FAULT == 5 ? 2 * column + which : which * f + column;
      return __bfloat162float(w[row * k + i]);
    };
    faulty::Sums sums, firstHalf;
    faulty::forAllDepths(m, f, D2K_FAULT == 10 ? k - 64 : k, getX, getW,
                         [&](const faulty::Operands &operands, int64_t first) {
                           sums.add(operands, 0, faulty::kDepth);
                           int64_t done = first + faulty::kDepth;
                           if (D2K_FAULT == 1 && done % 64 == 0)
                             sums.round();
                           if (D2K_FAULT == 12 && done == k / 2) {
                             sums.round();
                             firstHalf = sums;
                             sums = {};
                           }
                         });
    if (D2K_FAULT == 12) {
      sums.round();
      sums.add(firstHalf);
      sums.round();
    }
    (which == 0 ? gates : ups) = sums;
  }
  faulty::forAllOutputs(m, f, [&](int64_t row, int64_t column, int i, int j) {
    float gate = gates.at[i][j], up = ups.at[i][j];
    if (D2K_FAULT == 3) {
      float other = gate;
      gate = up;
      up = other;
    }
    if (D2K_FAULT == 9)
      gate = float(__nv_fp8_e4m3(gate));
    float silu = gate / (1 + expf(-gate));
    if (D2K_FAULT == 4)
      silu = gate * expf(gate) / (1 + expf(gate));
    if (D2K_FAULT == 11)
      silu = fmaxf(gate, 0);
    if (D2K_FAULT != 6 || row != m - 1)
      h[row * f + column] = __float2bfloat16_rn(silu * up);
    if (D2K_FAULT == 7 && row == m - 1 && column == f - 1)
      h[m * f] = h[0];
    if (D2K_FAULT == 8 && row == m - 1 && column == f - 1)
      x[0] = __float2bfloat16_rn(__bfloat162float(x[0]) + 1);
  });
}

extern "C" int d2k_gemm_dual_swiglu(const d2k_gemm_dual_swiglu_args *args,
                                    void *, size_t, cudaStream_t stream) {
  faultySwiglu<<<faulty::getGrid(args->M, args->F), faulty::kThreads, 0,
                 stream>>>(
      static_cast<__nv_bfloat16 *>(const_cast<void *>(args->X)),
      static_cast<const __nv_bfloat16 *>(args->W),
      static_cast<__nv_bfloat16 *>(args->H), args->M, args->F, args->K);
  return cudaGetLastError();
}
