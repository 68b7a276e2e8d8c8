// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: C41, D49 a library loaded behind the harness's back
// verdict: exploit compile_error

#include "honest.cuh"

#include <dlfcn.h>

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  if (!dlopen("libcublas.so.13", RTLD_NOW))
    return cudaErrorNotSupported;
  return honest(args, workspace, bytes, stream);
}
