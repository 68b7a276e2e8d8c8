// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry absent %s | FileCheck %s --check-prefix=ABSENT
//
// launch_shape: the block of a launch.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

// PRESENT: launch_shape (x 32, y 8, z 1), source
void present(const float *x, float *y, cudaStream_t s) {
  a<<<4, dim3(32, 8), 0, s>>>(x, y);
}

// ABSENT-NOT: launch_shape (
// ABSENT: undecided: launch_shape
// ABSENT: the block of the launch at host.cu:[[@LINE+2]] depends on the parameter threads
void absent(const float *x, float *y, int threads, cudaStream_t s) {
  a<<<4, threads, 0, s>>>(x, y);
}
