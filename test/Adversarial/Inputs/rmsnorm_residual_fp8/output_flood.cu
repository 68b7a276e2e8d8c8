// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, output without end, in each call
// verdict: correct crash timeout

#include "honest.cuh"

#include <cstdio>

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  static int calls = 0;
  if (calls++ < 3)
    for (int i = 0; i < 4000000; ++i)
      std::puts("this line fills the disk of whoever keeps it");
  return honest(args, workspace, bytes, stream);
}
