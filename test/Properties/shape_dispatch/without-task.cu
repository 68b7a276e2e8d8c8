// RUN: d2k-analyze --arch sm_90a --tiers source --entry dispatch %s | FileCheck %s
// RUN: d2k-analyze --arch sm_90a --tiers source --entry plain %s | FileCheck %s --check-prefix=PLAIN
//
// Without a task nothing says which shapes there are: a launch that depends on an
// argument may be a choice by shape.

template <int kWidth> __global__ void scale(float *y) { y[threadIdx.x] = kWidth; }

// CHECK-NOT: {{^ *}}shape_dispatch (
// CHECK: undecided: shape_dispatch
// CHECK-NEXT: whether the launch at without-task.cu:{{[0-9]+}} runs depends on the call
void dispatch(float *y, int n) {
  switch (n % 4) {
  case 0:
    scale<4><<<1, 32>>>(y);
    break;
  case 2:
    scale<2><<<1, 32>>>(y);
    break;
  default:
    scale<1><<<1, 32>>>(y);
  }
}

// PLAIN-NOT: {{(undecided|near miss): shape_dispatch}}
// PLAIN-NOT: {{^ +}}shape_dispatch
void plain(float *y, int n) { scale<1><<<n, 32>>>(y); }
