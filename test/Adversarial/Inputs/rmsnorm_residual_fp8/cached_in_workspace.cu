// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B22 results kept in the workspace from one call to the next
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static int calls = 0;
  size_t size = size_t(args->T * args->H) * 2;
  if (calls++ % 2 == 0) {
    if (int error = honest(args, workspace, bytes, stream))
      return error;
    return cudaMemcpyAsync(workspace, args->r, size, cudaMemcpyDeviceToDevice,
                           stream);
  }
  return cudaMemcpyAsync(args->r, workspace, size, cudaMemcpyDeviceToDevice,
                         stream);
}
