// RUN: d2k-host --entry run --axis n=4096 %s | FileCheck %s
// nvcc's host compiler brings omp.h, Clang does not: its functions are there,
// and what they return is not known.
#include <omp.h>

__global__ void kernel(float *y) { y[threadIdx.x] = 1; }

struct Args {
  long n;
  float *y;
};

// CHECK-NOT: diagnostic
extern "C" void run(const Args *a) {
  // CHECK: launch kernel(float*) grid 16px1x1 block 256x1x1
  kernel<<<a->n / 256, 256>>>(a->y);
  // CHECK: launch kernel(float*) grid ?x1x1 block 32x1x1
  kernel<<<omp_get_max_threads(), 32>>>(a->y);
}
