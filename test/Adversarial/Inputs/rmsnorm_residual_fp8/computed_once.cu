// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A12 all the work in the first call of each set of buffers
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static const void *seen[64];
  for (const void *&pointer : seen) {
    if (pointer == args->r)
      return cudaSuccess;
    if (!pointer) {
      pointer = args->r;
      return honest(args, workspace, bytes, stream);
    }
  }
  return cudaSuccess;
}
