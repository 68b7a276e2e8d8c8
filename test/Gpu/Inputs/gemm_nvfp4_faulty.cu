// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_nvfp4 with one fault each, chosen by D2K_FAULT. The
// judge must reject every one but 0.
//   0 none                          1 scales read row by row, not tiled
//   2 nibbles of X exchanged        3 alpha left out
//   4 rows of a tile beside each other
//   5 scaled X rounded to e4m3      6 the last row not written
//   7 one element past the end      8 an input changed
//   9 0.5 taken as zero             10 subnormal scales taken as zero
//   11 one scale for 32 columns     12 running sum in bf16 every 64 products
//   13 rounded before alpha         14 the last 64 columns left out

#include "d2k_gemm_nvfp4.h"

#include "FaultyProduct.cuh"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 14"
#endif

__device__ float getValue(const void *data, const void *scales, int64_t row,
                          int64_t i, int64_t k, bool isX) {
  const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  int64_t at = row * k + i;
  int64_t half = D2K_FAULT == 2 && isX ? 1 - at % 2 : at % 2;
  int bits = static_cast<const uint8_t *>(data)[at / 2] >> (4 * half) & 15;
  float value = magnitudes[bits & 7];
  if (D2K_FAULT == 9 && value == 0.5f)
    value = 0;
  if (bits & 8)
    value = -value;
  int64_t block = i / 16, blocks = k / 16;
  if (D2K_FAULT == 11)
    block = block / 2 * 2;
  int64_t inTile =
      D2K_FAULT == 4 ? row % 128 * 4 : row % 32 * 16 + row / 32 % 4 * 4;
  int64_t index =
      (row / 128 * (blocks / 4) + block / 4) * 512 + inTile + block % 4;
  if (D2K_FAULT == 1)
    index = row * blocks + block;
  float scale = float(static_cast<const __nv_fp8_e4m3 *>(scales)[index]);
  if (D2K_FAULT == 10 && scale < 0x1p-6f)
    scale = 0;
  return value * scale;
}

__global__ void faultyNvfp4(d2k_gemm_nvfp4_args args) {
  int64_t n = args.N, k = args.K;
  auto getX = [&](int64_t row, int64_t i) {
    float x = getValue(args.X, args.sX, row, i, k, true);
    return D2K_FAULT == 5 ? float(__nv_fp8_e4m3(x)) : x;
  };
  auto getW = [&](int64_t column, int64_t i) {
    return getValue(args.W, args.sW, column, i, k, false);
  };
  faulty::Sums sums;
  faulty::forAllDepths(args.M, n, D2K_FAULT == 14 ? k - 64 : k, getX, getW,
                       [&](const faulty::Operands &operands, int64_t first) {
                         sums.add(operands, 0, faulty::kDepth);
                         if (D2K_FAULT == 12 &&
                             (first + faulty::kDepth) % 64 == 0)
                           sums.round();
                       });
  if (D2K_FAULT == 13)
    sums.round();
  auto *d = static_cast<__nv_bfloat16 *>(args.D);
  faulty::forAllOutputs(
      args.M, n, [&](int64_t row, int64_t column, int i, int j) {
        float sum = sums.at[i][j];
        if (D2K_FAULT != 3)
          sum *= *args.alpha;
        if (D2K_FAULT != 6 || row != args.M - 1)
          d[row * n + column] = __float2bfloat16_rn(sum);
        if (D2K_FAULT == 7 && row == args.M - 1 && column == n - 1)
          d[args.M * n] = d[0];
        if (D2K_FAULT == 8 && row == args.M - 1 && column == n - 1)
          static_cast<uint8_t *>(const_cast<void *>(args.X))[0] ^= 1;
      });
}

extern "C" int d2k_gemm_nvfp4(const d2k_gemm_nvfp4_args *args, void *, size_t,
                              cudaStream_t stream) {
  faultyNvfp4<<<faulty::getGrid(args->M, args->N), faulty::kThreads, 0,
                stream>>>(*args);
  return cudaGetLastError();
}
