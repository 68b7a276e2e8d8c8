// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions that only the caller knows, in the forms in which machine code has them: branches,
// guarded instructions and choices. A mechanism that one side leaves out is none of the kernel.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>

// EXPECT bitOfMode: packed_math not-present: a bit of the caller's mode; else the value is kept
__global__ void bitOfMode(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (mode & 2)
    v = __hmul2(v, v);
  o[i] = v;
}

// EXPECT eitherWay: packed_math present type=f16x2: both ways are packed
__global__ void eitherWay(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (mode & 2)
    v = __hmul2(v, v);
  else
    v = __hadd2(v, v);
  o[i] = v;
}

// EXPECT chosen: packed_math not-present: computed by all, chosen when the caller says so
__global__ void chosen(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], w = __hmul2(v, v);
  o[i] = mode > 5 ? w : v;
}

// EXPECT chosenOfTwo: packed_math present type=f16x2: the square or the double, both packed
__global__ void chosenOfTwo(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], w = __hmul2(v, v), u = __hadd2(v, v);
  o[i] = mode > 5 ? w : u;
}

// EXPECT ownOutput: packed_math present type=f16x2:
//   squares go to an output of their own, which is written with them or not at all
__global__ void ownOutput(const __half2 *a, __half2 *o, __half2 *squares, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (mode == 5)
    squares[i] = __hmul2(v, v);
  o[i] = v;
}

// EXPECT powers: packed_math present type=f16x2: as often as the caller says
__global__ void powers(const __half2 *a, __half2 *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], p = v;
  for (int k = 0; k < n; ++k)
    p = __hmul2(p, v);
  o[i] = p;
}

// EXPECT everyThread: packed_math present type=f16x2: data, not the caller, chooses
__global__ void everyThread(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (__low2float(v) > 0)
    v = __hmul2(v, v);
  o[i] = v;
}

// EXPECT bulkByMode: bulk_store_epilogue not-present: threads store when the caller says so
__global__ void __launch_bounds__(256) bulkByMode(const float *a, float *o, int mode) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 3.f;
  if (mode > 7) {
    o[blockIdx.x * 256 + threadIdx.x] = v;
    return;
  }
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
    bulkCommit();
    bulkWait();
  }
}

// EXPECT bulkOrNothing: bulk_store_epilogue present op=bulk: else nothing is stored at all
__global__ void __launch_bounds__(256) bulkOrNothing(const float *a, float *o, int mode) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 3.f;
  if (mode > 7)
    return;
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
    bulkCommit();
    bulkWait();
  }
}

__device__ __forceinline__ float fromPeer(const float *s) {
  uint32_t r, rank;
  float v;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(sa(s)), "r"(rank ^ 1));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(r));
  return v;
}

// EXPECT peerByMode: distributed_smem not-present: the own value unless the caller says so
__global__ void __cluster_dims__(2) peerByMode(const float *a, float *o, int mode) {
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  float v = s[127 - threadIdx.x];
  if (mode > 5)
    v += fromPeer(&s[threadIdx.x]);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  o[blockIdx.x * 128 + threadIdx.x] = v;
}

// EXPECT peerAlways: distributed_smem present op=load: the caller only chooses a factor
__global__ void __cluster_dims__(2) peerAlways(const float *a, float *o, int mode) {
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  float v = s[127 - threadIdx.x] + fromPeer(&s[threadIdx.x]);
  if (mode > 5)
    v *= 3.f;
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  o[blockIdx.x * 128 + threadIdx.x] = v;
}

// EXPECT oneBlockBulk: bulk_store_epilogue absent: block 3 alone has a bulk store
__global__ void __launch_bounds__(256) oneBlockBulk(const float *a, float *o) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 3.f;
  if (blockIdx.x != 3)
    o[blockIdx.x * 256 + threadIdx.x] = v;
  else {
    s[threadIdx.x] = v;
    fenceAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
      bulkCommit();
      bulkWait();
    }
  }
}

void run(float *a, float *b, float **o, int mode, cudaStream_t s) {
  const __half2 *h = (__half2 *)a;
  bitOfMode<<<64, 256, 0, s>>>(h, (__half2 *)o[0], mode);
  eitherWay<<<64, 256, 0, s>>>(h, (__half2 *)o[1], mode);
  chosen<<<64, 256, 0, s>>>(h, (__half2 *)o[2], mode);
  chosenOfTwo<<<64, 256, 0, s>>>(h, (__half2 *)o[3], mode);
  ownOutput<<<64, 256, 0, s>>>(h, (__half2 *)o[4], (__half2 *)o[5], mode);
  powers<<<64, 256, 0, s>>>(h, (__half2 *)o[6], mode);
  everyThread<<<64, 256, 0, s>>>(h, (__half2 *)o[7]);
  bulkByMode<<<64, 256, 0, s>>>(a, o[8], mode);
  bulkOrNothing<<<64, 256, 0, s>>>(a, o[9], mode);
  peerByMode<<<64, 128, 0, s>>>(a, o[10], mode);
  peerAlways<<<64, 128, 0, s>>>(a, o[11], mode);
  oneBlockBulk<<<64, 256, 0, s>>>(a, o[12]);
}
