// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on pairs of 16-bit numbers, and scalar arithmetic that ptxas computes with the same
// instructions.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// EXPECT hScalar: packed_math absent: scalar half arithmetic, one element a thread
__global__ void hScalar(const __half *a, const __half *b, __half *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hfma(a[i], b[i], a[i]);
}

// EXPECT bScalar: packed_math absent: scalar bf16 arithmetic
__global__ void bScalar(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hadd(a[i], __hmul(b[i], a[i]));
}

// EXPECT hAbs: packed_math absent: absolute value of a pair: bits
__global__ void hAbs(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __habs2(a[i]);
}

// EXPECT fConst: packed_math absent:
//   float kernel with constants (HFMA2 used by ptxas to make constants)
__global__ void fConst(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float x = a[i], y = 1.f;
  for (int k = 0; k < 5; ++k)
    y = y * x + 0.5f;
  o[i] = y > 2.f ? 1.f : y;
}

// EXPECT cvt8: packed_math absent: conversions of halves to floats and back
__global__ void cvt8(const uint4 *a, uint4 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint4 v = a[i], w;
  for (int j = 0; j < 4; ++j) {
    float2 f = __half22float2(((__half2 *)&v)[j]);
    ((__half2 *)&w)[j] = __floats2half2_rn(f.x * f.y, f.x - f.y);
  }
  o[i] = w;
}

// EXPECT hMax: packed_math absent: scalar half max
__global__ void hMax(const __half *a, __half *o, int n) {
  __half m = a[threadIdx.x];
  for (int i = threadIdx.x; i < n; i += 32)
    m = __hmax(m, a[(size_t)blockIdx.x * n + i]);
  for (int k = 16; k; k /= 2)
    m = __hmax(m, __shfl_xor_sync(~0u, m, k));
  if (!threadIdx.x)
    o[blockIdx.x] = m;
}

// EXPECT bf2: packed_math present type=bf16x2: pair arithmetic
__global__ void bf2(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hfma2(a[i], b[i], a[i]);
}

// EXPECT bcast2: packed_math present type=f16x2: pair times a broadcast scalar
__global__ void bcast2(const __half2 *a, const __half *s, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hmul2(a[i], __half2half2(s[0]));
}

// EXPECT ropeH: packed_math present type=f16x2: rotation in half2 arithmetic
__global__ void ropeH(const __half2 *x, const __half2 *c, const __half2 *s, __half2 *o, int d) {
  int i = blockIdx.x * 256 + threadIdx.x, j = i / d * 2 * d + i % d;
  __half2 a = x[j], b = x[j + d], p = c[i % d], q = s[i % d];
  o[j] = __hsub2(__hmul2(a, p), __hmul2(b, q));
  o[j + d] = __hadd2(__hmul2(a, q), __hmul2(b, p));
}

// EXPECT pkHalf: packed_math present type=f16x2: __hfma2 axpy
__global__ void pkHalf(const __half2 *a, const __half2 *b, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hfma2(a[i], __float2half2_rn(2.f), b[i]);
}

// EXPECT pkBf: packed_math present type=bf16x2: __hadd2 of bf16 pairs
__global__ void pkBf(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hadd2(a[i], b[i]);
}

// EXPECT pkScalar: packed_math absent: pairs are loaded, arithmetic is in float
__global__ void pkScalar(const __half2 *a, const __half2 *b, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 x = __half22float2(a[i]), y = __half22float2(b[i]);
  o[i] = __floats2half2_rn(x.x + y.x, x.y * y.y);
}

// EXPECT pkHalf1: packed_math absent: scalar half arithmetic on both halves
__global__ void pkHalf1(const __half2 *a, const __half2 *b, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 x = a[i], y = b[i];
  o[i] =
      __halves2half2(__hadd(__low2half(x), __low2half(y)), __hmul(__high2half(x), __high2half(y)));
}

// EXPECT pkMax: packed_math present type=f16x2: relu by __hmax2: compares two numbers
__global__ void pkMax(const __half2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hmax2(a[i], __float2half2_rn(0.f));
}

// EXPECT pkOnlyIndex: packed_math absent:
//   the packed product decides nothing: result is compared to itself and the sum is in float
__global__ void pkOnlyIndex(const __half2 *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  __half2 x = a[i];
  __half2 t = __hmul2(x, x);
  volatile __half2 sink;
  *(__half2 *)&sink = t;
  o[i] = __low2float(x) + __high2float(x);
}

// EXPECT pkNeg: packed_math absent:
//   only a sign flip and a conversion of a pair (no add, multiply or compare)
__global__ void pkNeg(const float2 *a, __half2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __hneg2(__float22half2_rn(a[i]));
}

static void runPart1(float *a, float *b, float **o, cudaStream_t s) {
  hScalar<<<64, 256, 0, s>>>((__half *)a, (__half *)b, (__half *)o[0]);
  bScalar<<<64, 256, 0, s>>>((__nv_bfloat16 *)a, (__nv_bfloat16 *)b, (__nv_bfloat16 *)o[1]);
  hAbs<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)o[2]);
  fConst<<<64, 256, 0, s>>>(a, o[3]);
  cvt8<<<64, 256, 0, s>>>((uint4 *)a, (uint4 *)o[4]);
  hMax<<<64, 32, 0, s>>>((__half *)a, (__half *)o[5], 4096);
  bf2<<<64, 256, 0, s>>>((__nv_bfloat162 *)a, (__nv_bfloat162 *)b, (__nv_bfloat162 *)o[6]);
  bcast2<<<64, 256, 0, s>>>((__half2 *)a, (__half *)b, (__half2 *)o[7]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  ropeH<<<64, 256, 0, s>>>((__half2 *)a, (__half2 *)b, (__half2 *)b, (__half2 *)o[8], 64);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  pkHalf<<<64, 256, 0, s>>>((const __half2 *)a, (const __half2 *)b, (__half2 *)o[9]);
  pkBf<<<64, 256, 0, s>>>((const __nv_bfloat162 *)a, (const __nv_bfloat162 *)b,
                          (__nv_bfloat162 *)o[10]);
  pkScalar<<<64, 256, 0, s>>>((const __half2 *)a, (const __half2 *)b, (__half2 *)o[11]);
  pkHalf1<<<64, 256, 0, s>>>((const __half2 *)a, (const __half2 *)b, (__half2 *)o[12]);
  pkMax<<<64, 256, 0, s>>>((const __half2 *)a, (__half2 *)o[13]);
  pkOnlyIndex<<<64, 256, 0, s>>>((const __half2 *)a, o[14]);
  pkNeg<<<64, 256, 0, s>>>((const float2 *)a, (__half2 *)o[15]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
