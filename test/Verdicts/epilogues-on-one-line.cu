// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Product and epilogue on one source line, as macros make them.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/Sm90.h"

__device__ __forceinline__ void mma(float *d, const unsigned *a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#define MM                                                                  \
  float d[4] = {};                                                          \
  int l = threadIdx.x;                                                      \
  size_t r = blockIdx.y * 16 + l / 4;                                       \
  for (int i = 0; i < k; i += 16) {                                         \
    unsigned fa[4];                                                         \
    const bf *p = a + r * k + i + l % 4 * 2;                                \
    fa[0] = *(const unsigned *)p;                                           \
    fa[1] = *(const unsigned *)(p + 8 * k);                                 \
    fa[2] = *(const unsigned *)(p + 8);                                     \
    fa[3] = *(const unsigned *)(p + 8 * k + 8);                             \
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2; \
    mma(d, fa, *(const unsigned *)q, *(const unsigned *)(q + 8));           \
  }                                                                         \
  float *w = c + r * n + blockIdx.x * 8 + l % 4 * 2;

#define CARGS const bf *a, const bf *b, float *c, int n, int k

// clang-format off
// EXPECT eAlpha: epilogue_fusion present: times alpha
__global__ void eAlpha(CARGS, float al) { MM w[0] = al * d[0]; w[1] = al * d[1]; w[8*n] = al * d[2]; w[8*n+1] = al * d[3]; }

// EXPECT eBetaInPlace: epilogue_fusion present: plus beta times the old C
__global__ void eBetaInPlace(CARGS, float be) { MM w[0] = d[0] + be * w[0]; w[1] = d[1] + be * w[1]; w[8*n] = d[2] + be * w[8*n]; w[8*n+1] = d[3] + be * w[8*n+1]; }

// EXPECT eAccumulate: epilogue_fusion present: added to the old C
__global__ void eAccumulate(CARGS) { MM w[0] += d[0]; w[1] += d[1]; w[8*n] += d[2]; w[8*n+1] += d[3]; }

// EXPECT eBetaVec: epilogue_fusion present: alpha times the sum plus beta times the old C, by pairs
__global__ void eBetaVec(CARGS, float al, float be) { MM float2 u = *(float2*)w, v = *(float2*)(w+8*n); *(float2*)w = make_float2(al * d[0] + be * u.x, al * d[1] + be * u.y); *(float2*)(w+8*n) = make_float2(al * d[2] + be * v.x,al * d[3] + be * v.y); }

// EXPECT ePlain: epilogue_fusion absent: stored as it is
__global__ void ePlain(CARGS) { MM w[0] = d[0]; w[1] = d[1]; w[8*n] = d[2]; w[8*n+1] = d[3]; }

// EXPECT eHalve: epilogue_fusion present ops=scale: times a constant
__global__ void eHalve(CARGS) { MM w[0] = d[0] * 0.5f; w[1] = d[1] * 0.5f; w[8*n] = d[2] * 0.5f; w[8*n+1] = d[3] * 0.5f; }

// EXPECT eTwoParts: epilogue_fusion not-present: the second half is added to the stored sums of the first
__global__ void eTwoParts(CARGS) { MM w[0] = d[0]; w[1] = d[1]; w[8*n] = d[2]; w[8*n+1] = d[3]; a += k; b += k; float e[4] = {}; for (int i = 0; i < k; i += 16) { unsigned fa[4]; const bf *p = a + r * k + i + l % 4 * 2; fa[0] = *(const unsigned *)p; fa[1] = *(const unsigned *)(p + 8 * k); fa[2] = *(const unsigned *)(p + 8); fa[3] = *(const unsigned *)(p + 8 * k + 8); const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2; mma(e, fa, *(const unsigned *)q, *(const unsigned *)(q + 8)); } w[0] += e[0]; w[1] += e[1]; w[8*n] += e[2]; w[8*n+1] += e[3]; }

#define DOT float s = 0.f; size_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x; for (int i = 0; i < k; ++i) s += a[row * k + i] * b[(size_t)i * n + col]; float *w = c + row * n + col;
#define DARGS const float *a, const float *b, float *c, int n, int k

// EXPECT dScale: epilogue_fusion present ops=scale: a dot product of floats times alpha
__global__ void dScale(DARGS, float al) { DOT *w = al * s; }

// EXPECT dBeta: epilogue_fusion present: alpha times a dot product of floats plus beta times the old C
__global__ void dBeta(DARGS, float al, float be) { DOT *w = al * s + be * *w; }

// EXPECT dPlain: epilogue_fusion absent: a dot product of floats
__global__ void dPlain(DARGS) { DOT *w = s; }
// clang-format on

void run(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  eAlpha<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096, 0.5f);
  eBetaInPlace<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096, 2.f);
  eAccumulate<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096);
  eBetaVec<<<g, 32, 0, s>>>(a, b, o[3], 2048, 4096, 0.5f, 2.f);
  ePlain<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096);
  eHalve<<<g, 32, 0, s>>>(a, b, o[5], 2048, 4096);
  eTwoParts<<<g, 32, 0, s>>>(a, b, o[6], 2048, 4096);
  dim3 h(128, 128), t(16, 16);
  dScale<<<h, t, 0, s>>>(x, y, o[7], 2048, 4096, 0.5f);
  dBeta<<<h, t, 0, s>>>(x, y, o[8], 2048, 4096, 0.5f, 2.f);
  dPlain<<<h, t, 0, s>>>(x, y, o[9], 2048, 4096);
}
