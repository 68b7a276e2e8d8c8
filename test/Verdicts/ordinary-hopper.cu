// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary kernels that use bulk copies and clusters, without products.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

__device__ __forceinline__ void cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ float far(const float *p, uint32_t rank) {
  uint32_t at;
  float v;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(sa(p)), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at));
  return v;
}
__device__ __forceinline__ float warpSum(float v) {
  for (int o = 16; o; o /= 2)
    v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ __forceinline__ void begin(uint64_t *bar) {
  if (threadIdx.x == 0) {
    mbInit(bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
}

// EXPECT normalized: distributed_smem present op=load: sums of the other block of the cluster
// EXPECT normalized: cluster_launch present x=2 y=1 z=1: __cluster_dims__
// EXPECT normalized: register_tiling absent: one sum of squares
// EXPECT normalized: smem_tiling absent: partial sums only
// EXPECT normalized: warp_specialization absent: all warps run the same code
// EXPECT normalized: tma absent: no copy of the TMA unit
__global__ void __cluster_dims__(2) __launch_bounds__(256) normalized(const float *x, float *y) {
  __shared__ float part[8], all;
  size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  float v = x[at], q = warpSum(v * v);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = q;
  __syncthreads();
  if (threadIdx.x == 0) {
    q = 0;
    for (int i = 0; i < 8; ++i)
      q += part[i];
    all = q;
  }
  cluster();
  float f = rsqrtf((all + far(&all, rank ^ 1)) / 512);
  cluster();
  y[at] = v * f;
}

// EXPECT gathered: tma present op=load dims=0: the row that an index names
// EXPECT gathered: bulk_store_epilogue absent: what the copy brought goes out by the threads
// EXPECT gathered: async_copy present mechanism=bulk: a row a block
// EXPECT gathered: distributed_smem absent: the block's own memory
// EXPECT gathered: tensor_core absent: no product
__global__ void __launch_bounds__(256) gathered(const float *table, const int *index, float *o) {
  __shared__ alignas(128) float row[1024];
  __shared__ uint64_t full;
  begin(&full);
  if (threadIdx.x == 0) {
    mbTx(&full, sizeof(row));
    bulkLoad(row, table + (size_t)index[blockIdx.x] * 1024, sizeof(row), &full);
  }
  MBWAIT(&full, 0);
  for (int i = threadIdx.x; i < 1024; i += 256)
    o[(size_t)blockIdx.x * 1024 + i] = row[i] * 0.5f;
}

// EXPECT passedOn: bulk_store_epilogue absent: what a copy brought goes out again: no results
// EXPECT passedOn: tma present op=load dims=0: rows come by bulk copies
// EXPECT passedOn: epilogue_fusion absent: no product
__global__ void __launch_bounds__(32) passedOn(const float *a, float *o, int rows) {
  __shared__ alignas(128) float row[2][1024];
  __shared__ uint64_t full[2];
  if (threadIdx.x == 0) {
    mbInit(&full[0], 1);
    mbInit(&full[1], 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    for (int r = 0; r < rows; ++r) {
      if (r >= 2)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      size_t at = ((size_t)blockIdx.x * rows + r) * 1024;
      mbTx(&full[r & 1], 4096);
      bulkLoad(row[r & 1], a + at, 4096, &full[r & 1]);
      MBWAIT(&full[r & 1], r >> 1 & 1);
      bulkStore(o + at, row[r & 1], 4096);
      bulkCommit();
    }
    bulkWait();
  }
}

// EXPECT added: bulk_store_epilogue present op=reduce:
//   row sums are added to memory by the copy unit
// EXPECT added: tma present op=reduce: the reducing copy
// EXPECT added: register_tiling absent: one sum a thread
// EXPECT added: coalesced_global_access present direction=load share=1: consecutive
__global__ void __launch_bounds__(256) added(const float *a, float *o) {
  __shared__ alignas(128) float sum[256];
  float v = 0;
#pragma unroll
  for (int r = 0; r < 64; ++r)
    v += a[((size_t)blockIdx.x * 64 + r) * 256 + threadIdx.x];
  sum[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(o),
        "r"(sa(sum)), "r"(1024)
        : "memory");
    bulkCommit();
    bulkWait();
  }
}

// EXPECT halo: smem_tiling present: each element is read by three threads
// EXPECT halo: tma present op=load dims=0: the tile and its borders in one copy
// EXPECT halo: tensor_core absent: three scalar products
// EXPECT halo: persistent_kernel absent: a tile a block
__global__ void __launch_bounds__(256) halo(const float *a, float *o) {
  __shared__ alignas(128) float tile[264];
  __shared__ uint64_t full;
  begin(&full);
  if (threadIdx.x == 0) {
    mbTx(&full, sizeof(tile));
    bulkLoad(tile, a + (size_t)blockIdx.x * 256, sizeof(tile), &full);
  }
  MBWAIT(&full, 0);
  o[(size_t)blockIdx.x * 256 + threadIdx.x] =
      0.25f * tile[threadIdx.x] + 0.5f * tile[threadIdx.x + 1] + 0.25f * tile[threadIdx.x + 2];
}

// EXPECT ranked: distributed_smem present op=load: every block reads the counts of all four
// EXPECT ranked: cluster_launch present x=4: __cluster_dims__
// EXPECT ranked: smem_tiling absent: counts of the blocks, no input data
__global__ void __cluster_dims__(4) __launch_bounds__(256) ranked(const float *x, int *o) {
  __shared__ float count;
  __shared__ int votes;
  if (threadIdx.x == 0)
    votes = 0;
  __syncthreads();
  bool big = x[(size_t)blockIdx.x * 256 + threadIdx.x] > 0.5f;
  unsigned mask = __ballot_sync(~0u, big);
  if (threadIdx.x % 32 == 0)
    atomicAdd(&votes, __popc(mask));
  __syncthreads();
  if (threadIdx.x == 0)
    count = (float)votes;
  cluster();
  float before = 0;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (uint32_t r = 0; r < rank; ++r)
    before += far(&count, r);
  cluster();
  if (threadIdx.x == 0)
    o[blockIdx.x] = (int)before;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  normalized<<<128, 256, 0, s>>>(a, o[0]);
  gathered<<<64, 256, 0, s>>>(a, (int *)b, o[1]);
  passedOn<<<64, 32, 0, s>>>(a, o[2], 64);
  added<<<64, 256, 0, s>>>(a, o[3]);
  halo<<<64, 256, 0, s>>>(a, o[4]);
  ranked<<<64, 256, 0, s>>>(a, (int *)o[5]);
}
