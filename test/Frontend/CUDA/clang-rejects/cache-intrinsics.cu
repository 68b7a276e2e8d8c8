// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=4 %s | FileCheck %s
//
// Loads and stores with a cache policy, on types that Clang's headers do not
// have.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

struct Args {
  long n;
  float4 *x, *y;
};

__global__ void kernel(float4 *y, const float4 *x, __nv_bfloat162 *h) {
  __stcs(y + threadIdx.x, __ldcs(x + threadIdx.x));
  __stcg(y + 32, __ldcg(x));
  __stwt(y + 64, __ldca(x));
  __stcs(h, __ldcs(h));
  __stwb((int4 *)y, __ldlu((const int4 *)x));
}

// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK-NEXT: launch kernel(float4*, float4 const*, __nv_bfloat162*) grid 4px1x1 block 32x1x1 shared 0 (y, x, {{.*}})
extern "C" void run(const Args *a) {
  kernel<<<a->n, 32>>>(a->y, a->x, nullptr);
}
