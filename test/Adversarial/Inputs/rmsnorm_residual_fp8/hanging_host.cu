// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, host code that never ends
// verdict: timeout
// arguments: --call-timeout 3

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t) {
  volatile int64_t turns = args->T;
  while (turns != 0)
    turns = turns + (turns > 1000 ? -1 : 1);
  return cudaSuccess;
}
