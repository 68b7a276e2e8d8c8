// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, 100 GB of host memory
// verdict: crash

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  for (int i = 0; i < 100; ++i) {
    size_t size = size_t(1) << 30;
    char *memory = new char[size];
    for (size_t at = 0; at < size; at += 4096)
      static_cast<volatile char *>(memory)[at] = 1;
  }
  return honest(args, workspace, bytes, stream);
}
