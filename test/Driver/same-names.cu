// REQUIRES: nvcc
// RUN: rm -rf %t && split-file %s %t
// RUN: d2k-host %t/a.cu %t/b.cu | FileCheck %s --implicit-check-not=incomplete
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx %t/a.cu %t/b.cu | FileCheck %s --check-prefix=REPORT
//
// Two files have functions, constants and kernels of their own under the same
// names. Each calls its own; what only one of them defines is called from both.

// CHECK: trace run
// CHECK-NEXT: launch clear(float*) grid 1x1x1 block 32x1x1
// CHECK-NEXT: launch (anonymous namespace)::scale(float*) grid 8x1x1 block 128x1x1 shared 0 (x) stream 1 line 7
// CHECK-NEXT: launch clear(float*) grid 1x1x1 block 64x1x1
// CHECK-NEXT: launch (anonymous namespace)::scale(float*) grid 4x1x1 block 256x1x1 shared 0 (x) stream 1 line 14
// `shared` of a.cu is 3 when b.cu reads it, and the structure is one type.
// CHECK-NEXT: launch last(float*) grid 3x5x1 block 32x1x1
// CHECK-NOT: trace

// Each kernel has the launch of its own file, by the lines of what is known of
// it. Of `clear`, PTX alone shows nothing: either may be the one that is
// launched.
// REPORT: source ok
// REPORT: clear(float*)
// REPORT-NEXT: perhaps launched
// REPORT: clear(float*)
// REPORT-NEXT: perhaps launched
// REPORT: {{^}}Facts
// REPORT: (anonymous namespace)::scale(float*)
// REPORT: launch_shape (x 128, y 1, z 1), source
// REPORT-NEXT: a.cu:7:3
// REPORT-NOT: launch_shape
// REPORT: (anonymous namespace)::scale(float*)
// REPORT: launch_shape (x 256, y 1, z 1), source
// REPORT-NEXT: b.cu:14:3
// REPORT-NOT: launch_shape
// REPORT: last(float*)

//--- a.cu
#include "common.h"
namespace {
constexpr int kTile = 128;
__global__ void scale(float *x) { x[blockIdx.x * kTile + threadIdx.x] *= 2; }
int blocks(int n) { return n / kTile; }
void runScale(float *x, int n) {
  scale<<<blocks(n), kTile>>>(x);
}
} // namespace
static __global__ void clear(float *x) { x[threadIdx.x] = 0; }
int shared = 1;
extern "C" void run(float *x) {
  shared = 3;
  clear<<<1, 32>>>(x);
  runScale(x, 1024);
  Shape shape = {1024, 5};
  next(x, shape);
}
//--- b.cu
#include "common.h"
namespace {
constexpr int kTile = 256;
__global__ void scale(float *x) { x[blockIdx.x * kTile + threadIdx.x] += 2; }
int blocks(int n) { return n / kTile; }
} // namespace
static __global__ void clear(float *x) { x[threadIdx.x] = 1; }
__global__ void last(float *x) {
  x[blockIdx.x * 160 + blockIdx.y * 32 + threadIdx.x] += 1;
}
extern int shared;
void next(float *x, const Shape &shape) {
  clear<<<1, 64>>>(x);
  scale<<<blocks(shape.n), kTile>>>(x);
  last<<<dim3(shared, shape.rows), 32>>>(x);
}
//--- common.h
#pragma once
struct Shape {
  int n;
  int rows;
};
void next(float *x, const Shape &shape);
