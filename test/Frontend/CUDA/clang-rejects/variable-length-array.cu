// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=3 %s | FileCheck %s
//
// An array whose length is known only when the code runs.

#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__global__ void kernel(float *y) { y[threadIdx.x] = 1; }

// sizes = 0, 2, 4.
// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float*) grid 1{{p?}}x1x1
// CHECK-NEXT: launch kernel(float*) grid 3{{p?}}x1x1
// CHECK-NEXT: launch kernel(float*) grid 5{{p?}}x1x1
extern "C" void run(const Args *a) {
  int sizes[a->n];
  for (int i = 0; i < a->n; ++i)
    sizes[i] = 2 * i;
  for (int i = 0; i < a->n; ++i)
    kernel<<<sizes[i] + 1, 32>>>(a->y);
}
