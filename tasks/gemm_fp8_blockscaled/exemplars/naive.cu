// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_fp8_blockscaled, the plainest design: one thread makes one output, and
// reads its row of X and its row of W from global memory by itself, byte by
// byte. It is correct; it is where a faster kernel starts. Runs on sm_80 and
// later, for any M, N and K that the task allows.

#include "d2k_gemm_fp8_blockscaled.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int64_t kScaled = D2K_GEMM_FP8_BLOCKSCALED_B;

__global__ void __launch_bounds__(kBlockX *kBlockY)
    fp8Naive(const __nv_fp8_e4m3 *X, const float *sX, const __nv_fp8_e4m3 *W,
             const float *sW, __nv_bfloat16 *D, int64_t M, int64_t N,
             int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= M || n >= N)
    return;

  int64_t blocks = K / kScaled;
  int64_t paddedM = (M + 3) / 4 * 4;
  float sum = 0.0f;
  for (int64_t b = 0; b < blocks; ++b) {
    float part = 0.0f;
    for (int64_t k = b * kScaled; k < (b + 1) * kScaled; ++k)
      part += float(X[m * K + k]) * float(W[n * K + k]);
    sum += part * sX[b * paddedM + m] * sW[n / kScaled * blocks + b];
  }
  D[m * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int
d2k_gemm_fp8_blockscaled(const d2k_gemm_fp8_blockscaled_args *args, void *,
                         size_t, cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->M + kBlockY - 1) / kBlockY;
  if (gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;

  fp8Naive<<<dim3(unsigned(gridX), unsigned(gridY)), dim3(kBlockX, kBlockY), 0,
             stream>>>(static_cast<const __nv_fp8_e4m3 *>(args->X), args->sX,
                       static_cast<const __nv_fp8_e4m3 *>(args->W), args->sW,
                       static_cast<__nv_bfloat16 *>(args->D), args->M, args->N,
                       args->K);
  return cudaGetLastError();
}
