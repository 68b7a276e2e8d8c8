// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by mma.sync and wmma: what happens before and behind them, and results that are lost.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>
#include <mma.h>

__device__ __forceinline__ void mma(float *d, const unsigned *a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A product of 16 x 8 by a warp; `PRE` sees each word of A.
template <class PRE>
__device__ __forceinline__ void warpTile(float (&d)[4], const bf *a, const bf *b, int k, PRE pre) {
  int l = threadIdx.x;
  const bf *p = a + (size_t)(blockIdx.y * 16 + l / 4) * k + l % 4 * 2;
  const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + l % 4 * 2;
  for (int i = 0; i < k; i += 16) {
    unsigned f[4] = {*(const unsigned *)(p + i), *(const unsigned *)(p + 8 * k + i),
                     *(const unsigned *)(p + i + 8), *(const unsigned *)(p + 8 * k + i + 8)};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      f[j] = pre(f[j], i);
    mma(d, f, *(const unsigned *)(q + i), *(const unsigned *)(q + i + 8));
  }
}
// Stores what `EPI` makes of each sum.
template <class EPI>
__device__ __forceinline__ void warpPut(const float (&d)[4], float *c, int n, EPI epi) {
  int l = threadIdx.x, col = blockIdx.x * 8 + l % 4 * 2;
  int row = blockIdx.y * 16 + l / 4;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    int r = row + j / 2 * 8, q = col + j % 2;
    c[(size_t)r * n + q] = epi(d[j], r, q);
  }
}

#define PA const bf *a, const bf *b, float *c, int n, int k
#define ID [](unsigned w, int) { return w; }
#define AS_IT_IS [](float v, int, int) { return v; }

// EXPECT plainTile: tensor_core present family=mma_sync shape=m16n8k16 a=bf16: a plain product
// EXPECT plainTile: epilogue_fusion absent: stored as it is
// EXPECT plainTile: prologue_fusion absent: loaded as it is
// EXPECT plainTile: smem_tiling absent: no shared memory
__global__ void __launch_bounds__(32) plainTile(PA) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, AS_IT_IS);
}

// EXPECT leaky: epilogue_fusion present ops=nonlinear: leaky rectifier by a lambda
__global__ void __launch_bounds__(32) leaky(PA) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, [](float v, int, int) {
    float w = 0.1f * v;
    return v > 0.f ? v : w;
  });
}

// EXPECT residual: epilogue_fusion present ops=operand: another tensor is added
__global__ void __launch_bounds__(32) residual(PA, const float *x) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, [&](float v, int r, int q) { return v + x[(size_t)r * n + q]; });
}

// EXPECT residualFirst: epilogue_fusion absent:
//   the other tensor is where the sums start: no epilogue
__global__ void __launch_bounds__(32) residualFirst(PA, const float *x) {
  int l = threadIdx.x;
  float d[4];
#pragma unroll
  for (int j = 0; j < 4; ++j)
    d[j] = x[(size_t)(blockIdx.y * 16 + l / 4 + j / 2 * 8) * n + blockIdx.x * 8 + l % 4 * 2 + j % 2];
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, AS_IT_IS);
}

// EXPECT rowScale: epilogue_fusion present: the scale of a row and of a column
__global__ void __launch_bounds__(32) rowScale(PA, const float *sr, const float *sc) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, [&](float v, int r, int q) { return v * sr[r] * sc[q]; });
}

// EXPECT scaleUnused: epilogue_fusion absent: a scale is loaded, and what it makes is not stored
__global__ void __launch_bounds__(32) scaleUnused(PA, const float *sr) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, [&](float v, int r, int q) {
    float w = v * sr[r];
    asm volatile("" ::"f"(w));
    return v;
  });
}

// EXPECT toHalf: epilogue_fusion absent: a conversion alone
__global__ void __launch_bounds__(32) toHalf(const bf *a, const bf *b, __half *c, int n, int k) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  int l = threadIdx.x;
  __half *o = c + (size_t)(blockIdx.y * 16 + l / 4) * n + blockIdx.x * 8 + l % 4 * 2;
  *(__half2 *)o = __floats2half2_rn(d[0], d[1]);
  *(__half2 *)(o + 8 * n) = __floats2half2_rn(d[2], d[3]);
}

// EXPECT reluBefore: prologue_fusion present ops=nonlinear: A is rectified in registers
// EXPECT reluBefore: packed_math present type=bf16x2: by pairs
// EXPECT reluBefore: epilogue_fusion absent: stored as it is
__global__ void __launch_bounds__(32) reluBefore(PA) {
  float d[4] = {};
  warpTile(d, a, b, k, [](unsigned w, int) {
    __nv_bfloat162 h = __hmax2(*(__nv_bfloat162 *)&w, __float2bfloat162_rn(0.f));
    return *(unsigned *)&h;
  });
  warpPut(d, c, n, AS_IT_IS);
}

// EXPECT scaleBefore: prologue_fusion present: A is multiplied by a loaded scale of its column
// EXPECT scaleBefore: packed_math present type=bf16x2: by pairs
__global__ void __launch_bounds__(32) scaleBefore(PA, const __nv_bfloat162 *g) {
  float d[4] = {};
  int l = threadIdx.x;
  warpTile(d, a, b, k, [&](unsigned w, int i) {
    __nv_bfloat162 h = __hmul2(*(__nv_bfloat162 *)&w, g[i / 2 + l % 4]);
    return *(unsigned *)&h;
  });
  warpPut(d, c, n, AS_IT_IS);
}

// EXPECT selfXor: tensor_core absent: the product's bits are cleared, the result comes from a loop
__global__ void __launch_bounds__(32) selfXor(PA) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, c, n, [&](float v, int r, int q) {
    float s = 0;
    for (int i = 0; i < k; ++i)
      s += __bfloat162float(a[(size_t)r * k + i]) * __bfloat162float(b[(size_t)q * k + i]);
    unsigned u = __float_as_uint(v);
    return s + __uint_as_float(u ^ u);
  });
}

__device__ float scratch[2048 * 2048];
// EXPECT toScratch: tensor_core absent:
//   the product goes to a buffer that nobody reads; a scalar loop makes the result
__global__ void __launch_bounds__(32) toScratch(PA) {
  float d[4] = {};
  warpTile(d, a, b, k, ID);
  warpPut(d, scratch, n, AS_IT_IS);
  float e[4] = {};
  warpPut(e, c, n, [&](float v, int r, int q) {
    for (int i = 0; i < k; ++i)
      v += __bfloat162float(a[(size_t)r * k + i]) * __bfloat162float(b[(size_t)q * k + i]);
    return v;
  });
}

// EXPECT zeroWords: tensor_core absent: the words of A are shifted out: zeros
__global__ void __launch_bounds__(32) zeroWords(PA, const float *x) {
  float d[4] = {};
  warpTile(d, a, b, k, [](unsigned w, int) { return (w & 0xffff) >> 16; });
  warpPut(d, c, n, [&](float v, int r, int q) { return v + x[(size_t)r * n + q]; });
}

// EXPECT highWords: tensor_core present family=mma_sync: the upper halves of the words of A remain
__global__ void __launch_bounds__(32) highWords(PA, const float *x) {
  float d[4] = {};
  warpTile(d, a, b, k, [](unsigned w, int) { return w >> 16; });
  warpPut(d, c, n, [&](float v, int r, int q) { return v + x[(size_t)r * n + q]; });
}

// EXPECT ints: tensor_core present family=mma_sync shape=m16n8k32 a=s8: bytes
// EXPECT ints: epilogue_fusion present: dequantised by two scales
__global__ void __launch_bounds__(32)
    ints(const int8_t *a, const int8_t *b, float *c, int n, int k, const float *sr, float sb) {
  int d[4] = {}, l = threadIdx.x;
  const int8_t *p = a + (size_t)(blockIdx.y * 16 + l / 4) * k + l % 4 * 4;
  const int8_t *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + l % 4 * 4;
  for (int i = 0; i < k; i += 32)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(*(const int *)(p + i)), "r"(*(const int *)(p + 8 * k + i)),
          "r"(*(const int *)(p + i + 16)), "r"(*(const int *)(p + 8 * k + i + 16)),
          "r"(*(const int *)(q + i)), "r"(*(const int *)(q + i + 16)));
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    int r = blockIdx.y * 16 + l / 4 + j / 2 * 8;
    c[(size_t)r * n + blockIdx.x * 8 + l % 4 * 2 + j % 2] = (float)d[j] * sr[r] * sb;
  }
}

// EXPECT fragments: tensor_core in ptx present family=wmma: nvcuda::wmma
// EXPECT fragments: tensor_core in cubin present family=mma_sync: machine code has one kind only
// EXPECT fragments: epilogue_fusion present: each element of the fragment times alpha
// EXPECT fragments: register_tiling absent: 8 uses of 5 fragments: 1.6 (first verdict was wrong)
__global__ void __launch_bounds__(32)
    fragments(const __half *a, const __half *b, float *c, int n, int k, float alpha) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> d[4];
  for (auto &x : d)
    fill_fragment(x, 0.f);
  for (int i = 0; i < k; i += 16) {
    load_matrix_sync(fa, a + (size_t)blockIdx.y * 16 * k + i, k);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      load_matrix_sync(fb, b + (size_t)(blockIdx.x * 64 + j * 16) * k + i, k);
      mma_sync(d[j], fa, fb, d[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
#pragma unroll
    for (int e = 0; e < d[j].num_elements; ++e)
      d[j].x[e] *= alpha;
    store_matrix_sync(c + (size_t)blockIdx.y * 16 * n + blockIdx.x * 64 + j * 16, d[j], n,
                      mem_row_major);
  }
}

void run(const bf *a, const bf *b, float **o, const float *x, float alpha, cudaStream_t s) {
  dim3 g(256, 128);
  plainTile<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096);
  leaky<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096);
  residual<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096, x);
  residualFirst<<<g, 32, 0, s>>>(a, b, o[3], 2048, 4096, x);
  rowScale<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096, x, x + 4096);
  scaleUnused<<<g, 32, 0, s>>>(a, b, o[5], 2048, 4096, x);
  toHalf<<<g, 32, 0, s>>>(a, b, (__half *)o[6], 2048, 4096);
  reluBefore<<<g, 32, 0, s>>>(a, b, o[7], 2048, 4096);
  scaleBefore<<<g, 32, 0, s>>>(a, b, o[8], 2048, 4096, (const __nv_bfloat162 *)x);
  selfXor<<<g, 32, 0, s>>>(a, b, o[9], 2048, 4096);
  toScratch<<<g, 32, 0, s>>>(a, b, o[10], 2048, 4096);
  zeroWords<<<g, 32, 0, s>>>(a, b, o[11], 2048, 4096, x);
  highWords<<<g, 32, 0, s>>>(a, b, o[12], 2048, 4096, x);
  ints<<<g, 32, 0, s>>>((const int8_t *)a, (const int8_t *)b, o[13], 2048, 4096, x, alpha);
  fragments<<<dim3(32, 128), 32, 0, s>>>((const __half *)a, (const __half *)b, o[14], 2048, 4096,
                                         alpha);
}
