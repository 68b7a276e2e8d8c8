// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none, an access that the device refuses; the context is lost
// verdict: crash

#include "honest.cuh"

__global__ void writeNowhere(uint8_t *nowhere) { *nowhere = 1; }

extern "C" int
d2k_rmsnorm_residual_fp8(const d2k_rmsnorm_residual_fp8_args *, void *, size_t,
                         cudaStream_t stream) {
  writeNowhere<<<1, 1, 0, stream>>>(reinterpret_cast<uint8_t *>(8));
  return cudaGetLastError();
}
