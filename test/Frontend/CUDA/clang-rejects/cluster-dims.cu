// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=8 %s | FileCheck %s
//
// __cluster_dims__, with a constant and with a template's parameter.

#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__global__ void __cluster_dims__(2, 1, 1) fixed(float *y) {
  y[threadIdx.x] = 1;
}

template <int N>
__global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(128)
    sized(float *y) {
  y[threadIdx.x] = 1;
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch fixed(float*) grid 8px1x1 block 32x1x1
// CHECK-NEXT: launch void sized<4>(float*) grid 8px1x1 block 128x1x1
extern "C" void run(const Args *a) {
  fixed<<<a->n, 32>>>(a->y);
  sized<4><<<a->n, 128>>>(a->y);
}

// The shape is in the PTX that nvcc makes.
// RUN: d2k-analyze --no-cache --arch sm_100a --tiers source,ptx --facts %s \
// RUN:   | FileCheck %s --check-prefix=FACTS
// FACTS-DAG: cluster_launch (x 2, y 1, z 1), ptx
// FACTS-DAG: cluster_launch (x 4, y 1, z 1), ptx
