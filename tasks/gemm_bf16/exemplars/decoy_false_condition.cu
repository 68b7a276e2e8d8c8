// Decoy of tiled.cu: the kernel of mma_sync.cu is launched under a
// condition that the compiler cannot decide and no workload fulfils.
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
  // K is a multiple of 64 in every workload.
  if (args->K % 64 == 8 && args->M > 1)
    return fast::multiplyFast(args, workspace, workspace_bytes, stream);
  return slow::multiplySlowly(args, workspace, workspace_bytes, stream);
}
