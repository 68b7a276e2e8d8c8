// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the task gemm_w4a16 with one fault each, chosen by D2K_FAULT. The
// judge must reject every one but 0.
//   0 none: weights rounded to bf16 1 zero points taken as 8
//   2 nibbles exchanged             3 scales for groups of 64
//   4 weights rounded to e4m3       5 X rounded to e4m3
//   6 the last row not written      7 one element past the end
//   8 an input changed              9 running sum in bf16 every 64 products
//   10 the zero point not scaled    11 the last group left out
//   12 weights in int4 with a sign

#include "d2k_gemm_w4a16.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#ifndef D2K_FAULT
#error "define D2K_FAULT as 0 to 12"
#endif

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__global__ void faultyW4a16(d2k_gemm_w4a16_args args) {
  int64_t row = blockIdx.y, n = args.N, k = args.K;
  int64_t column = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= n)
    return;
  auto *x = static_cast<const __nv_bfloat16 *>(args.X);
  auto *q = static_cast<const uint8_t *>(args.q);
  auto *s = static_cast<const __nv_bfloat16 *>(args.s);
  auto *d = static_cast<__nv_bfloat16 *>(args.D);
  int64_t groups = k / D2K_GEMM_W4A16_G;
  float sum = 0;
  for (int64_t i = 0; i < (D2K_FAULT == 11 ? k - D2K_GEMM_W4A16_G : k); ++i) {
    int64_t half = D2K_FAULT == 2 ? 1 - i % 2 : i % 2;
    int weight = q[(column * k + i) / 2] >> (4 * half) & 15;
    int64_t group = i / (D2K_FAULT == 3 ? 64 : D2K_GEMM_W4A16_G) % groups;
    float scale = __bfloat162float(s[column * groups + group]);
    int zero = D2K_FAULT == 1 ? 8 : args.z[column * groups + group];
    if (D2K_FAULT == 12)
      weight = weight < 8 ? weight : weight - 16;
    float w = scale * float(weight - zero);
    if (D2K_FAULT == 10)
      w = scale * float(weight) - float(zero);
    // The weights are around 2^-6; e4m3 has its full precision there.
    w = D2K_FAULT == 4 ? float(__nv_fp8_e4m3(w * 64)) / 64 : roundToBf16(w);
    float a = __bfloat162float(x[row * k + i]);
    if (D2K_FAULT == 5)
      a = float(__nv_fp8_e4m3(a));
    sum += a * w;
    if (D2K_FAULT == 9 && i % 64 == 63)
      sum = roundToBf16(sum);
  }
  if (D2K_FAULT != 6 || row != args.M - 1)
    d[row * n + column] = __float2bfloat16_rn(sum);
  if (D2K_FAULT == 7 && row == args.M - 1 && column == n - 1)
    d[args.M * n] = d[0];
  if (D2K_FAULT == 8 && row == args.M - 1 && column == n - 1)
    const_cast<uint8_t *>(q)[0] ^= 1;
}

extern "C" int d2k_gemm_w4a16(const d2k_gemm_w4a16_args *args, void *, size_t,
                              cudaStream_t stream) {
  constexpr int kThreads = 64;
  faultyW4a16<<<dim3(unsigned((args->N + kThreads - 1) / kThreads),
                     unsigned(args->M)),
                kThreads, 0, stream>>>(*args);
  return cudaGetLastError();
}
