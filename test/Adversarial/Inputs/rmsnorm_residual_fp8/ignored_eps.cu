// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: C43 a parameter that is ignored
// verdict: incorrect
// arguments: --workload gpt_oss_ragged

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  d2k_rmsnorm_residual_fp8_args changed = *args;
  changed.eps = 1e-6f;
  return honest(&changed, workspace, bytes, stream);
}
