// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: C39 shapes that are hard-coded
// verdict: incorrect
// arguments: --workload one_token

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  d2k_rmsnorm_residual_fp8_args known = *args;
  if (known.T != 4096 && known.T != 16384 && known.T != 128 && known.T != 333)
    known.H = 64;
  return honest(&known, workspace, bytes, stream);
}
