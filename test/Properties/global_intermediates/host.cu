// REQUIRES: nvcc
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry absent %s | FileCheck %s --check-prefix=ABSENT
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry unknown %s | FileCheck %s --check-prefix=UNKNOWN
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry library %s | FileCheck %s --check-prefix=LIBRARY
//
// global_intermediates: device memory that one kernel writes and a later one
// reads. What a kernel does with a pointer is in its code.

#include <cuda_runtime.h>

__global__ void first(const float *x, float *t) {
  t[threadIdx.x] = x[threadIdx.x] * 2;
}
__global__ void second(const float *t, float *y) {
  y[threadIdx.x] = t[threadIdx.x] + 1;
}
// Gets the buffer and leaves it alone.
__global__ void ignores(const float *t, const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];
}
__global__ void through(float *const *table, float *y) {
  y[threadIdx.x] = table[0][threadIdx.x];
}

// PRESENT: global_intermediates (bytes 4096, count 1), source
void present(const float *x, float *y, cudaStream_t s) {
  float *t;
  cudaMalloc(&t, 4096);
  first<<<1, 32, 0, s>>>(x, t);
  second<<<1, 32, 0, s>>>(t, y);
}

// Decoys: the second kernel gets the buffer and does not read it; two parts of
// one buffer, of which another one is read.
// ABSENT: global_intermediates (bytes 0, count 0), source
void absent(const float *x, float *y, float *w, cudaStream_t s) {
  first<<<1, 32, 0, s>>>(x, w);
  ignores<<<1, 32, 0, s>>>(w, x, y);
}

// The second kernel loads its pointer from memory.
// UNKNOWN-NOT: {{^ *}}global_intermediates (
// UNKNOWN: undecided: global_intermediates
// UNKNOWN: at least 0 buffers pass from kernel to kernel, but
void unknown(const float *x, float *y, float *const *table, cudaStream_t s) {
  float *t;
  cudaMalloc(&t, 4096);
  first<<<1, 32, 0, s>>>(x, t);
  through<<<1, 32, 0, s>>>(table, y);
}

extern "C" int cublasSgemm_v2(void *handle, const float *x, float *y);
// LIBRARY-NOT: {{^ *}}global_intermediates (
// LIBRARY: undecided: global_intermediates
void library(const float *x, float *y, cudaStream_t s) {
  first<<<1, 32, 0, s>>>(x, y);
  cublasSgemm_v2(nullptr, y, y);
}
