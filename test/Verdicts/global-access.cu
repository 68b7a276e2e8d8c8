// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Width and coalescing of accesses to global memory.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>

// EXPECT histo: smem_tiling absent: shared bins are no staged input
// EXPECT histo: coalesced_global_access present direction=load: one uchar4 a thread
__global__ void histo(const uchar4 *__restrict__ a, unsigned *bins, int n) {
  __shared__ unsigned h[256];
  h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    uchar4 v = a[i];
    atomicAdd(&h[v.x], 1u);
    atomicAdd(&h[v.y], 1u);
    atomicAdd(&h[v.z], 1u);
    atomicAdd(&h[v.w], 1u);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}

// EXPECT treeSum: smem_tiling absent: block reduction of sums: partial results, not staged data
// EXPECT treeSum: vector_global_access present direction=load bytes=16 share=1: float4 loads only
__global__ void treeSum(const float4 *__restrict__ a, float *b, int n4) {
  __shared__ float s[256];
  float v = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n4; i += gridDim.x * 256) {
    float4 q = a[i];
    v += q.x + q.y + q.z + q.w;
  }
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = 128; o; o >>= 1) {
    if (threadIdx.x < o)
      s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (!threadIdx.x)
    b[blockIdx.x] = s[0];
}

struct P {
  float x, y, z, w;
};

// EXPECT aos: coalesced_global_access absent:
//   one field of a 16-byte structure: 16 sectors for the 4 needed
__global__ void aos(const P *__restrict__ a, float *b, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g < n)
    b[g * 4 + 1] = sqrtf(a[g].y);
}

// EXPECT rowPerThread: coalesced_global_access absent: a thread walks its own row of 1024 floats
__global__ void rowPerThread(const float *__restrict__ a, float *b, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int i = 0; i < 1024; ++i)
    s += a[(size_t)g * 1024 + i];
  b[(size_t)g * 1024] = s;
}

struct Q {
  float v[4];
};

// EXPECT unalignedVec: vector_global_access absent:
//   the structure looks like 16 bytes, but has alignment 4: four loads
__global__ void unalignedVec(const Q *__restrict__ a, Q *b, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  Q q = a[g];
  for (int i = 0; i < 4; ++i)
    q.v[i] = q.v[i] * 2.f + 1.f;
  b[g] = q;
}

// EXPECT memcpyVec: vector_global_access present direction=load bytes=16:
//   __builtin_memcpy through an aligned array
// EXPECT memcpyVec: vector_global_access present direction=store bytes=8: half of the width out
__global__ void memcpyVec(const float *__restrict__ a, __half *b, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  alignas(16) float in[4];
  *reinterpret_cast<int4 *>(in) = __ldg(reinterpret_cast<const int4 *>(a) + g);
  alignas(8) __half out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    out[i] = __float2half(tanhf(in[i]));
  *reinterpret_cast<uint2 *>(b + 4 * g) = *reinterpret_cast<uint2 *>(out);
}

// EXPECT vecIndex: vector_global_access absent:
//   the 16-byte load is a table of indices, the data is gathered 4 bytes at a time
// EXPECT vecIndex: coalesced_global_access absent direction=load: the data is gathered
__global__ void vecIndex(const int4 *__restrict__ idx, const float *__restrict__ a, float *b) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  int4 i = idx[g];
  b[g] = a[i.x] + a[i.y] + a[i.z] + a[i.w];
}

// EXPECT coReverse: coalesced_global_access present direction=load share=1:
//   reversed order is coalesced
__global__ void coReverse(const float *a, float *o) {
  o[blockIdx.x * 256 + threadIdx.x] = sqrtf(a[blockIdx.x * 256 + 255 - threadIdx.x]);
}

// EXPECT coPair: coalesced_global_access present direction=load share=1:
//   xor 1 permutes within a warp
__global__ void coPair(const float *a, float *o) {
  o[blockIdx.x * 256 + threadIdx.x] = sqrtf(a[blockIdx.x * 256 + (threadIdx.x ^ 1)]);
}

// EXPECT coBlock: coalesced_global_access absent direction=load:
//   thread-blocked: each thread owns 4 neighbours, scalar loads a[4 t + j]: 16 sectors a load
__global__ void coBlock(const float *a, float *o) {
  int t = blockIdx.x * 256 + threadIdx.x;
  float v = 0;
  volatile const float *p = a;
  for (int j = 0; j < 4; ++j)
    v += p[4 * t + j];
  o[t] = v;
}

// EXPECT coCol: coalesced_global_access absent direction=load:
//   lanes walk down columns of 2048 floats
__global__ void coCol(const float *a, float *o) {
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  o[y * 2048 + x] = sqrtf(a[(size_t)x * 2048 + y]);
}

// EXPECT coTile8: coalesced_global_access present direction=load share=1:
//   block (8, 32): 4 rows of 8 floats = 4 sectors for 128 bytes: minimum
__global__ void coTile8(const float *a, float *o) {
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  o[y * 2048 + x] = sqrtf(a[(size_t)y * 2048 + x]);
}

// EXPECT partVec: vector_global_access absent direction=load bytes=16 share=1:
//   16-byte loads of which one word is used; ptxas narrows them
__global__ void partVec(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x, y, z, w;
  asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
               : "l"(a + 4 * i));
  o[i] = x * 2.f;
}

#define LOAD4(x, y, z, w, from)                                                      \
  asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];"                               \
               : "=f"(x), "=f"(y), "=f"(z), "=f"(w)                                  \
               : "l"(from))

// EXPECT upperHalf: vector_global_access in ptx present direction=load bytes=8:
//   16-byte loads of which the last two words are used
// EXPECT upperHalf: vector_global_access in ptx absent direction=load bytes=16: only half of it
__global__ void upperHalf(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x, y, z, w;
  LOAD4(x, y, z, w, a + 4 * i);
  o[i] = z * w;
}

// EXPECT bothEnds: vector_global_access in ptx present direction=load bytes=16:
//   the first and the last word: no narrower load has both
__global__ void bothEnds(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x, y, z, w;
  LOAD4(x, y, z, w, a + 4 * i);
  o[i] = x * w;
}

// EXPECT lastWord: vector_global_access in ptx absent direction=load: one word of four is used
__global__ void lastWord(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x, y, z, w;
  LOAD4(x, y, z, w, a + 4 * i);
  o[i] = w * 2.f;
}

// EXPECT spmv: coalesced_global_access absent direction=load share=1:
//   CSR vector: x is gathered by column index
// EXPECT spmv: vector_global_access absent: scalar loads
__global__ void spmv(const int *rp, const int *ci, const float *v, const float *x, float *y) {
  int row = (blockIdx.x * 256 + threadIdx.x) / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = rp[row] + l; i < rp[row + 1]; i += 32)
    s += v[i] * x[ci[i]];
  for (int o = 16; o; o /= 2)
    s += __shfl_xor_sync(~0u, s, o);
  if (!l)
    y[row] = s;
}

// EXPECT twiceVec: vector_global_access present direction=load bytes=16:
//   uint4 of 8 halves, RMS norm
// EXPECT twiceVec: packed_math absent: halves are converted, arithmetic is in float
// EXPECT twiceVec: coalesced_global_access present direction=load share=1: consecutive
__global__ void __launch_bounds__(128)
    twiceVec(const uint4 *x, const uint4 *w, uint4 *y, float eps) {
  __shared__ float r[4];
  uint4 v = x[(size_t)blockIdx.x * 128 + threadIdx.x], g = w[threadIdx.x];
  const __half2 *h = (const __half2 *)&v, *q = (const __half2 *)&g;
  float s = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 f = __half22float2(h[i]);
    s += f.x * f.x + f.y * f.y;
  }
  for (int o = 16; o; o /= 2)
    s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0)
    r[threadIdx.x / 32] = s;
  __syncthreads();
  float inv = rsqrtf((r[0] + r[1] + r[2] + r[3]) / 1024 + eps);
  uint4 z;
  __half2 *p = (__half2 *)&z;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 f = __half22float2(h[i]), k = __half22float2(q[i]);
    p[i] = __floats2half2_rn(f.x * inv * k.x, f.y * inv * k.y);
  }
  y[(size_t)blockIdx.x * 128 + threadIdx.x] = z;
}

// EXPECT swiglu: fast_math absent: plain expf
// EXPECT swiglu: register_tiling absent: elementwise
// EXPECT swiglu: vector_global_access present direction=store bytes=8: half4 out
__global__ void swiglu(const uint2 *g, const uint2 *u, uint2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint2 a = g[i], b = u[i], c;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float2 x = __half22float2(((__half2 *)&a)[j]), y = __half22float2(((__half2 *)&b)[j]);
    x.x = x.x / (1.f + expf(-x.x)) * y.x;
    x.y = x.y / (1.f + expf(-x.y)) * y.y;
    ((__half2 *)&c)[j] = __floats2half2_rn(x.x, x.y);
  }
  o[i] = c;
}

// EXPECT embed: coalesced_global_access present direction=store share=1:
//   rows of an embedding table gathered by token, one row a block
// EXPECT embed: vector_global_access present direction=load bytes=16: float4 rows
// EXPECT embed: coalesced_global_access present direction=load share=1: a warp reads one row
__global__ void embed(const int *tok, const float4 *table, float4 *o, int d4) {
  int t = tok[blockIdx.x];
  for (int i = threadIdx.x; i < d4; i += blockDim.x)
    o[(size_t)blockIdx.x * d4 + i] = table[(size_t)t * d4 + i];
}

// EXPECT scatter: coalesced_global_access absent direction=store: stores at data-dependent places
__global__ void scatter(const int *idx, const float *x, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[idx[i]] = x[i] * 2.f;
}

// EXPECT vecTail: vector_global_access present direction=load bytes=16: float4 body and scalar tail
__global__ void vecTail(const float *a, float *o, int n) {
  int t = blockIdx.x * 256 + threadIdx.x, st = gridDim.x * 256, n4 = n / 4;
  for (int i = t; i < n4; i += st) {
    float4 v = ((const float4 *)a)[i];
    v.x *= 2;
    v.y *= 2;
    v.z *= 2;
    v.w *= 2;
    ((float4 *)o)[i] = v;
  }
  for (int i = n4 * 4 + t; i < n; i += st)
    o[i] = a[i] * 2;
}

static void runPart1(float *p, float *q, int n, cudaStream_t st, float **o) {
  histo<<<132, 256, 0, st>>>((uchar4 *)p, (unsigned *)o[0], 1 << 24);
  treeSum<<<132, 256, 0, st>>>((float4 *)p, o[1], 1 << 24);
  aos<<<64, 256, 0, st>>>((P *)p, o[2], 16384);
  rowPerThread<<<64, 256, 0, st>>>(p, o[3], 16384);
  unalignedVec<<<64, 256, 0, st>>>((Q *)p, (Q *)o[4], 16384);
  memcpyVec<<<64, 256, 0, st>>>(p, (__half *)o[5], 16384);
  vecIndex<<<64, 256, 0, st>>>((int4 *)p, q, o[6]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  coReverse<<<64, 256, 0, s>>>(a, o[7]);
  coPair<<<64, 256, 0, s>>>(a, o[8]);
  coBlock<<<64, 256, 0, s>>>(a, o[9]);
  coCol<<<dim3(256, 64), dim3(8, 32), 0, s>>>(a, o[10]);
  coTile8<<<dim3(256, 64), dim3(8, 32), 0, s>>>(a, o[11]);
  coReverse<<<64, 256, 0, s>>>(a, o[12]);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  partVec<<<64, 256, 0, s>>>(a, o[13]);
  upperHalf<<<64, 256, 0, s>>>(a, o[21]);
  bothEnds<<<64, 256, 0, s>>>(a, o[22]);
  lastWord<<<64, 256, 0, s>>>(a, o[23]);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  spmv<<<64, 256, 0, s>>>((int *)a, (int *)b, a, b, o[14]);
}

static void runPart5(float *a, float *b, float **o, cudaStream_t s) {
  twiceVec<<<64, 128, 0, s>>>((uint4 *)a, (uint4 *)b, (uint4 *)o[15], 1e-6f);
  swiglu<<<64, 256, 0, s>>>((uint2 *)a, (uint2 *)b, (uint2 *)o[16]);
  embed<<<64, 128, 0, s>>>((int *)a, (float4 *)b, (float4 *)o[17], 1024);
  scatter<<<64, 256, 0, s>>>((int *)a, b, o[18]);
}

static void runPart6(float *a, float *b, float **o, cudaStream_t s) {
  vecTail<<<132, 256, 0, s>>>(a, o[19], (1 << 20) + 3);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, 0, s, o);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
  runPart4(a, b, o, s);
  runPart5(a, b, o, s);
  runPart6(a, b, o, s);
}
