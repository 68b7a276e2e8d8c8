// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, a kernel that never ends
// verdict: timeout
// arguments: --call-timeout 3

#include "honest.cuh"

__global__ void hang(volatile uint8_t *q) {
  while (q[0] != 0x80 || q[1] != 0x81) {
  }
}

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *args, void *,
                         size_t, cudaStream_t stream) {
  hang<<<1, 1, 0, stream>>>(static_cast<uint8_t *>(args->q));
  return cudaGetLastError();
}
