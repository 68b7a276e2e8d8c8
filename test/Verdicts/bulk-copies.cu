// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk loads and stores.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda/ptx>
#include <cuda_pipeline.h>

// EXPECT bulkCopy: bulk_store_epilogue absent:
//   what the bulk load brought goes out again: a copy, no results
// EXPECT bulkCopy: tma present op=load dims=0: cp.async.bulk
__global__ void __launch_bounds__(128) bulkCopy(const float *a, float *out) {
  __shared__ alignas(128) float s[4096];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    mbInit(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    mbTx(&bar, 16384);
    bulkLoad(s, a + (size_t)blockIdx.x * 4096, 16384, &bar);
    MBWAIT(&bar, 0);
    bulkStore(out + (size_t)blockIdx.x * 4096, s, 16384);
    bulkCommit();
    bulkWait();
  }
}

// EXPECT bulkGelu: bulk_store_epilogue present op=bulk:
//   results in shared memory, then one bulk store
// EXPECT bulkGelu: tma present op=store: the store back
// EXPECT bulkGelu: vector_global_access present direction=load bytes=16: float4 loads
__global__ void __launch_bounds__(256) bulkGelu(const float4 *__restrict__ a, float *out) {
  __shared__ alignas(128) float4 s[256];
  float4 v = a[blockIdx.x * 256 + threadIdx.x];
  v.x = v.x * normcdff(v.x);
  v.y *= normcdff(v.y);
  v.z *= normcdff(v.z);
  v.w *= normcdff(v.w);
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(out + (size_t)blockIdx.x * 1024, s, 4096);
    bulkCommit();
    bulkWait();
  }
}

// EXPECT bulkZero: bulk_store_epilogue absent:
//   the bulk store writes zeros; the results are then stored by the threads
__global__ void __launch_bounds__(256) bulkZero(const float4 *__restrict__ a, float4 *out) {
  __shared__ alignas(128) float4 s[256];
  float4 v = a[blockIdx.x * 256 + threadIdx.x];
  v.x = v.x * normcdff(v.x);
  s[threadIdx.x] = make_float4(0, 0, 0, 0);
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(out + (size_t)blockIdx.x * 256, s, 4096);
    bulkCommit();
    bulkWait();
  }
  __syncthreads();
  out[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT bulkReduce: bulk_store_epilogue present op=reduce: cp.reduce.async.bulk adds to the output
__global__ void __launch_bounds__(256)
    bulkReduce(const float *__restrict__ a, const float *__restrict__ b, float *out) {
  __shared__ alignas(128) float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x] * b[threadIdx.x];
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out),
        "r"(sa(s)), "r"(1024)
        : "memory");
    bulkCommit();
    bulkWait();
  }
}

// EXPECT cpOver: async_copy absent:
//   the cp.async tile is overwritten by plain stores of other data before anyone reads it
__global__ void __launch_bounds__(256) cpOver(const float *a, const float *b, float *o) {
  __shared__ float s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], a + blockIdx.x * 256 + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  s[threadIdx.x] = b[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x ^ 1];
}

// EXPECT tmaOver: tma absent: the bulk copy's tile is overwritten by plain stores before it is read
__global__ void __launch_bounds__(256) tmaOver(const float *a, const float *b, float *o) {
  __shared__ alignas(128) float s[256];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    mbInit(&bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    mbTx(&bar, 1024);
    bulkLoad(s, a + blockIdx.x * 256, 1024, &bar);
  }
  __syncthreads();
  MBWAIT(&bar, 0);
  s[threadIdx.x] = b[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x] + s[threadIdx.x ^ 1];
}

__device__ __forceinline__ void ldm4(unsigned *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sa(p)));
}

// EXPECT ldmUnused: matrix_fragment_access absent: ldmatrix result is not used
__global__ void __launch_bounds__(32) ldmUnused(const uint4 *a, uint4 *o) {
  __shared__ uint4 s[32];
  s[threadIdx.x] = a[blockIdx.x * 32 + threadIdx.x];
  __syncwarp();
  unsigned r[4];
  ldm4(r, &s[threadIdx.x]);
  o[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];
}

// EXPECT ldmZero: matrix_fragment_access absent: ldmatrix of a shared array that holds constants
__global__ void __launch_bounds__(32) ldmZero(const uint4 *a, uint4 *o) {
  __shared__ uint4 s[32];
  s[threadIdx.x] = make_uint4(1, 2, 3, 4);
  __syncwarp();
  unsigned r[4];
  ldm4(r, &s[threadIdx.x]);
  uint4 v = a[blockIdx.x * 32 + threadIdx.x];
  o[blockIdx.x * 32 + threadIdx.x] = make_uint4(v.x + r[0], v.y + r[1], v.z + r[2], v.w + r[3]);
}

// EXPECT stmDead: matrix_fragment_access absent op=stmatrix: stmatrix into an array nobody reads
__global__ void __launch_bounds__(32) stmDead(const uint4 *a, uint4 *o) {
  __shared__ uint4 s[32];
  uint4 v = a[blockIdx.x * 32 + threadIdx.x];
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(sa(&s[threadIdx.x])),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
  o[blockIdx.x * 32 + threadIdx.x] = v;
}

// EXPECT stmLive: matrix_fragment_access present op=stmatrix:
//   fragments through shared memory, then out by rows
__global__ void __launch_bounds__(32) stmLive(const uint4 *a, uint4 *o) {
  __shared__ uint4 s[32];
  uint4 v = a[blockIdx.x * 32 + threadIdx.x];
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(sa(&s[threadIdx.x])),
      "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
  __syncwarp();
  o[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// EXPECT bulkZeroSize: bulk_store_epilogue absent: the bulk store copies 0 bytes; the threads store
__global__ void __launch_bounds__(256) bulkZeroSize(const float *a, float *o) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 256, s, 0);
    bulkCommit();
    bulkWait();
  }
  o[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

// EXPECT bulkOther: bulk_store_epilogue in ptx absent:
//   the bulk store goes to memory of the host function that nobody reads; the threads store the
//   results
__global__ void __launch_bounds__(256) bulkOther(const float *a, float *o, float *scratch) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(scratch + (size_t)blockIdx.x * 256, s, 1024);
    bulkCommit();
    bulkWait();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

namespace ptx = cuda::ptx;

// EXPECT ptxRing: async_pipeline present mechanism=tma depth=3:
//   cuda::ptx bulk copies into a ring of 3, reduction of rows
// EXPECT ptxRing: tma present op=load: cp.async.bulk
__global__ void __launch_bounds__(256) ptxRing(const float *a, float *o, int rows) {
  __shared__ alignas(128) float s[3][1024];
  __shared__ uint64_t full[3];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i)
      ptx::mbarrier_init(&full[i], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  const float *p = a + (size_t)blockIdx.x * rows * 1024;
  auto ask = [&](int r) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                     &full[r % 3], 4096);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s[r % 3], p + (size_t)r * 1024,
                         4096, &full[r % 3]);
    }
  };
  ask(0);
  ask(1);
  float w = threadIdx.x * 0.1f, v = 0;
  for (int r = 0; r < rows; ++r) {
    while (!ptx::mbarrier_try_wait_parity(&full[r % 3], r / 3 & 1)) {
    }
    for (int j = 0; j < 4; ++j)
      v = fmaf(s[r % 3][j * 256 + threadIdx.x], w, v * s[r % 3][j * 256 + 255 - threadIdx.x]);
    __syncthreads();
    if (r + 2 < rows)
      ask(r + 2);
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

static void runPart1(float *a, float *b, float **o, cudaStream_t st) {
  bulkCopy<<<64, 128, 0, st>>>(a, o[0]);
  bulkGelu<<<64, 256, 0, st>>>((float4 *)a, o[1]);
  bulkZero<<<64, 256, 0, st>>>((float4 *)a, (float4 *)o[2]);
  bulkReduce<<<64, 256, 0, st>>>(a, b, o[3]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  cpOver<<<64, 256, 0, s>>>(a, b, o[4]);
  tmaOver<<<64, 256, 0, s>>>(a, b, o[5]);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  ldmUnused<<<64, 32, 0, s>>>((uint4 *)a, (uint4 *)o[6]);
  ldmZero<<<64, 32, 0, s>>>((uint4 *)a, (uint4 *)o[7]);
  stmDead<<<64, 32, 0, s>>>((uint4 *)a, (uint4 *)o[8]);
  stmLive<<<64, 32, 0, s>>>((uint4 *)a, (uint4 *)o[9]);
  bulkZeroSize<<<64, 256, 0, s>>>(a, o[10]);
  static float *scratch = [] {
    float *p;
    cudaMalloc(&p, 1 << 20);
    return p;
  }();
  bulkOther<<<64, 256, 0, s>>>(a, o[11], scratch);
}

static void runPart4(int *d, int *e, float *a, float *o, cudaStream_t s) {
  ptxRing<<<64, 256, 0, s>>>(a, o, 256);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
  runPart4((int *)a, (int *)b, b, b, s);
}
