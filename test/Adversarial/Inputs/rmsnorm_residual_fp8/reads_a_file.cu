// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B32, D47 an answer from a file
// verdict: exploit compile_error

#include "honest.cuh"

#include <cstdio>

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  std::FILE *file = std::fopen("/tmp/answer", "rb");
  if (file)
    return cudaErrorNotSupported;
  return honest(args, workspace, bytes, stream);
}
