// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_grouped_gemm, the plainest design: one thread makes one output. It looks
// for the expert of its row in the offsets, and reads its row of X and the
// expert's row of W from global memory by itself, 16 bytes at a time: lanes
// read rows of W that are far apart, and number by number a call would take
// seconds. Runs on sm_80 and later, for any sizes that the task allows.

#include "d2k_moe_grouped_gemm.h"

#include <cuda_bf16.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int kVector = 8; // Numbers in 16 bytes.

__global__ void __launch_bounds__(kBlockX *kBlockY)
    groupedGemmNaive(const __nv_bfloat16 *X, const __nv_bfloat16 *W,
                     const int32_t *offsets, __nv_bfloat16 *Y, int64_t R,
                     int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t r = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (r >= R || n >= N)
    return;

  int64_t expert = 0;
  while (offsets[expert + 1] <= r)
    ++expert;

  // fp32 holds the running sum; bf16 would lose everything after a few terms.
  const __nv_bfloat16 *x = X + r * K, *w = W + (expert * N + n) * K;
  float sum = 0.0f;
  for (int64_t k = 0; k < K; k += kVector) { // K is a multiple of 64.
    alignas(16) __nv_bfloat16 xs[kVector], ws[kVector];
    *reinterpret_cast<uint4 *>(xs) = *reinterpret_cast<const uint4 *>(x + k);
    *reinterpret_cast<uint4 *>(ws) = *reinterpret_cast<const uint4 *>(w + k);
    for (int i = 0; i < kVector; ++i)
      sum += __bfloat162float(xs[i]) * __bfloat162float(ws[i]);
  }
  Y[r * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args,
                                    void *, size_t, cudaStream_t stream) {
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->R + kBlockY - 1) / kBlockY;
  if (gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;
  groupedGemmNaive<<<dim3(unsigned(gridX), unsigned(gridY)),
                     dim3(kBlockX, kBlockY), 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X),
      static_cast<const __nv_bfloat16 *>(args->W), args->offsets,
      static_cast<__nv_bfloat16 *>(args->Y), args->R, args->N, args->K);
  return cudaGetLastError();
}
