// RUN: d2k-analyze --arch sm_90a --tiers source --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source --entry empty %s | FileCheck %s --check-prefix=EMPTY
// RUN: d2k-analyze --arch sm_90a --tiers source --entry maybe %s | FileCheck %s --check-prefix=MAYBE
// RUN: d2k-analyze --arch sm_90a --tiers source --entry library %s | FileCheck %s --check-prefix=LIBRARY
//
// kernel_count: launches of one call.

#include <cuda_runtime.h>

__global__ void a(const float *x, float *y) {}
__global__ void b(const float *x, float *y) {}

// Three launches, two of them in a loop.
// PRESENT: kernel_count (count 3), source
void present(const float *x, float *y, cudaStream_t s) {
  a<<<1, 32, 0, s>>>(x, y);
  for (int i = 0; i < 2; ++i)
    b<<<1, 32, 0, s>>>(x, y);
}

// Decoy: a launch on an empty grid, one in a branch that is never taken, and a
// kernel that nobody launches.
// EMPTY: not launched, no evidence: the launch at host.cu:[[@LINE+6]] has an empty grid
// EMPTY: kernel_count (count 0), source
void empty(const float *x, float *y, cudaStream_t s) {
  int n = 0;
  if (n > 3)
    b<<<1, 32, 0, s>>>(x, y);
  a<<<n, 32, 0, s>>>(x, y);
}

// A condition that is not known.
// MAYBE-NOT: kernel_count (
// MAYBE: undecided: kernel_count
// MAYBE: one launch is certain, but the launch at host.cu:[[@LINE+5]] depends on
// MAYBE-SAME: the parameter n
void maybe(const float *x, float *y, int n, cudaStream_t s) {
  a<<<1, 32, 0, s>>>(x, y);
  if (n)
    b<<<1, 32, 0, s>>>(x, y);
}

extern "C" int cublasSgemm_v2(void *handle);
// LIBRARY-NOT: kernel_count (
// LIBRARY: undecided: kernel_count
// LIBRARY: cublasSgemm_v2() at host.cu:[[@LINE+2]] launches kernels
void library(const float *x, float *y, cudaStream_t s) {
  cublasSgemm_v2(nullptr);
}
