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

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 11"
#endif

constexpr int64_t kBlock = D2K_GEMM_FP8_BLOCKSCALED_B;
/// Products that an instruction adds at once.
constexpr int64_t kDepth = 32;

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// \p sum and kDepth products of \p x and \p w, all aligned to the largest of
/// them and truncated to 13 bits below its leading one.
__device__ float addAligned(float sum, const __nv_fp8_e4m3 *x,
                            const __nv_fp8_e4m3 *w) {
  float largest = fabsf(sum);
  for (int64_t i = 0; i < kDepth; ++i)
    largest = fmaxf(largest, fabsf(float(x[i]) * float(w[i])));
  if (largest == 0)
    return 0;
  int unit = ilogbf(largest) - 13;
  float total = truncf(ldexpf(sum, -unit));
  for (int64_t i = 0; i < kDepth; ++i)
    total += truncf(ldexpf(float(x[i]) * float(w[i]), -unit));
  return ldexpf(total, unit);
}

__global__ void faultyFp8(d2k_gemm_fp8_blockscaled_args args) {
  int64_t row = blockIdx.y, n = args.N, k = args.K, blocks = k / kBlock;
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= n)
    return;
  auto *x = static_cast<const __nv_fp8_e4m3 *>(args.X);
  auto *w = static_cast<const __nv_fp8_e4m3 *>(args.W);
  auto *d = static_cast<__nv_bfloat16 *>(args.D);
  int64_t padded = D2K_FAULT == 4 ? args.M : (args.M + 3) / 4 * 4;
  int64_t wRow = column / (D2K_FAULT == 10 ? 64 : kBlock);
  if (wRow >= (n + kBlock - 1) / kBlock)
    wRow = (n + kBlock - 1) / kBlock - 1;
  float total = 0;
  for (int64_t b = 0; b < blocks - (D2K_FAULT == 11 ? 1 : 0); ++b) {
    int64_t wBlock = D2K_FAULT == 3 ? (b + 1) % blocks : b;
    float xScale =
        D2K_FAULT == 5 ? args.sX[row * blocks + b] : args.sX[b * padded + row];
    if (D2K_FAULT == 2)
      xScale = 0x1p-7f;
    float scale = xScale * args.sW[wRow * blocks + wBlock];
    float sum = D2K_FAULT == 1 ? total / scale : 0;
    for (int64_t first = b * kBlock; first < (b + 1) * kBlock; first += kDepth)
      sum = addAligned(sum, x + row * k + first, w + column * k + first);
    if (D2K_FAULT == 9)
      sum = roundToBf16(sum);
    total = D2K_FAULT == 1 ? sum * scale : total + sum * scale;
  }
  if (D2K_FAULT != 6 || row != args.M - 1)
    d[row * n + column] = __float2bfloat16_rn(total);
  if (D2K_FAULT == 7 && row == args.M - 1 && column == n - 1)
    d[args.M * n] = d[0];
  if (D2K_FAULT == 8 && row == args.M - 1 && column == n - 1)
    const_cast<__nv_fp8_e4m3 *>(x)[0] = __nv_fp8_e4m3(float(x[0]) + 64);
}

extern "C" int
d2k_gemm_fp8_blockscaled(const d2k_gemm_fp8_blockscaled_args *args, void *,
                         size_t, cudaStream_t stream) {
  constexpr int kThreads = 128;
  faultyFp8<<<dim3(unsigned((args->N + kThreads - 1) / kThreads),
                   unsigned(args->M)),
              kThreads, 0, stream>>>(*args);
  return cudaGetLastError();
}
