// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A1 work on a side stream that is never joined
// verdict: incorrect invalid_measurement exploit

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t) {
  static cudaStream_t side = nullptr;
  if (!side)
    if (int error = cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking))
      return error;
  return honest(args, workspace, bytes, side);
}
