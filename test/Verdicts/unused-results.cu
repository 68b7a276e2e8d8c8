// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mechanisms whose results are overwritten, multiplied by zero, or go to memory that nobody
// reads.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// EXPECT owVec: vector_global_access absent:
//   a 16-byte load feeds a store that the same thread overwrites with scalar work
__global__ void owVec(const float4 *a, const float *b, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = a[i];
  volatile float *q = o;
  q[i] = v.x + v.y + v.z + v.w;
  q[i] = b[i * 2];
}

// EXPECT owPacked: packed_math absent: packed result stored first, float result over it
__global__ void owPacked(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  __half2 t = __hmul2(v, v);
  volatile unsigned *q = (volatile unsigned *)o;
  q[i] = *(unsigned *)&t;
  float2 f = __half22float2(v);
  __half2 u = __floats2half2_rn(f.x * f.x, f.y * f.y);
  q[i] = *(unsigned *)&u;
}

// EXPECT owDsmem: distributed_smem absent: remote value stored, own value over it
__global__ void __cluster_dims__(2) owDsmem(const float *a, float *o) {
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  uint32_t r;
  float v;
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(r)
               : "r"(sa(&s[threadIdx.x])), "r"(rank ^ 1));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(r));
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  volatile float *q = o + blockIdx.x * 128 + threadIdx.x;
  *q = v;
  *q = s[127 - threadIdx.x];
}

// EXPECT owBulk: bulk_store_epilogue absent:
//   the bulk store is complete, then the threads store other results over all of it
__global__ void __launch_bounds__(256) owBulk(const float *a, float *o) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x];
  s[threadIdx.x] = v * 2.f;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
    bulkCommit();
    bulkWait();
  }
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = v * v;
}

// EXPECT owCp: async_copy absent:
//   cp.async tile is summed, stored, overwritten by a sum from plain loads
__global__ void __launch_bounds__(256) owCp(const float *a, float *o) {
  __shared__ float s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], a + blockIdx.x * 256 + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  volatile float *q = o + blockIdx.x * 256 + threadIdx.x;
  *q = s[threadIdx.x] + s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2];
  const float *b = a + blockIdx.x * 256;
  *q = b[threadIdx.x] + b[threadIdx.x ^ 1] + b[threadIdx.x ^ 2];
}

// EXPECT owSmem: smem_tiling absent: the sum of the tile is overwritten by one of plain loads
__global__ void __launch_bounds__(256) owSmem(const float *a, float *o) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  volatile float *q = o + blockIdx.x * 256 + threadIdx.x;
  *q = s[threadIdx.x] + s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2];
  const float *b = a + blockIdx.x * 256;
  *q = b[threadIdx.x] + b[threadIdx.x ^ 1] + b[threadIdx.x ^ 2];
}

// EXPECT zPacked: packed_math absent: packed result times literal 0, added to a scalar result
__global__ void zPacked(const __half2 *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], t = __hfma2(v, v, v);
  float2 f = __half22float2(v);
  o[i] = f.x * f.y + 0.f * __low2float(t);
}

// EXPECT zFast: fast_math absent: intrinsic's result times literal 0
__global__ void zFast(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  float e = __expf(x);
  o[i] = x * x + 0.f * e;
}

// EXPECT zSmem: smem_tiling absent: the tile's sum times literal 0
__global__ void __launch_bounds__(256) zSmem(const float *a, float *o) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float t = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
  o[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x * 256 + 255 - threadIdx.x] * 2.f + t * 0.f;
}

// EXPECT zCp: async_copy absent: times literal 0
__global__ void __launch_bounds__(256) zCp(const float *a, float *o) {
  __shared__ float s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], a + blockIdx.x * 256 + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] =
      a[blockIdx.x * 256 + 255 - threadIdx.x] * 2.f + s[threadIdx.x ^ 1] * 0.f;
}

// EXPECT zFill: async_copy absent:
//   cp.async with source size 0 (all 16 bytes zero-filled): no input data is copied
__global__ void __launch_bounds__(256) zFill(const float4 *a, float4 *o) {
  __shared__ float4 s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], a + blockIdx.x * 256 + threadIdx.x, 16, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  float4 v = a[blockIdx.x * 256 + threadIdx.x], w = s[threadIdx.x ^ 1];
  o[blockIdx.x * 256 + threadIdx.x] = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
}

// EXPECT xVec: vector_global_access in ptx absent: 16-byte loads feed scratch only
__global__ void xVec(const float4 *a, const float *b, float *o, float *scratch) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = a[i];
  scratch[i] = v.x + v.y + v.z + v.w;
  o[i] = b[i * 3] * 2.f;
}

// EXPECT xPacked: packed_math in ptx absent: packed feeds scratch only
__global__ void xPacked(const __half2 *a, float *o, __half2 *scratch) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  scratch[i] = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[i] = f.x * f.y;
}

// EXPECT xFast: fast_math in ptx absent: intrinsic feeds scratch only
__global__ void xFast(const float *a, float *o, float *scratch) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i];
  scratch[i] = __sinf(x);
  o[i] = x * x;
}

// EXPECT xSmem: smem_tiling in ptx absent: tile feeds scratch only
__global__ void __launch_bounds__(256) xSmem(const float *a, float *o, float *scratch) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = a[i];
  __syncthreads();
  scratch[i] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
  o[i] = a[i] * 2.f;
}

// EXPECT xMma: tensor_core in ptx absent:
//   mma feeds scratch only, the output is a scalar dot product
__global__ void xMma(const bf *a, const bf *b, float *c, int n, int k, float *scratch) {
  int l = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    for (int j = 0; j < 4; ++j)
      fa[j] = *(const unsigned *)(a + (size_t)(blockIdx.y * 8 + l / 4) * k + i + j * 4);
    for (int j = 0; j < 2; ++j)
      fb[j] = *(const unsigned *)(b + (size_t)(blockIdx.x * 4 + l % 4) * k + i + j * 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  scratch[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + l] = d[0] + d[1] + d[2] + d[3];
  float s = 0;
  for (int i = 0; i < k; ++i)
    s += __bfloat162float(a[(size_t)(blockIdx.y * 8 + l / 4) * k + i]) *
         __bfloat162float(b[(size_t)(blockIdx.x * 4 + l % 4) * k + i]);
  c[(size_t)(blockIdx.y * 8 + l / 4) * n + blockIdx.x * 4 + l % 4] = s;
}

// EXPECT xMmaNorm: tensor_core in ptx absent:
//   mma feeds scratch only, the output is elementwise (no rival product)
__global__ void xMmaNorm(const bf *a, const bf *b, float *c, int n, int k, float *scratch) {
  int l = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    for (int j = 0; j < 4; ++j)
      fa[j] = *(const unsigned *)(a + (size_t)(blockIdx.y * 8 + l / 4) * k + i + j * 4);
    for (int j = 0; j < 2; ++j)
      fb[j] = *(const unsigned *)(b + (size_t)(blockIdx.x * 4 + l % 4) * k + i + j * 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  scratch[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + l] = d[0] + d[1] + d[2] + d[3];
  c[(size_t)(blockIdx.y * 8 + l / 4) * n + blockIdx.x * 4 + l % 4] = __bfloat162float(a[l]) * 0.5f;
}

// EXPECT xCp: async_copy in ptx absent: cp.async tile feeds scratch only
__global__ void __launch_bounds__(256) xCp(const float *a, float *o, float *scratch) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  __pipeline_memcpy_async(&s[threadIdx.x], a + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  scratch[i] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2];
  o[i] = a[i] * 2.f;
}

// EXPECT wholeScratch: tensor_core in ptx absent: the whole kernel writes memory that nobody reads
__global__ void wholeScratch(const bf *a, const bf *b, float *scratch, int k) {
  int l = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    for (int j = 0; j < 4; ++j)
      fa[j] = *(const unsigned *)(a + (size_t)(blockIdx.y * 8 + l / 4) * k + i + j * 4);
    for (int j = 0; j < 2; ++j)
      fb[j] = *(const unsigned *)(b + (size_t)(blockIdx.x * 4 + l % 4) * k + i + j * 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  scratch[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + l] = d[0] + d[1] + d[2] + d[3];
}

static void runPart1(float *a, float *b, float **o, cudaStream_t s) {
  owVec<<<64, 256, 0, s>>>((float4 *)a, b, o[0]);
  owPacked<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[1]);
  owDsmem<<<64, 128, 0, s>>>(a, o[2]);
  owBulk<<<64, 256, 0, s>>>(a, o[3]);
  owCp<<<64, 256, 0, s>>>(a, o[4]);
  owSmem<<<64, 256, 0, s>>>(a, o[5]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  zPacked<<<64, 256, 0, s>>>((__half2 *)a, o[6]);
  zFast<<<64, 256, 0, s>>>(a, o[7]);
  zSmem<<<64, 256, 0, s>>>(a, o[8]);
  zCp<<<64, 256, 0, s>>>(a, o[9]);
  zFill<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[10]);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  static float *scratch = [] {
    float *p;
    cudaMalloc(&p, 64 << 20);
    return p;
  }();
  xVec<<<64, 256, 0, s>>>((float4 *)a, b, o[11], scratch);
  xPacked<<<64, 256, 0, s>>>((__half2 *)a, o[12], (__half2 *)scratch);
  xFast<<<64, 256, 0, s>>>(a, o[13], scratch);
  xSmem<<<64, 256, 0, s>>>(a, o[14], scratch);
  xMma<<<dim3(512, 256), 32, 0, s>>>((bf *)a, (bf *)b, o[15], 2048, 4096, scratch);
  xMmaNorm<<<dim3(512, 256), 32, 0, s>>>((bf *)a, (bf *)b, o[16], 2048, 4096, scratch);
  xCp<<<64, 256, 0, s>>>(a, o[17], scratch);
  wholeScratch<<<dim3(512, 256), 32, 0, s>>>((bf *)a, (bf *)b, scratch, 4096);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
