// RUN: d2k-host --entry run --axis n=4096 %s | FileCheck %s
// A header that Clang does not find leaves launches without the conversion of
// their configuration: one number is x, and y and z are 1.
#include "no_such_header.h"

__global__ void kernel(float *y) { y[threadIdx.x] = 1; }

struct Args {
  long n;
  float *y;
};

// CHECK: launch kernel(float*) grid 16{{[pm?]*}}x1x1 block 256x1x1
extern "C" void run(const Args *a) {
  kernel<<<a->n / 256, 256>>>(a->y);
}
