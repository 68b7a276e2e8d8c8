// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters and shared memory of other blocks.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// EXPECT dsSum: distributed_smem present op=load:
//   block sums read from the other blocks of the cluster
// EXPECT dsSum: cluster_launch present x=8 y=1 z=1: __cluster_dims__(8)
__global__ void __cluster_dims__(8, 1, 1) dsSum(const float4 *__restrict__ a, float *out, int n4) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float part;
  __shared__ float warp[8];
  float v = 0;
  for (int i = cl.block_rank() * 256 + threadIdx.x; i < n4; i += 8 * 256) {
    float4 q = a[(size_t)(blockIdx.x / 8) * n4 + i];
    v += q.x + q.y + q.z + q.w;
  }
  v = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), v, cg::plus<float>());
  if (threadIdx.x % 32 == 0)
    warp[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0;
    for (int i = 0; i < 8; ++i)
      s += warp[i];
    part = s;
  }
  cl.sync();
  if (cl.block_rank() == 0 && threadIdx.x == 0) {
    float s = 0;
    for (int r = 0; r < 8; ++r)
      s += *cl.map_shared_rank(&part, r);
    out[blockIdx.x / 8] = s;
  }
  cl.sync();
}

// EXPECT dsOwn: distributed_smem absent: mapped to the own rank: always the own block's memory
// EXPECT dsOwn: cluster_launch present x=2: cluster of 2 through an attribute of the launch
__global__ void dsOwn(const float *__restrict__ a, float *out) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  cl.sync();
  float *mine = cl.map_shared_rank(s, cl.block_rank());
  out[blockIdx.x * 256 + threadIdx.x] = mine[255 - threadIdx.x];
  cl.sync();
}

// EXPECT dsHisto: distributed_smem present op=atomic:
//   bins are spread over the blocks of the cluster
// EXPECT dsHisto: cluster_launch present x=4: launch attribute
__global__ void dsHisto(const int *__restrict__ a, int *bins, int n) {
  extern __shared__ int part[];
  cg::cluster_group cl = cg::this_cluster();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    part[i] = 0;
  cl.sync();
  // Bin 4 i + r lives in the block of rank r.
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned bin = a[i] & 4095;
    int *theirs = cl.map_shared_rank(part, bin & 3);
    atomicAdd(theirs + (bin >> 2), 1);
  }
  cl.sync();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    atomicAdd(&bins[4 * i + cl.block_rank()], part[i]);
}

// EXPECT dsArrive: distributed_smem absent: only a remote mbarrier arrive, no data
__global__ void __cluster_dims__(2) dsArrive(const float *__restrict__ a, float *out) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ uint64_t bar;
  if (threadIdx.x == 0)
    mbInit(&bar, 1);
  cl.sync();
  float v = a[blockIdx.x * 128 + threadIdx.x];
  if (threadIdx.x == 0) {
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(r)
                 : "r"(sa(&bar)), "r"(cl.block_rank() ^ 1));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(r)
                 : "memory");
  }
  MBWAIT(&bar, 0);
  out[blockIdx.x * 128 + threadIdx.x] = v * v;
  cl.sync();
}

// EXPECT dsUnused: distributed_smem absent:
//   the remote value is read and stored to a local nobody uses
__global__ void __cluster_dims__(2) dsUnused(const float *__restrict__ a, float *out) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[128], sink[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  cl.sync();
  volatile float *other = cl.map_shared_rank(s, cl.block_rank() ^ 1);
  sink[threadIdx.x] = other[threadIdx.x];
  out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x] + 1.f;
  cl.sync();
}

// EXPECT one: cluster_launch absent: cluster dimensions 1x1x1
__global__ void __cluster_dims__(1, 1, 1) one(const float *__restrict__ a, float *out) {
  out[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] * 2.f;
}

// EXPECT attrOne: cluster_launch absent:
//   launched through cudaLaunchKernelEx, the cluster attribute is prepared, but numAttrs is 0
__global__ void attrOne(const float *__restrict__ a, float *out) {
  out[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] * 3.f;
}

template <class... P, class... A>
void launchC(void (*k)(P...), int grid, int block, size_t sh, cudaStream_t st, int cluster,
             int attrs, A... args) {
  cudaLaunchConfig_t c = {};
  c.gridDim = grid;
  c.blockDim = block;
  c.dynamicSmemBytes = sh;
  c.stream = st;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeClusterDimension;
  at[0].val.clusterDim.x = cluster;
  at[0].val.clusterDim.y = 1;
  at[0].val.clusterDim.z = 1;
  c.attrs = at;
  c.numAttrs = attrs;
  cudaLaunchKernelEx(&c, k, (P)args...);
}

// EXPECT dsStore: distributed_smem present op=store:
//   transposition through the neighbour's shared memory
__global__ void __cluster_dims__(2) dsStore(const float *a, float *o) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[256];
  cl.sync();
  float *far = cl.map_shared_rank(s, cl.block_rank() ^ 1);
  far[255 - threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  cl.sync();
  o[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}

// EXPECT dsAll: distributed_smem present op=load:
//   every block reads all ranks in a loop (its own among them)
// EXPECT dsAll: cluster_launch present x=4: by launch attribute
__global__ void dsAll(const float *a, float *o) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  cl.sync();
  float v = 0;
  for (unsigned r = 0; r < cl.num_blocks(); ++r)
    v += cl.map_shared_rank(s, r)[threadIdx.x];
  o[blockIdx.x * 256 + threadIdx.x] = v;
  cl.sync();
}

// EXPECT dsZero: distributed_smem absent: the remote value times literal 0
__global__ void __cluster_dims__(2) dsZero(const float *a, float *o) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  cl.sync();
  float v = cl.map_shared_rank(s, cl.block_rank() ^ 1)[threadIdx.x] * 0.f;
  o[blockIdx.x * 256 + threadIdx.x] = v + s[255 - threadIdx.x];
  cl.sync();
}

// EXPECT dsStoreDead: distributed_smem absent:
//   stores into the neighbour's array, which is overwritten before it is read
__global__ void __cluster_dims__(2) dsStoreDead(const float *a, float *o) {
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[256];
  cl.sync();
  cl.map_shared_rank(s, cl.block_rank() ^ 1)[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  cl.sync();
  s[threadIdx.x] = a[blockIdx.x * 256 + 255 - threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 1];
}

// EXPECT mcOwn: tma absent multicast=true: the multicast mask has only the own block's bit
// EXPECT mcOwn: distributed_smem absent: own block only
__global__ void __cluster_dims__(2) __launch_bounds__(128) mcOwn(const float *a, float *o) {
  __shared__ alignas(128) float s[128];
  __shared__ uint64_t bar;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    mbInit(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    mbTx(&bar, 512);
    uint16_t mask = 1 << rank;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
            "r"(sa(s)),
        "l"(a + blockIdx.x * 128), "r"(512), "r"(sa(&bar)), "h"(mask)
        : "memory");
  }
  __syncthreads();
  MBWAIT(&bar, 0);
  o[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}

// EXPECT mcBoth: tma present multicast=true: mask 3 in a cluster of 2
// EXPECT mcBoth: distributed_smem present op=multicast: both blocks get it
__global__ void __cluster_dims__(2) __launch_bounds__(128) mcBoth(const float *a, float *o) {
  __shared__ alignas(128) float s[128];
  __shared__ uint64_t bar;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    mbInit(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    mbTx(&bar, 512);
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0 && rank == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
            "r"(sa(s)),
        "l"(a + blockIdx.x / 2 * 128), "r"(512), "r"(sa(&bar)), "h"((uint16_t)3)
        : "memory");
  MBWAIT(&bar, 0);
  o[blockIdx.x * 128 + threadIdx.x] = s[127 - threadIdx.x];
}

// EXPECT dsWrap: distributed_smem absent: (rank + 2) % 2 in a cluster of 2 is the own rank
__global__ void __cluster_dims__(2) dsWrap(const float *a, float *o) {
  namespace cg = cooperative_groups;
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  cl.sync();
  unsigned r = (cl.block_rank() + 2) % 2;
  o[blockIdx.x * 128 + threadIdx.x] = cl.map_shared_rank(s, r)[127 - threadIdx.x];
  cl.sync();
}

// EXPECT dsAlone: distributed_smem absent: rank 0 of a cluster of one block is the own block
__global__ void dsAlone(const float *a, float *o) {
  namespace cg = cooperative_groups;
  cg::cluster_group cl = cg::this_cluster();
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  cl.sync();
  o[blockIdx.x * 128 + threadIdx.x] = cl.map_shared_rank(s, 0)[127 - threadIdx.x];
  cl.sync();
}

static void runPart1(float *a, float *b, float **o, cudaStream_t st) {
  dsSum<<<64 * 8, 256, 0, st>>>((float4 *)a, o[0], 65536);
  launchC(dsOwn, 64, 256, 0, st, 2, 1, a, o[1]);
  launchC(dsHisto, 128, 256, 4096, st, 4, 1, (int *)a, (int *)o[2], 1 << 20);
  dsArrive<<<64, 128, 0, st>>>(a, o[3]);
  dsUnused<<<64, 128, 0, st>>>(a, o[4]);
  one<<<64, 128, 0, st>>>(a, o[5]);
  launchC(attrOne, 64, 128, 0, st, 4, 0, a, o[6]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  dsStore<<<64, 256, 0, s>>>(a, o[7]);
  cudaLaunchConfig_t c = {};
  c.gridDim = 64;
  c.blockDim = 256;
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeClusterDimension;
  at[0].val.clusterDim = {4, 1, 1};
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, dsAll, (const float *)a, o[8]);
  dsZero<<<64, 256, 0, s>>>(a, o[9]);
  dsStoreDead<<<64, 256, 0, s>>>(a, o[10]);
}

static void runPart3(float *x, float *y, float **o, cudaStream_t s) {
  mcOwn<<<64, 128, 0, s>>>(x, o[11]);
  mcBoth<<<64, 128, 0, s>>>(x, o[12]);
  dsWrap<<<64, 128, 0, s>>>(x, o[13]);
  dsAlone<<<64, 128, 0, s>>>(x, o[14]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
