// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: A2, A3 the work starts only after the given stream is done
// verdict: incorrect invalid_measurement exploit

#include "honest.cuh"

__global__ void waitLong() {
  long long start = clock64();
  while (clock64() - start < 20000000) {
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t) {
  static cudaStream_t side = nullptr;
  if (!side)
    if (int error = cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking))
      return error;
  waitLong<<<1, 1, 0, side>>>();
  return honest(args, workspace, bytes, side);
}
