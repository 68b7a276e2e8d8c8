// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies in and out, clusters' shared memory, prefetches, multicast.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

constexpr int N = 1024; // words a row

#define ONE_BARRIER                       \
  __shared__ __align__(8) uint64_t bar;   \
  if (threadIdx.x == 0) {                 \
    mbInit(&bar, 1);                      \
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); \
  }                                       \
  __syncthreads()

// EXPECT rowOut: bulk_store_epilogue present op=bulk: results leave by a bulk store
// EXPECT rowOut: tma present op=store dims=0: the same
// EXPECT rowOut: async_copy absent: into shared memory by the threads
__global__ void __launch_bounds__(256) rowOut(const float *a, float *c) {
  __shared__ __align__(128) float s[N];
  for (int i = threadIdx.x; i < N; i += 256)
    s[i] = a[(size_t)blockIdx.x * N + i] * 2.f + 1.f;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(c + (size_t)blockIdx.x * N, s, N * 4);
    bulkCommit();
    bulkWait();
  }
}

// EXPECT rowBoth: bulk_store_epilogue absent:
//   the input goes to a second buffer by bulk store, results by the threads
// EXPECT rowBoth: tma present op=load dims=0: comes by a bulk copy
// EXPECT rowBoth: async_copy present mechanism=bulk: comes by a bulk copy
__global__ void __launch_bounds__(256) rowBoth(const float *a, float *c, float *copy) {
  __shared__ __align__(128) float s[N];
  ONE_BARRIER;
  if (threadIdx.x == 0) {
    mbTx(&bar, N * 4);
    bulkLoad(s, a + (size_t)blockIdx.x * N, N * 4, &bar);
  }
  MBWAIT(&bar, 0);
  if (threadIdx.x == 0) {
    bulkStore(copy + (size_t)blockIdx.x * N, s, N * 4);
    bulkCommit();
    bulkWait();
  }
  for (int i = threadIdx.x; i < N; i += 256)
    c[(size_t)blockIdx.x * N + i] = s[i] * 2.f + 1.f;
}

// EXPECT rowAdded: bulk_store_epilogue present op=reduce: results are added by a reducing bulk copy
// EXPECT rowAdded: tma present op=reduce: the same
__global__ void __launch_bounds__(256) rowAdded(const float *a, float *c) {
  __shared__ __align__(128) float s[N];
  for (int i = threadIdx.x; i < N; i += 256)
    s[i] = a[(size_t)blockIdx.x * N + i] * 2.f + 1.f;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(c),
                 "r"(sa(s)), "r"(N * 4)
                 : "memory");
    bulkCommit();
    bulkWait();
  }
}

// EXPECT rowLate: bulk_store_epilogue absent:
//   what the bulk store takes is zeros; the threads write results behind it
// EXPECT rowLate: tma absent op=store: no results
__global__ void __launch_bounds__(256) rowLate(const float *a, float *c) {
  __shared__ __align__(128) float s[N];
  for (int i = threadIdx.x; i < N; i += 256)
    s[i] = 0.f;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(c + (size_t)blockIdx.x * N, s, N * 4);
    bulkCommit();
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 256)
    c[(size_t)blockIdx.x * N + i] = a[(size_t)blockIdx.x * N + i] * 2.f + 1.f;
}

template <int OTHER> __device__ __forceinline__ void exchange(const float *a, float *c) {
  __shared__ float s[256];
  uint32_t rank, at;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(at)
               : "r"(sa(&s[255 - threadIdx.x])), "r"(rank ^ OTHER));
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
  c[blockIdx.x * 256 + threadIdx.x] = v * 2.f;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
// EXPECT fromOther: distributed_smem present op=load: rank ^ 1 is the other block
// EXPECT fromOther: cluster_launch in ptx present x=2: __cluster_dims__
__global__ void __cluster_dims__(2) fromOther(const float *a, float *c) { exchange<1>(a, c); }
// EXPECT fromOwn: distributed_smem absent: rank ^ 0 is the own block
__global__ void __cluster_dims__(2) fromOwn(const float *a, float *c) { exchange<0>(a, c); }

// EXPECT pushed: distributed_smem present op=store: st.async to the other block
// EXPECT pushed: smem_tiling absent: each value is read once
__global__ void __cluster_dims__(2) __launch_bounds__(256) pushed(const float *a, float *c) {
  __shared__ float s[256];
  ONE_BARRIER;
  uint32_t rank, at, b;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0)
    mbTx(&bar, 1024);
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(sa(&s[threadIdx.x])), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(sa(&bar)), "r"(rank ^ 1));
  float v = a[blockIdx.x * 256 + threadIdx.x] * 3.f;
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(at),
               "f"(v), "r"(b)
               : "memory");
  MBWAIT(&bar, 0);
  c[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

template <int OWN> __device__ __forceinline__ void cast(const float *a, float *c) {
  __shared__ __align__(128) float s[N];
  ONE_BARRIER;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0)
    mbTx(&bar, N * 4);
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
  const float *from = a + (size_t)(OWN ? blockIdx.x : blockIdx.x / 2) * N;
  if (threadIdx.x == 0 && (OWN || rank == 0)) {
    uint16_t mask = OWN ? (uint16_t)(1 << rank) : (uint16_t)3;
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::
            "r"(sa(s)),
        "l"(from), "r"(N * 4), "r"(sa(&bar)), "h"(mask)
        : "memory");
  }
  MBWAIT(&bar, 0);
  for (int i = threadIdx.x; i < N; i += 256)
    c[(size_t)blockIdx.x * N + i] = s[N - 1 - i] * (rank + 2.f);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
// EXPECT toBoth: tma present op=load multicast=true: the mask has both blocks
// EXPECT toBoth: distributed_smem present op=multicast: to the other block, too
__global__ void __cluster_dims__(2) __launch_bounds__(256) toBoth(const float *a, float *c) { cast<0>(a, c); }
// EXPECT toOwn: tma present op=load multicast=false: the mask is the own block
// EXPECT toOwn: distributed_smem absent: the own block
__global__ void __cluster_dims__(2) __launch_bounds__(256) toOwn(const float *a, float *c) { cast<1>(a, c); }

// EXPECT early: tma present op=prefetch: the next row's bytes are asked for into L2
// EXPECT early: async_copy absent: loads by the threads
__global__ void __launch_bounds__(256) early(const float *a, float *c, int rows) {
  float v = 0;
  for (int r = 0; r < rows; ++r) {
    const float *row = a + ((size_t)blockIdx.x * rows + r) * 256;
    if (threadIdx.x == 0 && r + 1 < rows)
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(row + 256), "r"(1024) : "memory");
    v = v * 0.5f + row[threadIdx.x];
  }
  c[blockIdx.x * 256 + threadIdx.x] = v;
}
// EXPECT linesOnly: tma absent: prefetch of a line into L2 by a thread is no copy of the TMA unit
__global__ void __launch_bounds__(256) linesOnly(const float *a, float *c, int rows) {
  float v = 0;
  for (int r = 0; r < rows; ++r) {
    const float *row = a + ((size_t)blockIdx.x * rows + r) * 256;
    if (r + 1 < rows)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(row + 256 + threadIdx.x) : "memory");
    v = v * 0.5f + row[threadIdx.x];
  }
  c[blockIdx.x * 256 + threadIdx.x] = v;
}

void run(const float *a, float **o, cudaStream_t s) {
  rowOut<<<1024, 256, 0, s>>>(a, o[0]);
  rowBoth<<<1024, 256, 0, s>>>(a, o[1], o[2]);
  rowAdded<<<1024, 256, 0, s>>>(a, o[3]);
  rowLate<<<1024, 256, 0, s>>>(a, o[4]);
  fromOther<<<1024, 256, 0, s>>>(a, o[5]);
  fromOwn<<<1024, 256, 0, s>>>(a, o[6]);
  pushed<<<1024, 256, 0, s>>>(a, o[7]);
  toBoth<<<1024, 256, 0, s>>>(a, o[8]);
  toOwn<<<1024, 256, 0, s>>>(a, o[9]);
  early<<<1024, 256, 0, s>>>(a, o[10], 64);
  linesOnly<<<1024, 256, 0, s>>>(a, o[11], 64);
}
