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

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 8"
#endif

/// The expert whose weights \p row gets.
__device__ int64_t getExpert(const d2k_moe_grouped_gemm_args &args,
                             int64_t row) {
  int64_t expert = 0, wanted = D2K_FAULT == 3 && row > 0 ? row - 1 : row;
  while (args.offsets[expert + 1] <= wanted)
    ++expert;
  // Searching for the first row of an expert finds the empty one before it.
  if (D2K_FAULT == 4 && expert > 0 &&
      args.offsets[expert - 1] == args.offsets[expert])
    --expert;
  return expert;
}

__global__ void faultyGrouped(d2k_moe_grouped_gemm_args args) {
  auto *x = static_cast<const __nv_bfloat16 *>(args.X);
  auto *w = static_cast<const __nv_bfloat16 *>(args.W);
  auto *y = static_cast<__nv_bfloat16 *>(args.Y);
  int64_t N = args.N, K = args.K;
  faulty::Sums sums;
  // The tile's product with the weights of each expert that has rows in it: of
  // all rows but that expert's it takes zeros.
  __shared__ int experts[faulty::kTile];
  int64_t first = int64_t(blockIdx.y) * faulty::kTile;
  int64_t rows =
      args.R - first < faulty::kTile ? args.R - first : faulty::kTile;
  for (int i = int(threadIdx.x); i < rows; i += faulty::kThreads)
    experts[i] = int(getExpert(args, first + i));
  __syncthreads();
  for (int begin = 0; begin < rows;) {
    int64_t expert = experts[begin];
    auto getX = [&](int64_t row, int64_t k) {
      if (experts[row - first] != expert)
        return 0.0f;
      float a = __bfloat162float(x[row * K + k]);
      return D2K_FAULT == 2 ? float(__nv_fp8_e4m3(a)) : a;
    };
    auto getW = [&](int64_t column, int64_t k) {
      return __bfloat162float(w[(expert * N + column) * K + k]);
    };
    faulty::forAllDepths(args.R, N, D2K_FAULT == 8 ? K / 2 : K, getX, getW,
                         [&](const faulty::Operands &operands, int64_t k) {
                           sums.add(operands, 0, faulty::kDepth);
                           if (D2K_FAULT == 1 && (k + faulty::kDepth) % 64 == 0)
                             sums.round();
                         });
    while (begin < rows && experts[begin] == expert)
      ++begin;
  }
  faulty::forAllOutputs(
      args.R, N, [&](int64_t row, int64_t column, int i, int j) {
        if (D2K_FAULT == 5 && row == args.R - 1)
          return;
        y[row * N + column] = __float2bfloat16_rn(sums.at[i][j]);
        if (D2K_FAULT == 6 && row == args.R - 1 && column == 0)
          y[args.R * N] = y[0];
        if (D2K_FAULT == 7 && row == args.R - 1 && column == 0)
          const_cast<__nv_bfloat16 *>(x)[0] = __float2bfloat16_rn(777);
      });
}

extern "C" int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args,
                                    void *, size_t, cudaStream_t stream) {
  faultyGrouped<<<faulty::getGrid(args->R, args->N), faulty::kThreads, 0,
                  stream>>>(*args);
  return cudaGetLastError();
}
