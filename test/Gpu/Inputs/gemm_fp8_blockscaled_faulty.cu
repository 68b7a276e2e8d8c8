// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_fp8_blockscaled with one fault each, chosen by
// D2K_FAULT. The judge must reject every one but 0.
//   0 none: sums of a block with 14 bits, as Hopper's matrix units add
//   1 such an accumulator kept over all of K
//   2 scales of X left out          3 the scale of W one block too far
//   4 scales of X read unpadded     5 scales of X read transposed
//   6 the last row not written      7 one element past the end
//   8 an input changed              9 sums of blocks rounded to bf16
//   10 one scale of W for 64 rows   11 the last block left out

#include "d2k_gemm_fp8_blockscaled.h"

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 11"
#endif

constexpr int64_t kBlock = D2K_GEMM_FP8_BLOCKSCALED_B;
// What an instruction adds at once.
static_assert(faulty::kDepth == 32 && kBlock % faulty::kDepth == 0);

/// Adds the products of all columns to each sum, all of them and the sum
/// aligned to the largest and truncated to 13 bits below its leading one.
__device__ void addAligned(faulty::Sums &sums,
                           const faulty::Operands &operands) {
  faulty::Sums scale = sums, total;
  faulty::Sums::forAllProducts(
      operands, 0, faulty::kDepth, [&](int i, int j, float product) {
        scale.at[i][j] = fmaxf(fabsf(scale.at[i][j]), fabsf(product));
      });
  // Powers of two: products with them are exact.
  scale.change([](float most) {
    return most == 0 ? 1.0f : ldexpf(1, 13 - ilogbf(most));
  });
#pragma unroll
  for (int i = 0; i < faulty::kEach; ++i)
#pragma unroll
    for (int j = 0; j < faulty::kEach; ++j)
      total.at[i][j] = truncf(sums.at[i][j] * scale.at[i][j]);
  faulty::Sums::forAllProducts(
      operands, 0, faulty::kDepth, [&](int i, int j, float product) {
        total.at[i][j] += truncf(product * scale.at[i][j]);
      });
#pragma unroll
  for (int i = 0; i < faulty::kEach; ++i)
#pragma unroll
    for (int j = 0; j < faulty::kEach; ++j)
      sums.at[i][j] = total.at[i][j] / scale.at[i][j];
}

/// What the products of a row, a column and a block of K are multiplied with.
__device__ float getScale(const d2k_gemm_fp8_blockscaled_args &args,
                          int64_t row, int64_t column, int64_t b) {
  int64_t blocks = args.K / kBlock;
  int64_t padded = D2K_FAULT == 4 ? args.M : (args.M + 3) / 4 * 4;
  int64_t wRow = column / (D2K_FAULT == 10 ? 64 : kBlock);
  if (wRow >= (args.N + kBlock - 1) / kBlock)
    wRow = (args.N + kBlock - 1) / kBlock - 1;
  int64_t wBlock = D2K_FAULT == 3 ? (b + 1) % blocks : b;
  float xScale =
      D2K_FAULT == 5 ? args.sX[row * blocks + b] : args.sX[b * padded + row];
  if (D2K_FAULT == 2)
    xScale = 0x1p-7f;
  return xScale * args.sW[wRow * blocks + wBlock];
}

__global__ void faultyFp8(d2k_gemm_fp8_blockscaled_args args) {
  int64_t m = args.M, n = args.N, k = args.K;
  auto *x = static_cast<const __nv_fp8_e4m3 *>(args.X);
  auto *w = static_cast<const __nv_fp8_e4m3 *>(args.W);
  auto *d = static_cast<__nv_bfloat16 *>(args.D);
  auto getX = [&](int64_t row, int64_t i) { return float(x[row * k + i]); };
  auto getW = [&](int64_t column, int64_t i) {
    return float(w[column * k + i]);
  };
  faulty::Sums sums, total;
  faulty::forAllDepths(
      m, n, D2K_FAULT == 11 ? k - kBlock : k, getX, getW,
      [&](const faulty::Operands &operands, int64_t first) {
        bool isFirst = first % kBlock == 0;
        bool isLast = (first + faulty::kDepth) % kBlock == 0;
        if (isFirst)
          faulty::forAllOutputs(
              m, n, [&](int64_t row, int64_t column, int i, int j) {
                sums.at[i][j] = D2K_FAULT == 1 ? total.at[i][j] /
                                                     getScale(args, row, column,
                                                              first / kBlock)
                                               : 0;
              });
        if (faulty::getFirstRow() < m)
          addAligned(sums, operands);
        if (D2K_FAULT == 9 && isLast)
          sums.round();
        if (isLast)
          faulty::forAllOutputs(
              m, n, [&](int64_t row, int64_t column, int i, int j) {
                float sum =
                    sums.at[i][j] * getScale(args, row, column, first / kBlock);
                total.at[i][j] = D2K_FAULT == 1 ? sum : total.at[i][j] + sum;
              });
      });
  faulty::forAllOutputs(m, n, [&](int64_t row, int64_t column, int i, int j) {
    if (D2K_FAULT != 6 || row != m - 1)
      d[row * n + column] = __float2bfloat16_rn(total.at[i][j]);
    if (D2K_FAULT == 7 && row == m - 1 && column == n - 1)
      d[m * n] = d[0];
    if (D2K_FAULT == 8 && row == m - 1 && column == n - 1)
      const_cast<__nv_fp8_e4m3 *>(x)[0] = __nv_fp8_e4m3(float(x[0]) + 64);
  });
}

extern "C" int
d2k_gemm_fp8_blockscaled(const d2k_gemm_fp8_blockscaled_args *args, void *,
                         size_t, cudaStream_t stream) {
  faultyFp8<<<faulty::getGrid(args->M, args->N), faulty::kThreads, 0, stream>>>(
      *args);
  return cudaGetLastError();
}
