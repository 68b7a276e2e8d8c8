// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=2 %s | FileCheck %s
//
// Macros of nvcc that tell targets apart, for a target of a family as well,
// which Clang does not know.
// RUN: %nvcc -std=c++20 -arch=sm_100f -cubin %s -o %t.f.cubin
// RUN: d2k-host --arch sm_100f --entry run --axis n=2 %s | FileCheck %s

#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#error "needs a target with features of its own"
#endif
#ifndef __CUDA_ARCH_LIST__
#error "nvcc defines __CUDA_ARCH_LIST__ in both passes"
#endif
#if !defined(__CUDACC_VER_MAJOR__) || __CUDACC_VER_MAJOR__ < 13
#error "needs CUDA 13"
#endif

__global__ void kernel(float *y) { y[threadIdx.x] = 1; }

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float*) grid 10x2px1 block 32x1x1
extern "C" void run(const Args *a) {
  kernel<<<dim3(__CUDA_ARCH_LIST__ / 100, a->n), 32>>>(a->y);
}
