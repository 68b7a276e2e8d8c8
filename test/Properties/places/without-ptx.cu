// REQUIRES: nvcc, nvdisasm, ptxas-sm_90a
// RUN: d2k-analyze --no-cache --arch sm_90a --tiers source,sass --entry run \
// RUN:   --facts %s | FileCheck %s
// RUN: d2k-analyze --no-cache --arch sm_90a --tiers source,ptx --entry run \
// RUN:   --facts %s | FileCheck %s -check-prefix=PTX
//
// The host code is whole, and shows one half of these properties only: without
// the PTX of the kernel they are open, not absent.

#include <cuda_runtime.h>

__global__ void __cluster_dims__(2, 1, 1)
    clustered(float *y, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    y[i] = __expf(x[i]);
}

// CHECK: undecided: cluster_launch, dependent_launch, fast_math, persistent_kernel
// CHECK-NEXT: the host code tells only how the kernel is launched, and its PTX was not read
// CHECK-NEXT: would decide: the kernel's PTX

// PTX-NOT: its PTX was not read
// PTX: cluster_launch (x 2, y 1, z 1), ptx
extern "C" void run(float *y, const float *x, int n) {
  clustered<<<132, 256>>>(y, x, n);
}
