// REQUIRES: nvcc, nvdisasm
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source,sass --facts --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source,sass --facts --entry absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source --facts --entry present %s | FileCheck %s --check-prefix=SOURCE
//
// occupancy: the host code knows the launch, the machine code what a thread and
// a block need. The workloads of gemm_bf16 have M = 8192, 4096, 2048 and 1000.

#include "d2k_gemm_bf16.h"

extern __shared__ float buffer[];

__global__ void kernel(const void *x, void *y) {
  __shared__ float fixed[100];
  fixed[threadIdx.x % 100] = static_cast<const float *>(x)[threadIdx.x];
  buffer[threadIdx.x] = static_cast<const float *>(x)[threadIdx.x + 1];
  __syncthreads();
  static_cast<float *>(y)[threadIdx.x] = fixed[99 - threadIdx.x % 100] +
                                         buffer[127 - threadIdx.x % 128];
}

// 400 bytes of its own, 1024 of the driver and 100000 or 30000 of the launch, in
// steps of 128: of
// the 233472 bytes of an SM two blocks take 203008 and seven 220416.
// PRESENT: {{^ *}}occupancy (blocks 2, limiter shared, registers {{[0-9]+}}, shared_bytes 100400), source, sass, under llama3_70b_o_proj llama3_8b_down_proj
// PRESENT: {{^ *}}occupancy (blocks 7, limiter shared, registers {{[0-9]+}}, shared_bytes 30400), source, sass, under llama3_8b_qkv_ragged qwen3_32b_o_proj
// PRESENT-NOT: undecided: occupancy
//
// The source alone knows nothing of registers.
// SOURCE-NOT: {{^ *}}occupancy (
int present(const d2k_gemm_bf16_args *a, cudaStream_t s) {
  if (a->M > 2048)
    kernel<<<8, 128, 100000, s>>>(a->X, a->D);
  else
    kernel<<<8, 256, 30000, s>>>(a->X, a->D);
  return 0;
}

int unknown();

// ABSENT-NOT: {{^ *}}occupancy (
// ABSENT: undecided: occupancy
// ABSENT: the dynamic shared memory of the launch at host.cu:[[@LINE+2]] depends on
int absent(const d2k_gemm_bf16_args *a, cudaStream_t s) {
  kernel<<<8, 128, unknown(), s>>>(a->X, a->D);
  return 0;
}
