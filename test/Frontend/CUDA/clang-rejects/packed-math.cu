// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=4 %s | FileCheck %s
//
// Arithmetic on pairs, which the toolkit has for sm_100 and later.

#include <cuda_runtime.h>

struct Args {
  long n;
  float2 *x, *y;
};

__global__ void kernel(float2 *y, const float2 *x) {
  y[threadIdx.x] = __ffma2_rn(x[0], x[1], x[2]);
  y[1] = __fmul2_rn(x[0], x[1]);
  y[2] = __fadd2_rn(x[0], x[1]);
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float2*, float2 const*) grid 4px1x1 block 32x1x1 shared 0 (y, x)
extern "C" void run(const Args *a) { kernel<<<a->n, 32>>>(a->y, a->x); }
