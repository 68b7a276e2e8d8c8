// One kernel under the workloads of a task: the copies are made when there are
// 8192 rows, that is under one of them; packed sums when the pointers are
// aligned, as the task says they are, always.
// REQUIRES: nvcc
// RUN: rm -rf %t && mkdir %t
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source,ptx --cache %t --format json --facts %s \
// RUN:   | %python %S/Inputs/facts.py async_copy packed_math | FileCheck %s

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

// CHECK: {{^}}kernel fact async_copy bytes=4 mechanism=cp_async under llama3_70b_o_proj
// CHECK-NEXT: {{^}}kernel fact packed_math type=bf16x2
// CHECK-NOT: {{^}}kernel
__global__ void kernel(const __nv_bfloat162 *x, __nv_bfloat162 *d, int64_t rows) {
  __shared__ __nv_bfloat162 s[256];
  int64_t i = blockIdx.x * 256 + threadIdx.x;
  if (rows == 8192) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
                 "cp.async.wait_all;" ::"r"(
                     unsigned(__cvta_generic_to_shared(&s[threadIdx.x]))),
                 "l"(x + i));
  } else {
    s[threadIdx.x] = x[i];
  }
  __syncthreads();
  __nv_bfloat162 v = s[threadIdx.x ^ 1];
  if (((size_t)x & 15) == 0)
    v = __hmul2(v, v);
  else
    v = __floats2bfloat162_rn(__low2float(v) * __low2float(v), 0.f);
  d[i] = v;
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t, cudaStream_t stream) {
  kernel<<<unsigned(args->M * args->N / 512), 256, 0, stream>>>(
      (const __nv_bfloat162 *)args->X, (__nv_bfloat162 *)args->D, args->M);
  return cudaGetLastError();
}
