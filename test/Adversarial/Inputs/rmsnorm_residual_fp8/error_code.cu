// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, a call that says that it failed
// verdict: incorrect crash

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *, void *, size_t,
                         cudaStream_t) {
  return cudaErrorNotSupported;
}
