// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis m=100 %s | FileCheck %s
//
// min, max and the classification of numbers without std::, on the host.

#include <cuda_runtime.h>

struct Args {
  long m;
  float scale;
  float *y;
};

__global__ void kernel(float *y) {
  y[threadIdx.x] = isfinite(y[0]) ? max(1, 2) : min(2u, 3);
}

static unsigned limit(long m) { return min((unsigned)m, 48u); }

// min(100, 64) = 64 of max(1, 64); 48; max of 3 and 2; max(1.0, 2.0f) is 2.
// CHECK-NOT: diagnostic
// CHECK: trace run
// CHECK: launch{{\??}} kernel(float*) grid 64px48px3 block 2x1x1 shared 0 (y)
extern "C" void run(const Args *a) {
  if (!isfinite(a->scale) || isnan(a->scale) || isinf(a->scale))
    return;
  int blocks = max(1, int(min(a->m, 64l)));
  dim3 grid(blocks, limit(a->m), unsigned(max(3ull, 2ull)));
  kernel<<<grid, int(max(1.0, 2.0f))>>>(a->y);
}
