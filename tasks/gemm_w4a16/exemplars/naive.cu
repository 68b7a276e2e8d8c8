// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_w4a16, the plainest design: one warp makes one output. A lane takes one
// byte, two weights, in every 32, scales them, and the lanes add up what they
// have at the end. It is correct; it is where a faster kernel starts. Runs on
// sm_80 and later, for any M, N and K that the task allows.

#include "d2k_gemm_w4a16.h"

#include <cuda_bf16.h>

constexpr int kWarps = 4;
constexpr int64_t kGroup = D2K_GEMM_W4A16_G;

__global__ void __launch_bounds__(kWarps * 32)
    w4a16Naive(const __nv_bfloat16 *X, const uint8_t *q, const __nv_bfloat16 *s,
               const uint8_t *z, __nv_bfloat16 *D, int64_t N, int64_t K) {
  int64_t n = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  int64_t m = blockIdx.y;
  int lane = threadIdx.x % 32;
  if (n >= N)
    return;

  float sum = 0.0f;
  for (int64_t k = 2 * lane; k < K; k += 64) {
    int64_t group = n * (K / kGroup) + k / kGroup;
    float scale = __bfloat162float(s[group]);
    int zero = z[group];
    int pair = q[(n * K + k) / 2];
    // 13 significant bits: fp32 holds the scaled weights exactly.
    sum += __bfloat162float(X[m * K + k]) * (scale * float((pair & 15) - zero));
    sum += __bfloat162float(X[m * K + k + 1]) *
           (scale * float((pair >> 4) - zero));
  }
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);

  if (lane == 0)
    D[m * N + n] = __float2bfloat16_rn(sum);
}

extern "C" int d2k_gemm_w4a16(const d2k_gemm_w4a16_args *args, void *, size_t,
                              cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kWarps - 1) / kWarps;
  if (gridX > INT32_MAX || args->M > 65535)
    return cudaErrorInvalidValue;

  w4a16Naive<<<dim3(unsigned(gridX), unsigned(args->M)), kWarps * 32, 0,
               stream>>>(static_cast<const __nv_bfloat16 *>(args->X),
                         static_cast<const uint8_t *>(args->q),
                         static_cast<const __nv_bfloat16 *>(args->s), args->z,
                         static_cast<__nv_bfloat16 *>(args->D), args->N,
                         args->K);
  return cudaGetLastError();
}
