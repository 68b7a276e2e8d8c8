// REQUIRES: nvcc, ptxas-sm_100a
// RUN: %nvcc -std=c++20 -arch=sm_100a -cubin %s -o %t.cubin
// RUN: d2k-host --arch sm_100a --entry run --axis n=4 %s | FileCheck %s
//
// A barrier object in shared memory has a constructor. Clang refuses it: an
// error in the body of a device function leaves the host code whole.

#include <cuda/barrier>
#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

__global__ void kernel(float *y) {
  // CHECK: diagnostic {{.*}}shared-barrier.cu:[[@LINE+1]]:{{.*}}initialization is not supported for __shared__ variables
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  barrier.arrive_and_wait();
  y[threadIdx.x] = 1;
}

// CHECK: trace run
// CHECK-NEXT: launch kernel(float*) grid 4px1x1 block 32x1x1 shared 0 (y)
extern "C" void run(const Args *a) { kernel<<<a->n, 32>>>(a->y); }

// The report says that not all of the device code was understood.
// RUN: d2k-analyze --no-cache --arch sm_100a --tiers source --format json %s \
// RUN:   | FileCheck %s --check-prefix=TIER
// TIER: "source": {
// TIER-NEXT: "status": "partial"
// TIER-NEXT: "reason": "Clang does not understand every device function that nvcc compiles; the host code was read whole"
// TIER: initialization is not supported for __shared__ variables
