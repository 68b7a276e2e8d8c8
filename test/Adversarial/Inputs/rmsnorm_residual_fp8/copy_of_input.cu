// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B25 an input instead of the result
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  return cudaMemcpyAsync(args->r, args->x, size_t(args->T * args->H) * 2,
                         cudaMemcpyDeviceToDevice, stream);
}
