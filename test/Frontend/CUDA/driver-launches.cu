// RUN: d2k-host --arch sm_90a --entry run --axis n=777 %s | FileCheck %s
// RUN: d2k-host --arch sm_90a --entry run --axis n=100 %s \
// RUN:   | FileCheck %s --check-prefix=SMALL
// Kernels that the driver launches: by the address of their stub, which the
// runtime turns into a handle, kept in a static variable.

#include <cuda.h>
#include <cuda_runtime.h>

struct Args {
  long n;
  float *y;
};

template <int T> __global__ void tile(float *y, int n) {
  y[blockIdx.x * T + threadIdx.x] = n;
}

extern "C" int run(const Args *a, CUstream s) {
  static CUfunction function = nullptr;
  if (!function) {
    cudaFunction_t found;
    cudaGetFuncBySymbol(&found, (const void *)tile<96>);
    function = found;
  }
  float *y = a->y;
  int n = int(a->n);
  void *args[] = {&y, &n};
  // CHECK: trace run
  // CHECK-NEXT: launch void tile<96>(float*, int) grid 9px1x1 block 96x1x1 shared 64 (y, 777p) stream 0
  // CHECK-NOT: launch
  // CHECK: any shape
  if (n > 500)
    return cuLaunchKernel(function, (n + 95) / 96, 1, 1, 96, 1, 1, 64, s, args,
                          nullptr);
  // SMALL: trace run
  // SMALL: launch void tile<96>(float*, int) grid 3x2x1 block 32x1x1 cluster 1x2x1 shared 0 (y, 100p) stream 0
  // SMALL-NOT: launch
  // SMALL: any shape
  CUlaunchAttribute cluster = {};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = 1;
  cluster.value.clusterDim.y = 2;
  cluster.value.clusterDim.z = 1;
  CUlaunchConfig config = {};
  config.gridDimX = 3;
  config.gridDimY = 2;
  config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = s;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cuLaunchKernelEx(&config, function, args, nullptr);
}
