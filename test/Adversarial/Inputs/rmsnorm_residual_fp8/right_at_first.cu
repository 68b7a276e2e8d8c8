// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A11 right in the first calls, fast and wrong afterwards
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static int calls = 0;
  d2k_rmsnorm_residual_fp8_args fewer = *args;
  if (++calls > 30)
    fewer.T = (args->T + 1) / 2;
  return honest(&fewer, workspace, bytes, stream);
}
