// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry cached %s | FileCheck %s --check-prefix=CACHED
//
// host_allocation: memory that every call allocates.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

// PRESENT: host_allocation (call cudaMalloc), source
// PRESENT-NEXT: host.cu:[[@LINE+3]]
void present(const float *x, float *y, cudaStream_t s) {
  float *t;
  cudaMalloc(&t, 4096);
  a<<<1, 32, 0, s>>>(x, t);
}

// The first call allocates, later ones find the memory: it is not on the path
// that is timed.
// CACHED-NOT: {{^ *}}host_allocation
void cached(const float *x, float *y, cudaStream_t s) {
  static float *t = nullptr;
  if (!t)
    cudaMalloc(&t, 4096);
  a<<<1, 32, 0, s>>>(x, t);
}
