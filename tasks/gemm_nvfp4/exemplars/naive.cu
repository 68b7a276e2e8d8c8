// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_nvfp4, the plainest design: one thread makes one output, and widens its
// row of X and its row of W by itself, number by number. It is correct; it is
// where a faster kernel starts. Runs on sm_80 and later, for any M, N and K
// that the task allows.

#include "d2k_gemm_nvfp4.h"

#include <cuda_bf16.h>
#include <cuda_fp8.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
constexpr int64_t kScaled = D2K_GEMM_NVFP4_B;

/// The number that the e2m1 \p bits are: 0, 0.5, 1, 1.5, 2, 3, 4 or 6.
__device__ float widen(int bits) {
  // As fp32, exponent and fraction of e2m1 are the number times 2^-126.
  float magnitude = __uint_as_float(uint32_t(bits & 7) << 22) * 0x1p126f;
  return bits & 8 ? -magnitude : magnitude;
}

/// Where the scale of a row and of 16 columns is: tiles of 128 rows and 4
/// scales, in which rows that are 32 apart are beside each other.
__device__ int64_t getScaleIndex(int64_t row, int64_t block, int64_t blocks) {
  return (row / 128 * (blocks / 4) + block / 4) * 512 + row % 32 * 16 +
         row / 32 % 4 * 4 + block % 4;
}

__global__ void __launch_bounds__(kBlockX *kBlockY)
    nvfp4Naive(const uint8_t *X, const __nv_fp8_e4m3 *sX, const uint8_t *W,
               const __nv_fp8_e4m3 *sW, const float *alpha, __nv_bfloat16 *D,
               int64_t M, int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= M || n >= N)
    return;

  int64_t blocks = K / kScaled;
  float sum = 0.0f;
  for (int64_t b = 0; b < blocks; ++b) {
    float part = 0.0f;
    for (int64_t k = b * kScaled; k < (b + 1) * kScaled; k += 2) {
      int x = X[(m * K + k) / 2], w = W[(n * K + k) / 2];
      part += widen(x & 15) * widen(w & 15) + widen(x >> 4) * widen(w >> 4);
    }
    sum += part * (float(sX[getScaleIndex(m, b, blocks)]) *
                   float(sW[getScaleIndex(n, b, blocks)]));
  }
  D[m * N + n] = __float2bfloat16_rn(*alpha * sum);
}

extern "C" int d2k_gemm_nvfp4(const d2k_gemm_nvfp4_args *args, void *, size_t,
                              cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->M + kBlockY - 1) / kBlockY;
  if (gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;

  nvfp4Naive<<<dim3(unsigned(gridX), unsigned(gridY)), dim3(kBlockX, kBlockY),
               0, stream>>>(static_cast<const uint8_t *>(args->X),
                            static_cast<const __nv_fp8_e4m3 *>(args->sX),
                            static_cast<const uint8_t *>(args->W),
                            static_cast<const __nv_fp8_e4m3 *>(args->sW),
                            args->alpha, static_cast<__nv_bfloat16 *>(args->D),
                            args->M, args->N, args->K);
  return cudaGetLastError();
}
