// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mechanisms on ways that few blocks, warps or threads take, or that the launch leaves out.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// EXPECT fcVec: vector_global_access absent direction=load:
//   vector path under mode == 5; launched with 0
__global__ void fcVec(const float *a, float *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float s;
  if (mode == 5) {
    float4 v = ((const float4 *)a)[i];
    s = v.x + v.y + v.z + v.w;
  } else
    s = a[4 * i] + a[4 * i + 1] + a[4 * i + 2] * a[4 * i + 3];
  o[i] = s;
}

// EXPECT fcPacked: packed_math absent: packed path only when mode == 5
__global__ void fcPacked(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (mode == 5)
    v = __hmul2(v, v);
  else {
    float2 f = __half22float2(v);
    v = __floats2half2_rn(f.x * f.x, f.y * f.y);
  }
  o[i] = v;
}

// EXPECT fcSmem: smem_tiling absent: tiled path only when mode == 5
__global__ void __launch_bounds__(256) fcSmem(const float *a, float *o, int mode) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float v;
  if (mode == 5) {
    s[threadIdx.x] = a[i];
    __syncthreads();
    v = s[threadIdx.x] + s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
  } else
    v = a[i] + a[i ^ 1] * a[i ^ 2];
  o[i] = v;
}

// EXPECT fcBulk: bulk_store_epilogue absent: bulk store only when mode == 5, else plain
__global__ void __launch_bounds__(256) fcBulk(const float *a, float *o, int mode) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
  if (mode == 5) {
    s[threadIdx.x] = v;
    fenceAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
      bulkCommit();
      bulkWait();
    }
  } else
    o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT fcDs: distributed_smem absent: remote read only when mode == 5
__global__ void __cluster_dims__(2) fcDs(const float *a, float *o, int mode) {
  __shared__ float s[128];
  s[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  float v = s[127 - threadIdx.x];
  if (mode == 5) {
    uint32_t r, rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(r)
                 : "r"(sa(&s[threadIdx.x])), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(r));
  }
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  o[blockIdx.x * 128 + threadIdx.x] = v;
}

// EXPECT fcEpi: epilogue_fusion absent: the maximum stands under mode == 5; the launch passes 0
__global__ void fcEpi(const float *a, const float *b, float *o, int k, int mode) {
  float s = 0;
  for (int i = 0; i < k; ++i)
    s += a[blockIdx.x * k + i] * b[i * 256 + threadIdx.x];
  if (mode == 5)
    s = fmaxf(s, 0.f);
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT biasNull: epilogue_fusion absent: the bias is nullptr in the launch: nothing is added
__global__ void __launch_bounds__(256)
    biasNull(const float *a, const float *b, float *c, const float *bias, int n, int k) {
  __shared__ float A[16][17], B[16][17];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float s = 0;
  for (int i = 0; i < k; i += 16) {
    A[ty][tx] = a[(size_t)(blockIdx.y * 16 + ty) * k + i + tx];
    B[ty][tx] = b[(size_t)(i + ty) * n + blockIdx.x * 16 + tx];
    __syncthreads();
    for (int j = 0; j < 16; ++j)
      s += A[ty][j] * B[j][tx];
    __syncthreads();
  }
  if (bias)
    s += bias[blockIdx.x * 16 + tx];
  c[(size_t)(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = s;
}

// EXPECT biasSet: epilogue_fusion present: the same kernel, launched with a bias
__global__ void __launch_bounds__(256)
    biasSet(const float *a, const float *b, float *c, const float *bias, int n, int k) {
  __shared__ float A[16][17], B[16][17];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float s = 0;
  for (int i = 0; i < k; i += 16) {
    A[ty][tx] = a[(size_t)(blockIdx.y * 16 + ty) * k + i + tx];
    B[ty][tx] = b[(size_t)(i + ty) * n + blockIdx.x * 16 + tx];
    __syncthreads();
    for (int j = 0; j < 16; ++j)
      s += A[ty][j] * B[j][tx];
    __syncthreads();
  }
  if (bias)
    s += bias[blockIdx.x * 16 + tx];
  c[(size_t)(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = s;
}

// EXPECT bdim: packed_math absent: packed only if blockDim.x == 1024; launched with 256
__global__ void bdim(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 v = a[i];
  if (blockDim.x == 1024)
    v = __hmul2(v, v);
  o[i] = v;
}

struct P {
  int mode, pad;
  const float *x;
  float *y;
};

// EXPECT strct: fast_math absent: mode is a member of a structure parameter, 0 at the launch
__global__ void strct(P p) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = p.x[i];
  if (p.mode == 9)
    v = __cosf(v);
  p.y[i] = v * 2.f;
}

// EXPECT early: smem_tiling absent:
//   the launch passes mode 0, for which the kernel returns before the tile
__global__ void __launch_bounds__(256) early(const float *a, float *o, int mode) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  if (mode == 0) {
    o[i] = a[i] * 2.f;
    return;
  }
  s[threadIdx.x] = a[i];
  __syncthreads();
  o[i] = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
}

// EXPECT sel: packed_math absent: select by the launch parameter without a branch
__global__ void sel(const __half2 *a, __half2 *o, int mode) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], w = __hmul2(v, v);
  unsigned x = *(unsigned *)&v, y = *(unsigned *)&w;
  o[i] = *(__half2 *)&(x = mode == 5 ? y : x);
}

// EXPECT zeroScale: packed_math absent: packed result times a parameter that is 0.f at the launch
__global__ void zeroScale(const __half2 *a, float *o, float z) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i], w = __hmul2(v, v);
  float2 f = __half22float2(v);
  o[i] = f.x * f.y + z * __low2float(w);
}

// EXPECT blk0s: smem_tiling absent: tiled only in block 0
__global__ void __launch_bounds__(256) blk0s(const float *a, float *o) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float v;
  if (blockIdx.x == 0) {
    s[threadIdx.x] = a[i];
    __syncthreads();
    v = s[threadIdx.x ^ 1] + s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3];
  } else
    v = a[i ^ 1] + a[i ^ 2] + a[i ^ 3];
  o[i] = v;
}

// EXPECT blk0p: packed_math absent: packed only in block 0
__global__ void blk0p(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (blockIdx.x == 0)
    v = __hmul2(v, v);
  else {
    float2 f = __half22float2(v);
    v = __floats2half2_rn(f.x * f.x, f.y * f.y);
  }
  o[i] = v;
}

// EXPECT blk0v: vector_global_access absent direction=load share=1: 16-byte loads only in block 0
__global__ void blk0v(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v;
  if (blockIdx.x == 0) {
    float4 q = ((const float4 *)a)[i];
    v = q.x + q.y + q.z + q.w;
  } else
    v = a[4 * i] + a[4 * i + 1] + a[4 * i + 2] * 3.f + a[4 * i + 3];
  o[i] = v;
}

// EXPECT blk0b: bulk_store_epilogue absent: bulk store only in block 0
__global__ void __launch_bounds__(256) blk0b(const float *a, float *o) {
  __shared__ alignas(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
  if (blockIdx.x == 0) {
    s[threadIdx.x] = v;
    fenceAsync();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulkStore(o + (size_t)blockIdx.x * 256, s, 1024);
      bulkCommit();
      bulkWait();
    }
  } else
    o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT blk0f: fast_math absent: intrinsic only in block 0
__global__ void blk0f(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = a[i];
  if (blockIdx.x == 0)
    v = __sinf(v);
  else
    v = v * v;
  o[i] = v;
}

// EXPECT w0p: packed_math absent: packed only in warp 0 of 8
__global__ void __launch_bounds__(256) w0p(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 v = a[i];
  if (threadIdx.x < 32)
    v = __hmul2(v, v);
  else {
    float2 f = __half22float2(v);
    v = __floats2half2_rn(f.x * f.x, f.y * f.y);
  }
  o[i] = v;
}

// EXPECT t0f: fast_math absent: intrinsic only in thread 0 of a block
__global__ void __launch_bounds__(256) t0f(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = a[i];
  if (threadIdx.x == 0)
    v = __sinf(v);
  else
    v = v * v;
  o[i] = v;
}

// EXPECT t0inv: fast_math present op=rsqrt:
//   thread 0 computes the row's 1/rms by asm rsqrt.approx, all use it through shared memory
__global__ void __launch_bounds__(256) t0inv(const float *a, float *o) {
  __shared__ float part[8], inv;
  float v = a[blockIdx.x * 256 + threadIdx.x], s = v * v;
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0;
    for (int i = 0; i < 8; ++i)
      t += part[i];
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(inv) : "f"(t));
  }
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = v * inv;
}

// EXPECT lastCp: async_copy absent:
//   cp.async only for the last tile of 64 (i == 63), plain loads otherwise
__global__ void __launch_bounds__(256) lastCp(const float *a, float *o) {
  __shared__ float s[256];
  float v = 0;
  for (int i = 0; i < 64; ++i) {
    if (i == 63) {
      __pipeline_memcpy_async(&s[threadIdx.x], a + i * 256 + threadIdx.x, 4);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else
      s[threadIdx.x] = a[i * 256 + threadIdx.x];
    __syncthreads();
    v += s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT rowMaskFast: fast_math present op=exp:
//   masked softmax element: exp only where the mask is set, 0 elsewhere
__global__ void __launch_bounds__(256) rowMaskFast(const float *a, const int *mask, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = 0;
  if (mask[i])
    v = __expf(a[i]);
  o[i] = v;
}

// EXPECT boundsPacked: packed_math present type=f16x2:
//   bounds check n, pairs; the last odd element in scalar half
__global__ void boundsPacked(const __half *a, __half *o, int n) {
  int i = (blockIdx.x * 256 + threadIdx.x) * 2;
  if (i + 1 < n)
    *(__half2 *)(o + i) = __hmul2(*(const __half2 *)(a + i), *(const __half2 *)(a + i));
  else if (i < n)
    o[i] = __hmul(a[i], a[i]);
}

static void runPart1(float *a, float *b, float **o, cudaStream_t s) {
  fcVec<<<64, 256, 0, s>>>(a, o[0], 0);
  fcPacked<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[1], 0);
  fcSmem<<<64, 256, 0, s>>>(a, o[2], 0);
  fcBulk<<<64, 256, 0, s>>>(a, o[3], 0);
  fcDs<<<64, 128, 0, s>>>(a, o[4], 0);
  fcEpi<<<64, 256, 0, s>>>(a, b, o[5], 4096, 0);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  biasNull<<<dim3(128, 128), 256, 0, s>>>(a, b, o[6], nullptr, 2048, 2048);
  biasSet<<<dim3(128, 128), 256, 0, s>>>(a, b, o[7], b, 2048, 2048);
  bdim<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[8]);
  P p = {0, 0, a, o[9]};
  strct<<<64, 256, 0, s>>>(p);
  early<<<64, 256, 0, s>>>(a, o[10], 0);
  sel<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[11], 0);
  zeroScale<<<64, 256, 0, s>>>((__half2 *)a, o[12], 0.f);
  blk0s<<<64, 256, 0, s>>>(a, o[13]);
  blk0p<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[14]);
  blk0v<<<64, 256, 0, s>>>(a, o[15]);
  blk0b<<<64, 256, 0, s>>>(a, o[16]);
  blk0f<<<64, 256, 0, s>>>(a, o[17]);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  w0p<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[18]);
  t0f<<<64, 256, 0, s>>>(a, o[19]);
  t0inv<<<64, 256, 0, s>>>(a, o[20]);
  lastCp<<<64, 256, 0, s>>>(a, o[21]);
  rowMaskFast<<<64, 256, 0, s>>>(a, (int *)b, o[22]);
  boundsPacked<<<64, 256, 0, s>>>((__half *)a, (__half *)o[23], 32767);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
