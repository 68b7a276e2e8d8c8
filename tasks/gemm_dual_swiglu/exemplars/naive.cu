// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_dual_swiglu, the plainest design: one thread makes one output, and reads
// its row of X and its two rows of W from global memory by itself. It is
// correct; it is where a faster kernel starts. Runs on sm_80 and later, for any
// M, F and K.

#include "d2k_gemm_dual_swiglu.h"

#include <cuda_bf16.h>

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;

__global__ void __launch_bounds__(kBlockX *kBlockY)
    dualSwigluNaive(const __nv_bfloat16 *X, const __nv_bfloat16 *W,
                    __nv_bfloat16 *H, int64_t M, int64_t F, int64_t K) {
  int64_t f = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (m >= M || f >= F)
    return;

  float gate = 0.0f, up = 0.0f;
  for (int64_t k = 0; k < K; ++k) {
    float x = __bfloat162float(X[m * K + k]);
    gate += x * __bfloat162float(W[f * K + k]);
    up += x * __bfloat162float(W[(F + f) * K + k]);
  }

  // Where exp(-gate) overflows the quotient is -0, as it should be.
  float silu = gate / (1.0f + expf(-gate));
  H[m * F + f] = __float2bfloat16_rn(silu * up);
}

extern "C" int d2k_gemm_dual_swiglu(const d2k_gemm_dual_swiglu_args *args,
                                    void *, size_t, cudaStream_t stream) {
  if (args->M <= 0 || args->F <= 0)
    return cudaSuccess;
  int64_t gridX = (args->F + kBlockX - 1) / kBlockX;
  int64_t gridY = (args->M + kBlockY - 1) / kBlockY;
  if (gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;

  dualSwigluNaive<<<dim3(unsigned(gridX), unsigned(gridY)),
                    dim3(kBlockX, kBlockY), 0, stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X),
      static_cast<const __nv_bfloat16 *>(args->W),
      static_cast<__nv_bfloat16 *>(args->H), args->M, args->F, args->K);
  return cudaGetLastError();
}
