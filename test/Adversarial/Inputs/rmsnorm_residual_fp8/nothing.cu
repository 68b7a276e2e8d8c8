// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A17 an early exit that is taken for success
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *, void *, size_t,
                         cudaStream_t) {
  return cudaSuccess;
}
