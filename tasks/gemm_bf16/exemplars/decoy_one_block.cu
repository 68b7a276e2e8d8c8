// Decoy of tiled.cu: one block of the kernel of mma_sync.cu makes one tile,
// beside a full launch of the slow kernel that makes all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

namespace fast {
#define d2k_gemm_bf16 multiplyFast
#include "mma_sync.cu"
#undef d2k_gemm_bf16
} // namespace fast

namespace slow {
#define d2k_gemm_bf16 multiplySlowly
#include "tiled.cu"
#undef d2k_gemm_bf16
} // namespace slow

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream) {
  fast::Tensors t(*args);
  int64_t tilesM = (args->M + fast::kTileM - 1) / fast::kTileM;
  int64_t tilesN = (args->N + fast::kTileN - 1) / fast::kTileN;
  fast::gemmBf16MmaSync<<<1, fast::kThreads, fast::kSharedBytes, stream>>>(
      t.x, t.w, t.r, t.d, args->M, args->N, args->K, int(tilesM), int(tilesN));
  return slow::multiplySlowly(args, workspace, workspace_bytes, stream);
}
