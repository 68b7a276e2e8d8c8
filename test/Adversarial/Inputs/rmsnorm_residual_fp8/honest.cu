// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, the control
// verdict: correct

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  return honest(args, workspace, bytes, stream);
}
