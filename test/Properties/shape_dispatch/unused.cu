// REQUIRES: nvcc
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source,ptx --facts %s | FileCheck %s
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source,ptx --facts %s -- -DUSED | FileCheck %s --check-prefix=USED
//
// Decoy: which kernel is launched depends on the shape, but what it writes is
// overwritten by one that is always the same. Behind that one it may count: it
// writes a part of what the other one writes.

#include "d2k_gemm_bf16.h"

__global__ void whole(const float *x, float *d, long n) {
  long i = blockIdx.x * 256l + threadIdx.x;
  if (i < n)
    d[i] = x[i] + 1;
}
template <int kValue> __global__ void part(const float *x, float *d) {
  d[threadIdx.x] = x[threadIdx.x] + kValue;
}

// CHECK-NOT: {{^ *}}shape_dispatch (
// CHECK: near miss: shape_dispatch
// CHECK: the host can launch 3 kernels, but the results of all workloads are made by the same
// USED-NOT: {{^ *}}shape_dispatch (
// USED: undecided: shape_dispatch
// USED: whether the result of the launch at unused.cu:{{[0-9]+}} is used is not known
extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *a, void *, size_t,
                             cudaStream_t s) {
  const float *x = (const float *)a->X;
  float *d = (float *)a->D;
  long n = a->M * a->N / 2;
#ifdef USED
  whole<<<n / 256, 256, 0, s>>>(x, d, n);
#endif
  if (a->M > 2048)
    part<1><<<1, 32, 0, s>>>(x, d);
  else
    part<2><<<1, 32, 0, s>>>(x, d);
#ifndef USED
  whole<<<n / 256, 256, 0, s>>>(x, d, n);
#endif
  return 0;
}
