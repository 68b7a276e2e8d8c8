// REQUIRES: nvcc, ptxas-sm_90a
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry pairs --facts %s | FileCheck %s --check-prefix=PAIRS
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry single --facts %s | FileCheck %s --check-prefix=SINGLE
//
// The cluster is set at the launch: every block adds to its leader's sum.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void toLeader(const int *x, int *y) {
  __shared__ int sum[64];
  auto cluster = cooperative_groups::this_cluster();
  int *leader = cluster.map_shared_rank(sum, 0);
  sum[threadIdx.x] = 0;
  cluster.sync();
  atomicAdd(&leader[threadIdx.x], x[blockIdx.x * 64 + threadIdx.x]);
  cluster.sync();
  y[blockIdx.x * 64 + threadIdx.x] = sum[threadIdx.x];
}

static void launch(const int *x, int *y, unsigned blocks, cudaStream_t s) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(64);
  config.stream = s;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, toLeader, x, y);
}

// PAIRS: distributed_smem (op atomic)
// PAIRS-NOT: undecided: distributed_smem
void pairs(const int *x, int *y, cudaStream_t s) { launch(x, y, 2, s); }

// SINGLE-NOT: distributed_smem (
// SINGLE: near miss: distributed_smem
// SINGLE: makes no clusters of more than one block
void single(const int *x, int *y, cudaStream_t s) { launch(x, y, 1, s); }
