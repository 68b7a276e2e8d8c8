// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of sums in registers, of other types and sizes, and loads into registers ahead.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include <cuda_fp16.h>

#define GA const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k

// EXPECT twoSets: async_pipeline present mechanism=register_prefetch depth=3:
//   two sets of registers hold the next two tiles while one is multiplied
// EXPECT twoSets: async_copy absent: through registers
__global__ void __launch_bounds__(256) twoSets(GA) {
  __shared__ float A[BK][64], B[BK][64];
  AT;
  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  size_t step = (size_t)BK * n;
  float4 a0 = *(const float4 *)pa, b0 = *(const float4 *)pb;
  float4 a1 = *(const float4 *)(pa + step), b1 = *(const float4 *)(pb + step);
  for (int i = 0; i < k; i += 2 * BK) {
    *(float4 *)&A[r][q] = a0;
    *(float4 *)&B[r][q] = b0;
    __syncthreads();
    pa += 2 * step;
    pb += 2 * step;
    if (i + 2 * BK < k) {
      a0 = *(const float4 *)pa;
      b0 = *(const float4 *)pb;
    }
    fm(A, B, acc, ty, tx);
    __syncthreads();
    *(float4 *)&A[r][q] = a1;
    *(float4 *)&B[r][q] = b1;
    __syncthreads();
    if (i + 2 * BK < k) {
      a1 = *(const float4 *)(pa + step);
      b1 = *(const float4 *)(pb + step);
    }
    fm(A, B, acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

template <bool FIRST> __device__ __forceinline__ void ahead(GA) {
  __shared__ float A[BK][64], B[BK][64];
  AT;
  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  float4 ra = *(const float4 *)pa, rb = *(const float4 *)pb;
  for (int i = BK;; i += BK) {
    *(float4 *)&A[r][q] = ra;
    *(float4 *)&B[r][q] = rb;
    __syncthreads();
    pa += (size_t)BK * n;
    pb += (size_t)BK * n;
    if (FIRST && i < k) {
      ra = *(const float4 *)pa;
      rb = *(const float4 *)pb;
    }
    fm(A, B, acc, ty, tx);
    __syncthreads();
    if (!FIRST && i < k) {
      ra = *(const float4 *)pa;
      rb = *(const float4 *)pb;
    }
    if (i >= k)
      break;
  }
  put(c, acc, n, ty, tx);
}

// EXPECT loadFirst: async_pipeline present mechanism=register_prefetch depth=2:
//   the next tile is loaded before the products
// EXPECT loadFirst: vector_global_access present direction=load bytes=16: float4
__global__ void __launch_bounds__(256) loadFirst(GA) { ahead<true>(a, b, c, n, k); }

// EXPECT loadLast: async_pipeline absent: loaded behind the products and their barrier
// EXPECT loadLast: vector_global_access present direction=load bytes=16: float4
__global__ void __launch_bounds__(256) loadLast(GA) { ahead<false>(a, b, c, n, k); }

// A tile of 16 MT x 16 NT by 16 x 16 threads, T the type of the sums.
template <int MT, int NT, class T, class F>
__device__ __forceinline__ void tile(const T *a, const T *b, int n, int k, F put) {
  __shared__ T A[8][16 * MT], B[8][16 * NT];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  T acc[MT][NT] = {};
  for (int i = 0; i < k; i += 8) {
    for (int e = threadIdx.x; e < 8 * 16 * MT; e += 256)
      A[e / (16 * MT)][e % (16 * MT)] =
          a[(size_t)(i + e / (16 * MT)) * n + blockIdx.y * 16 * MT + e % (16 * MT)];
    for (int e = threadIdx.x; e < 8 * 16 * NT; e += 256)
      B[e / (16 * NT)][e % (16 * NT)] =
          b[(size_t)(i + e / (16 * NT)) * n + blockIdx.x * 16 * NT + e % (16 * NT)];
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; ++kk) {
      T x[MT], y[NT];
#pragma unroll
      for (int m = 0; m < MT; ++m)
        x[m] = A[kk][ty * MT + m];
#pragma unroll
      for (int m = 0; m < NT; ++m)
        y[m] = B[kk][tx * NT + m];
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int j = 0; j < NT; ++j)
          acc[m][j] += x[m] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = 0; m < MT; ++m)
#pragma unroll
    for (int j = 0; j < NT; ++j)
      put((blockIdx.y * 16 + ty) * MT + m, (blockIdx.x * 16 + tx) * NT + j, acc[m][j], m, j);
}

// EXPECT twoByTwo: register_tiling present accumulators=4:
//   four sums, four operands, each used twice
// EXPECT twoByTwo: smem_tiling present: each value is read by 16 threads
__global__ void __launch_bounds__(256) twoByTwo(GA) {
  tile<2, 2>(a, b, n, k, [&](int i, int j, float v, int, int) { c[(size_t)i * n + j] = v; });
}

// EXPECT fourByOne: register_tiling absent: four sums, but 8 uses of 5 values: 1.6
// EXPECT fourByOne: smem_tiling present: each value is read by 16 threads
__global__ void __launch_bounds__(256) fourByOne(GA) {
  tile<4, 1>(a, b, n, k, [&](int i, int j, float v, int, int) { c[(size_t)i * n + j] = v; });
}

// EXPECT doubles: register_tiling present accumulators=16: 4 x 4 doubles
__global__ void __launch_bounds__(256)
    doubles(const double *a, const double *b, double *c, int n, int k) {
  tile<4, 4>(a, b, n, k, [&](int i, int j, double v, int, int) { c[(size_t)i * n + j] = v; });
}

// EXPECT oneKept: register_tiling absent: 16 sums in the source, of which one is stored
__global__ void __launch_bounds__(256) oneKept(GA) {
  tile<4, 4>(a, b, n, k, [&](int i, int j, float v, int m, int q) {
    if (m == 3 && q == 3)
      c[(size_t)(i / 4) * n + j / 4] = v;
  });
}

// EXPECT allAdded: register_tiling absent:
//   16 products a step of 8 values go to one sum that is stored: one accumulator
__global__ void __launch_bounds__(256) allAdded(GA) {
  __shared__ float A[BK][64], B[BK][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, r = ty, q = tx * 4;
  float s = 0;
  for (int i = 0; i < k; i += BK) {
    *(float4 *)&A[r][q] = *(const float4 *)(a + (size_t)(i + r) * n + blockIdx.y * 64 + q);
    *(float4 *)&B[r][q] = *(const float4 *)(b + (size_t)(i + r) * n + blockIdx.x * 64 + q);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk)
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
          s = fmaf(A[kk][ty * 4 + x], B[kk][tx * 4 + y], s);
    __syncthreads();
  }
  c[(size_t)(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = s;
}

// EXPECT bytes: register_tiling in cubin present accumulators=16:
//   4 x 4 sums of dp4a; in PTX each asm volatile loads its own operands
// EXPECT bytes: tensor_core absent: no matrix instruction
// EXPECT bytes: packed_math absent: dp4a is no two-wide arithmetic
__global__ void __launch_bounds__(256) bytes(const int *a, const int *b, int *c, int n, int k) {
  __shared__ int A[BK][64], B[BK][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, r = ty, q = tx * 4;
  int s[4][4] = {};
  for (int i = 0; i < k; i += BK) {
    *(int4 *)&A[r][q] = *(const int4 *)(a + (size_t)(i + r) * n + blockIdx.y * 64 + q);
    *(int4 *)&B[r][q] = *(const int4 *)(b + (size_t)(i + r) * n + blockIdx.x * 64 + q);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk)
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
          s[x][y] = __dp4a(A[kk][ty * 4 + x], B[kk][tx * 4 + y], s[x][y]);
    __syncthreads();
  }
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int y = 0; y < 4; ++y)
      c[(size_t)(blockIdx.y * 64 + ty * 4 + x) * n + blockIdx.x * 64 + tx * 4 + y] = s[x][y];
}

// EXPECT pairs: register_tiling present: 4 rows x 4 pairs of halves
// EXPECT pairs: packed_math present type=f16x2: __hfma2
__global__ void __launch_bounds__(256)
    pairs(const __half *a, const __half2 *b, __half2 *c, int n, int k) {
  __shared__ __half A[BK][64];
  __shared__ __half2 B[BK][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, r = ty, q = tx * 4;
  __half2 s[4][4];
  for (int x = 0; x < 16; ++x)
    s[x / 4][x % 4] = __float2half2_rn(0.f);
  for (int i = 0; i < k; i += BK) {
    *(uint2 *)&A[r][q] = *(const uint2 *)(a + (size_t)(i + r) * n + blockIdx.y * 64 + q);
    *(uint4 *)&B[r][q] = *(const uint4 *)(b + (size_t)(i + r) * n + blockIdx.x * 64 + q);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk)
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
          s[x][y] = __hfma2(__half2half2(A[kk][ty * 4 + x]), B[kk][tx * 4 + y], s[x][y]);
    __syncthreads();
  }
#pragma unroll
  for (int x = 0; x < 4; ++x)
#pragma unroll
    for (int y = 0; y < 4; ++y)
      c[(size_t)(blockIdx.y * 64 + ty * 4 + x) * n + blockIdx.x * 64 + tx * 4 + y] = s[x][y];
}

void run(const float *a, const float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  twoSets<<<g, 256, 0, s>>>(a, b, o[0], 2048, 4096);
  loadFirst<<<g, 256, 0, s>>>(a, b, o[1], 2048, 4096);
  loadLast<<<g, 256, 0, s>>>(a, b, o[2], 2048, 4096);
  twoByTwo<<<g, 256, 0, s>>>(a, b, o[3], 1024, 1024);
  fourByOne<<<dim3(64, 16), 256, 0, s>>>(a, b, o[4], 1024, 1024);
  doubles<<<dim3(16, 16), 256, 0, s>>>((const double *)a, (const double *)b, (double *)o[5], 1024,
                                       1024);
  oneKept<<<g, 256, 0, s>>>(a, b, o[6], 2048, 1024);
  allAdded<<<g, 256, 0, s>>>(a, b, o[7], 2048, 1024);
  bytes<<<g, 256, 0, s>>>((const int *)a, (const int *)b, (int *)o[8], 2048, 1024);
  pairs<<<g, 256, 0, s>>>((const __half *)a, (const __half2 *)b, (__half2 *)o[9], 2048, 1024);
}
