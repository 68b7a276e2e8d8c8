// RUN: d2k-host --entry run --axis n=8 %s | FileCheck %s
//
// Code that nvcc takes and Clang does not: the errors are listed, and the rest
// is followed.

#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__global__ void kernel(float *y, int n) {}

// CHECK: diagnostic {{.*}}unknown-type.cu:[[@LINE+1]]:{{.*}}unknown type name 'not_a_type_of_clang'
__device__ not_a_type_of_clang broken() { return 0; }

// CHECK: trace run
// CHECK: launch kernel(float*, int) grid 8px1x1
extern "C" int run(const Args *a, cudaStream_t s) {
  kernel<<<int(a->n), 32, 0, s>>>(a->y, 3);
  return 0;
}
