// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task moe_grouped_gemm with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none                               1 sums rounded to bf16 every 64 of K
//   2 X narrowed to 8-bit floats         3 the expert of the row before
//   4 the weights of empty experts taken 5 the last row not written
//   6 one element past the end           7 an input changed
//   8 the second half of K left out

#include "d2k_moe_grouped_gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 8"
#endif

__global__ void faultyGrouped(d2k_moe_grouped_gemm_args args) {
  auto *x = static_cast<const __nv_bfloat16 *>(args.X);
  auto *w = static_cast<const __nv_bfloat16 *>(args.W);
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  int64_t N = args.N, K = args.K, row = blockIdx.y;
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= N || (D2K_FAULT == 5 && row == args.R - 1))
    return;
  int64_t expert = 0, wanted = D2K_FAULT == 3 && row > 0 ? row - 1 : row;
  while (args.offsets[expert + 1] <= wanted)
    ++expert;
  // Searching for the first row of an expert finds the empty one before it.
  if (D2K_FAULT == 4 && expert > 0 &&
      args.offsets[expert - 1] == args.offsets[expert])
    --expert;
  float sum = 0;
  for (int64_t k = 0; k < (D2K_FAULT == 8 ? K / 2 : K); ++k) {
    float a = __bfloat162float(x[row * K + k]);
    if (D2K_FAULT == 2)
      a = float(__nv_fp8_e4m3(a));
    sum += a * __bfloat162float(w[(expert * N + column) * K + k]);
    if (D2K_FAULT == 1 && k % 64 == 63)
      sum = __bfloat162float(__float2bfloat16_rn(sum));
  }
  y[row * N + column] = __float2bfloat16_rn(sum);
  if (row == args.R - 1 && column == 0) {
    if (D2K_FAULT == 6)
      y[args.R * N] = y[0];
    if (D2K_FAULT == 7)
      const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
  }
}

extern "C" int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args,
                                    void *, size_t, cudaStream_t stream) {
  dim3 grid(unsigned((args->N + 127) / 128), unsigned(args->R));
  faultyGrouped<<<grid, 128, 0, stream>>>(*args);
  return cudaGetLastError();
}
