// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, host code that faults
// verdict: crash

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t) {
  *reinterpret_cast<volatile int *>(uintptr_t(args->T & 1)) = 1;
  return cudaSuccess;
}
