// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mechanisms whose results cannot change the output, in forms that need more than one step to see.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define PLACE int i = blockIdx.x * 256 + threadIdx.x

// EXPECT pairThenWords: packed_math absent: a pair is stored at once, then both halves of it again
__global__ void __launch_bounds__(256) pairThenWords(const __half2 *a, __half *o) {
  PLACE;
  __half2 v = a[i], t = __hmul2(v, v);
  volatile unsigned *whole = (volatile unsigned *)o;
  volatile unsigned short *halves = (volatile unsigned short *)o;
  whole[i] = *(unsigned *)&t;
  float2 f = __half22float2(v);
  halves[2 * i] = __half_as_ushort(__float2half(f.x * f.x));
  halves[2 * i + 1] = __half_as_ushort(__float2half(f.y * f.y));
}

// EXPECT byOtherThread: fast_math absent: behind the barrier another thread stores over the result
__global__ void __launch_bounds__(256) byOtherThread(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = __sinf(x);
  __syncthreads();
  o[blockIdx.x * 256 + 255 - threadIdx.x] = x * x;
}

// EXPECT exchanged: fast_math absent: an atomic exchange replaces the result
__global__ void __launch_bounds__(256) exchanged(const float *a, float *o) {
  PLACE;
  float x = a[i];
  o[i] = __logf(x);
  atomicExch(&o[i], x * x);
}

// EXPECT noSuchThread: packed_math absent: a block of 256 has no thread 256
__global__ void __launch_bounds__(256) noSuchThread(const __half2 *a, float *o) {
  PLACE;
  float2 f = __half22float2(a[i]);
  float r = f.x * f.y;
  if (threadIdx.x >= 256)
    r = __low2float(__hmul2(a[i], a[i]));
  o[i] = r;
}

// EXPECT highBits: tensor_core absent: a block of 32 threads has none whose number has a sixth bit
__global__ void __launch_bounds__(32) highBits(const bf *a, const bf *b, float *c, int k) {
  int l = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    const bf *p = a + (size_t)(l / 4) * k + i + l % 4 * 2,
             *q = b + (size_t)(l / 4) * k + i + l % 4 * 2;
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(*(const unsigned *)p), "r"(*(const unsigned *)(p + 8 * k)),
          "r"(*(const unsigned *)(p + 8)), "r"(*(const unsigned *)(p + 8 * k + 8)),
          "r"(*(const unsigned *)q), "r"(*(const unsigned *)(q + 8)));
  }
  float none = (float)(threadIdx.x >> 5);
  c[blockIdx.x * 32 + l] =
      __bfloat162float(a[l]) * 2.f + (none != 0.f ? d[0] + d[1] + d[2] + d[3] : 0.f);
}

// EXPECT onlyTrap: fast_math absent: the result decides about a trap only
__global__ void __launch_bounds__(256) onlyTrap(const float *a, float *o) {
  PLACE;
  float x = a[i];
  if (__expf(x) < 0.f)
    __trap();
  o[i] = x * 2.f;
}

// EXPECT onlyCheck: vector_global_access absent direction=load:
//   the 16 bytes are only checked for a trap
__global__ void __launch_bounds__(256) onlyCheck(const float4 *a, const float *b, float *o) {
  PLACE;
  float4 v = a[i];
  if (v.x == 1e30f && v.y == 1e30f && v.z == 1e30f && v.w == 1e30f)
    __trap();
  o[i] = b[i] * 3.f;
}

// EXPECT copiedBack: async_copy absent: the tile is overwritten from registers before it is read
__global__ void __launch_bounds__(256) copiedBack(const float *a, const float *b, float *o) {
  __shared__ float s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], a + blockIdx.x * 256 + threadIdx.x, 4);
  __pipeline_commit();
  float v = b[blockIdx.x * 256 + threadIdx.x];
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int j = threadIdx.x; j < 256; j += 256)
    s[j] = v;
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 3];
}

// EXPECT tileOfNumbers: smem_tiling absent: what is staged are thread numbers
// EXPECT tileOfNumbers: smem_swizzle absent: no data is staged
__global__ void __launch_bounds__(256) tileOfNumbers(const float *a, float *o) {
  __shared__ int s[256];
  s[threadIdx.x ^ 5] = threadIdx.x * 7 & 255;
  __syncthreads();
  PLACE;
  o[i] = a[blockIdx.x * 256 + s[threadIdx.x ^ 1]] + a[blockIdx.x * 256 + s[threadIdx.x ^ 2]] +
         a[blockIdx.x * 256 + s[threadIdx.x ^ 3]];
}

// EXPECT oneTrip: persistent_kernel absent: as many tiles as blocks: every block makes one
__global__ void __launch_bounds__(256)
    oneTrip(const float *a, const float *b, float *o, int tiles, int k) {
  __shared__ float s[256];
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    float v = 0;
    for (int j = 0; j < k; ++j) {
      s[threadIdx.x] = a[((size_t)t * k + j) * 256 + threadIdx.x];
      __syncthreads();
      v += s[threadIdx.x ^ 1] * b[j] + s[threadIdx.x ^ 2];
      __syncthreads();
    }
    o[t * 256 + threadIdx.x] = v;
  }
}

// EXPECT clusterOfOne: distributed_smem absent: the launch makes clusters of one block
// EXPECT clusterOfOne: cluster_launch absent: one block is no cluster
__global__ void __launch_bounds__(256) clusterOfOne(const float *a, float *o) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  uint32_t rank, size, far;
  float v;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(far)
               : "r"(sa(&s[threadIdx.x ^ 1])), "r"((rank + 1) % size));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(far));
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT ringOfFlags: async_pipeline absent:
//   the copied tiles decide about nothing; the data comes by plain loads
// EXPECT ringOfFlags: async_copy absent: what is copied reaches no output
__global__ void __launch_bounds__(256)
    ringOfFlags(const float *a, const float *b, float *o, int k) {
  __shared__ float s[2][256];
  float v = 0, seen = 0;
  __pipeline_memcpy_async(&s[0][threadIdx.x], a + threadIdx.x, 4);
  __pipeline_commit();
  for (int i = 0; i < k; ++i) {
    if (i + 1 < k)
      __pipeline_memcpy_async(&s[(i + 1) & 1][threadIdx.x], a + (i + 1) * 256 + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    seen += s[i & 1][threadIdx.x ^ 1] * 0.f;
    v += a[i * 256 + (threadIdx.x ^ 1)] * b[i];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v + seen;
}

// EXPECT sumOfNothing: register_tiling absent: fifteen of sixteen sums are divided by infinity
__global__ void __launch_bounds__(64)
    sumOfNothing(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  float s[4][4] = {};
  int r = (blockIdx.y * 8 + threadIdx.x / 8) * 4, q = (blockIdx.x * 8 + threadIdx.x % 8) * 4;
  for (int i = 0; i < k; ++i) {
    float x[4], y[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      x[j] = a[(size_t)i * n + r + j];
      y[j] = b[(size_t)i * n + q + j];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int v = 0; v < 4; ++v)
        s[u][v] += x[u] * y[v];
  }
  float sum = s[0][0];
#pragma unroll
  for (int e = 1; e < 16; ++e)
    sum += s[e / 4][e % 4] / INFINITY;
  c[(blockIdx.y * gridDim.x + blockIdx.x) * 64 + threadIdx.x] = sum;
}

// EXPECT shuffledAway: fast_math absent:
//   every lane takes the value of lane 0, which has no intrinsic in it
__global__ void __launch_bounds__(256) shuffledAway(const float *a, float *o) {
  PLACE;
  float x = a[i];
  float v = threadIdx.x % 32 == 0 ? x * x : __cosf(x);
  o[i] = __shfl_sync(~0u, v, 0);
}

// EXPECT emptyCopy: tma absent: the bulk copy is of zero bytes
__global__ void __launch_bounds__(256) emptyCopy(const float *a, float *o) {
  __shared__ alignas(128) float s[256];
  __shared__ uint64_t full;
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  if (threadIdx.x == 0) {
    mbInit(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
    mbTx(&full, 0);
    bulkLoad(s, a, 0, &full);
  }
  __syncthreads();
  MBWAIT(&full, 0);
  o[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  pairThenWords<<<64, 256, 0, s>>>((__half2 *)a, (__half *)o[0]);
  byOtherThread<<<64, 256, 0, s>>>(a, o[1]);
  exchanged<<<64, 256, 0, s>>>(a, o[2]);
  noSuchThread<<<64, 256, 0, s>>>((__half2 *)a, o[3]);
  highBits<<<64, 32, 0, s>>>((bf *)a, (bf *)b, o[4], 1024);
  onlyTrap<<<64, 256, 0, s>>>(a, o[5]);
  onlyCheck<<<64, 256, 0, s>>>((float4 *)a, b, o[6]);
  copiedBack<<<64, 256, 0, s>>>(a, b, o[7]);
  tileOfNumbers<<<64, 256, 0, s>>>(a, o[8]);
  oneTrip<<<132, 256, 0, s>>>(a, b, o[9], 132, 512);
  cudaLaunchConfig_t c = {};
  c.gridDim = 64;
  c.blockDim = 256;
  c.stream = s;
  cudaLaunchAttribute at[1];
  at[0].id = cudaLaunchAttributeClusterDimension;
  at[0].val.clusterDim = {1, 1, 1};
  c.attrs = at;
  c.numAttrs = 1;
  cudaLaunchKernelEx(&c, clusterOfOne, (const float *)a, o[10]);
  ringOfFlags<<<64, 256, 0, s>>>(a, b, o[11], 64);
  sumOfNothing<<<dim3(32, 32), 64, 0, s>>>(a, b, o[12], 1024, 2048);
  shuffledAway<<<64, 256, 0, s>>>(a, o[13]);
  emptyCopy<<<64, 256, 0, s>>>(a, o[14]);
}
