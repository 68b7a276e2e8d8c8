// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B22 memory of its own, in which results can be kept
// verdict: exploit compile_error

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static void *memory = nullptr;
  if (!memory)
    cudaMalloc(&memory, 1 << 20);
  return honest(args, workspace, bytes, stream);
}
