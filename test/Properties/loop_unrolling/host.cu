// REQUIRES: nvcc, nvdisasm
// RUN: d2k-analyze --arch sm_90a --tiers source,sass %s | FileCheck %s
// RUN: d2k-analyze --arch sm_90a --tiers source,sass %s -- -DONE | FileCheck %s --check-prefix=ONE
// RUN: d2k-analyze --arch sm_90a --tiers sass %s | FileCheck %s --check-prefix=ALONE
//
// The loop of the author's source, found by Clang, and ptxas's machine code.

#ifdef ONE
constexpr int kTimes = 1;
#else
constexpr int kTimes = 4;
#endif

template <int kStep>
__global__ void gather(const int *at, const float *x, float *y, int n) {
  float sum = 0;
#pragma unroll kTimes
  for (int i = threadIdx.x; i < n; i += kStep) // here
    sum += x[at[i]];
  y[threadIdx.x] = sum;
}

// CHECK: loop_unrolling (factor 4), {{.*}}sass
// CHECK-NEXT: host.cu:[[@LINE-6]]
// ONE-NOT: loop_unrolling (
// ALONE: undecided: loop_unrolling
// ALONE-NEXT: the loops of the source are not known
void launch(const int *at, const float *x, float *y, int n) {
  gather<128><<<1, 128>>>(at, x, y, n);
}
