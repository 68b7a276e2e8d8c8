// RUN: d2k-host %s | FileCheck %s
//
// Without an entry, every host function that launches and that no other one
// calls is one.

#include <cuda_runtime.h>

__global__ void k(float *y) {}
__global__ void unused(float *y) {}

static void helper(float *y, int n) { k<<<n, 32>>>(y); }

// CHECK: kernel k(float*)
// CHECK: kernel unused(float*)
// CHECK: trace first
// CHECK-NEXT: launch k(float*) grid 2x1x1 {{.*}} (y)
void first(float *y) { helper(y, 2); }
// CHECK: trace second
// CHECK-NEXT: launch? k(float*) grid ?{{p?}}x1x1
// CHECK: depends on the parameter n
void second(float *y, int n) {
  if (n > 3)
    helper(y, n);
}
// CHECK-NOT: trace
