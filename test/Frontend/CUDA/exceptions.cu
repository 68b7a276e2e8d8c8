// RUN: d2k-host --arch sm_90a --entry run --axis n=9 %s | FileCheck %s
// RUN: d2k-host --arch sm_90a --entry run --axis n=3 %s \
// RUN:   | FileCheck %s --check-prefix=CALM
// RUN: d2k-host --arch sm_90a --entry ends --axis n=9 %s \
// RUN:   | FileCheck %s --check-prefix=ENDS
// What stands behind a function that leaves for sure does not run: a handler
// does, or nothing.

#include <cstdlib>
#include <cuda_runtime.h>
#include <stdexcept>

struct Args {
  long n;
  float *y;
};

__global__ void step(float *y, int i) { y[threadIdx.x] = i; }

static void check(long n) {
  if (n > 5)
    throw std::invalid_argument("n");
}
static void inner(long n) { check(n); }

// CHECK: trace run
// CHECK-NOT: grid 80x1x1
// CHECK: launch? step(float*, int) grid 3x1x1 {{.*}}(y, 1)
// CHECK-NEXT: is behind an exception that is perhaps caught at line [[@LINE+14]]
// CHECK: launch? step(float*, int) grid 4x1x1 {{.*}}(y, 2)
// CHECK-NOT: grid 80x1x1
// CHECK: any shape
// CALM: trace run
// CALM-NEXT: launch step(float*, int) grid 80x1x1 {{.*}}(y, 0)
// CALM-NEXT: launch step(float*, int) grid 2x1x1 {{.*}}(y, 2)
// CALM: any shape
extern "C" int run(const Args *a) {
  int grid = 1;
  try {
    inner(a->n);
    step<<<80, 32>>>(a->y, 0);
    grid = 2;
  } catch (const std::exception &) {
    step<<<3, 32>>>(a->y, 1);
    grid = 4;
  }
  step<<<grid, 32>>>(a->y, 2);
  return 0;
}

static void require(bool holds) {
  if (!holds)
    exit(1);
}
// ENDS: trace ends
// ENDS-NEXT: launch step(float*, int) grid 1x1x1
// ENDS-NEXT: launch step(float*, int) grid 2x1x1
// ENDS-NEXT: any shape
extern "C" int ends(const Args *a) {
  step<<<1, 32>>>(a->y, 1);
  require(a->n > 5);
  step<<<2, 32>>>(a->y, 1);
  require(a->n < 5);
  step<<<80, 32>>>(a->y, 1);
  return 0;
}
