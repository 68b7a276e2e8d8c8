// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B24 zeros
// verdict: incorrect

#include "honest.cuh"

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t stream) {
  size_t count = size_t(args->T * args->H);
  if (int error = cudaMemsetAsync(args->r, 0, 2 * count, stream))
    return error;
  if (int error = cudaMemsetAsync(args->q, 0, count, stream))
    return error;
  return cudaMemsetAsync(args->s, 0, size_t(args->T) * ((args->H + 127) / 128) * 4,
                         stream);
}
