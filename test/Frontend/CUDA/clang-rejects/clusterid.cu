// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=4 %s | FileCheck %s
//
// The register %clusterid, with one and with two percent signs.

#include <cuda_runtime.h>

struct Args {
  long n;
  unsigned *y;
};

__device__ unsigned rank() {
  unsigned x;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(x));
  return x;
}

__device__ unsigned plain() {
  unsigned x;
  asm("mov.u32 %0, %clusterid.x;" : "=r"(x));
  return x;
}

__global__ void kernel(unsigned *y) { *y = rank() + plain(); }

// CHECK: trace run
// CHECK-NEXT: launch kernel(unsigned int*) grid 4px1x1 block 32x1x1 shared 0 (y)
extern "C" void run(const Args *a) { kernel<<<a->n, 32>>>(a->y); }
