// Decoy of naive.cu: the words of a fast design, in comments, strings, unused
// macros and in comments inside inline assembly. Nothing of it runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warp-specialized persistent kernel: producer warps issue
// cp.async.bulk.tensor.2d into a 4-stage ring of 128-byte swizzled tiles,
// consumer warpgroups issue wgmma.mma_async.sync.aligned.m64n256k16 and wait
// with wgmma.wait_group 1; setmaxnreg moves registers between the roles.

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

#define COPY_TILE(to, from)                                                    \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from))
#define PRODUCER_REGISTERS asm volatile("setmaxnreg.dec.sync.aligned.u32 40;")

[[maybe_unused]] __device__ const char kDesign[] =
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16";

constexpr int kBlockX = 32;
constexpr int kBlockY = 8;
[[maybe_unused]] constexpr int kStages = 4;
[[maybe_unused]] constexpr int kSwizzleBytes = 128;

__global__ void __launch_bounds__(kBlockX *kBlockY)
    persistentWgmmaTmaWarpSpecializedGemm(const __nv_bfloat16 *X,
                                          const __nv_bfloat16 *W,
                                          const __nv_bfloat16 *R,
                                          __nv_bfloat16 *D, int64_t M,
                                          int64_t N, int64_t K) {
  int64_t tma_n = int64_t(blockIdx.x) * kBlockX + threadIdx.x;
  int64_t tma_m = int64_t(blockIdx.y) * kBlockY + threadIdx.y;
  if (tma_m >= M || tma_n >= N)
    return;
  // mbarrier.try_wait.parity, then ldmatrix.sync.aligned.m8n8.x4.
  float wgmma_accumulator = 0.0f;
  for (int64_t k = 0; k < K; ++k) {
    asm volatile("// wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16\n"
                 "/* cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
                 "::complete_tx::bytes */");
    wgmma_accumulator +=
        __bfloat162float(X[tma_m * K + k]) * __bfloat162float(W[tma_n * K + k]);
  }
  D[tma_m * N + tma_n] = __float2bfloat16_rn(
      wgmma_accumulator + __bfloat162float(R[tma_m * N + tma_n]));
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  dim3 grid(unsigned((args->N + kBlockX - 1) / kBlockX),
            unsigned((args->M + kBlockY - 1) / kBlockY));
  persistentWgmmaTmaWarpSpecializedGemm<<<grid, dim3(kBlockX, kBlockY), 0,
                                          stream>>>(
      static_cast<const __nv_bfloat16 *>(args->X),
      static_cast<const __nv_bfloat16 *>(args->W),
      static_cast<const __nv_bfloat16 *>(args->R),
      static_cast<__nv_bfloat16 *>(args->D), args->M, args->N, args->K);
  return cudaGetLastError();
}
