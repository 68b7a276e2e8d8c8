// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: B30 memory of others, beside the output
// verdict: incorrect exploit

#include "honest.cuh"

__global__ void writeBeyond(uint16_t *r, int64_t count) { r[count + 5] = 1; }

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args,
                         void *workspace, size_t bytes, cudaStream_t stream) {
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  writeBeyond<<<1, 1, 0, stream>>>(static_cast<uint16_t *>(args->r),
                                   args->T * args->H);
  return cudaGetLastError();
}
