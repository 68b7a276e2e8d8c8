// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the library of mathematics between the load of A and the
// product, which the compiler makes of shifts, masks and choices; and operands
// that shifts and masks take out of narrow words.
//
// VERDICTS arch=sm_80 entry=run read=ptx

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf;

__device__ __forceinline__ void mma(float *d, const unsigned *a, const unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ unsigned pack(float x, float y) {
  __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
  return *(unsigned *)&h;
}

#define ARGS const bf *a, const bf *b, float *c, int n, int k

// 16 x 8 sums a warp; A goes through `F`.
template <class F> __device__ __forceinline__ void product(ARGS) {
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16 + l / 4;
  auto act = [](const bf *p) {
    float2 x = __bfloat1622float2(*(const __nv_bfloat162 *)p);
    return pack(F()(x.x), F()(x.y));
  };
  for (int i = 0; i < k; i += 16) {
    const bf *p = a + r * k + i + l % 4 * 2;
    unsigned fa[4] = {act(p), act(p + 8 * k), act(p + 8), act(p + 8 * k + 8)};
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    unsigned fb[2] = {*(const unsigned *)q, *(const unsigned *)(q + 8)};
    mma(d, fa, fb);
  }
  float *o = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

struct Exp2 {
  __device__ float operator()(float x) const { return exp2f(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};
struct Softplus {
  __device__ float operator()(float x) const { return log1pf(expf(x)); }
};
struct Elu {
  __device__ float operator()(float x) const { return x > 0.f ? x : expm1f(x); }
};
struct Pow {
  __device__ float operator()(float x) const { return powf(x, 2.5f); }
};
struct ExpInDouble {
  __device__ float operator()(float x) const { return (float)exp((double)x); }
};

// EXPECT exp2Only: prologue_fusion present: the accurate exp2f
__global__ void __launch_bounds__(32) exp2Only(ARGS) { product<Exp2>(a, b, c, n, k); }

// EXPECT logOnly: prologue_fusion present: the accurate logf
__global__ void __launch_bounds__(32) logOnly(ARGS) { product<Log>(a, b, c, n, k); }

// EXPECT softplus: prologue_fusion present: log(1 + e^x)
__global__ void __launch_bounds__(32) softplus(ARGS) { product<Softplus>(a, b, c, n, k); }

// EXPECT elu: prologue_fusion present: e^x - 1 below zero
__global__ void __launch_bounds__(32) elu(ARGS) { product<Elu>(a, b, c, n, k); }

// EXPECT powOnly: prologue_fusion present: x to the power of 2.5
__global__ void __launch_bounds__(32) powOnly(ARGS) { product<Pow>(a, b, c, n, k); }

// EXPECT expInDouble: prologue_fusion present: exp in double precision
__global__ void __launch_bounds__(32) expInDouble(ARGS) { product<ExpInDouble>(a, b, c, n, k); }

// EXPECT softmaxed: prologue_fusion present: e^(a - maximum) with a loaded
// maximum of each row
__global__ void __launch_bounds__(32) softmaxed(ARGS, const float *highest) {
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16 + l / 4;
  float m0 = highest[r], m1 = highest[r + 8];
  auto act = [](const bf *p, float m) {
    float2 x = __bfloat1622float2(*(const __nv_bfloat162 *)p);
    return pack(expf(x.x - m), expf(x.y - m));
  };
  for (int i = 0; i < k; i += 16) {
    const bf *p = a + r * k + i + l % 4 * 2;
    unsigned fa[4] = {act(p, m0), act(p + 8 * k, m1), act(p + 8, m0), act(p + 8 * k + 8, m1)};
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    unsigned fb[2] = {*(const unsigned *)q, *(const unsigned *)(q + 8)};
    mma(d, fa, fb);
  }
  float *o = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

// EXPECT expStaged: prologue_fusion present: A goes through expf on its way to
// shared memory
__global__ void __launch_bounds__(32) expStaged(ARGS) {
  __shared__ bf tile[16][24];
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16;
  for (int i = 0; i < k; i += 16) {
    for (int j = l; j < 128; j += 32) {
      float2 x = __bfloat1622float2(*(const __nv_bfloat162 *)(a + (r + j / 8) * k + i + j % 8 * 2));
      *(unsigned *)&tile[j / 8][j % 8 * 2] = pack(expf(x.x), expf(x.y));
    }
    __syncthreads();
    const bf *p = &tile[l / 4][l % 4 * 2];
    unsigned fa[4] = {*(const unsigned *)p, *(const unsigned *)(p + 8 * 24),
                      *(const unsigned *)(p + 8), *(const unsigned *)(p + 8 * 24 + 8)};
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    unsigned fb[2] = {*(const unsigned *)q, *(const unsigned *)(q + 8)};
    mma(d, fa, fb);
    __syncthreads();
  }
  float *o = c + (r + l / 4) * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

// EXPECT expScalar: prologue_fusion present: dot products of e^a and b, all in
// float
__global__ void expScalar(const float *a, const float *b, float *c, int n, int k) {
  size_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float s = 0.f;
  for (int i = 0; i < k; ++i)
    s += expf(a[row * k + i]) * b[(size_t)i * n + col];
  c[row * n + col] = s;
}

// EXPECT logScalar: prologue_fusion present: dot products of log a and b, all
// in float
__global__ void logScalar(const float *a, const float *b, float *c, int n, int k) {
  size_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float s = 0.f;
  for (int i = 0; i < k; ++i)
    s += logf(a[row * k + i]) * b[(size_t)i * n + col];
  c[row * n + col] = s;
}

// EXPECT plainScalar: prologue_fusion absent: dot products of what is loaded
__global__ void plainScalar(const float *a, const float *b, float *c, int n, int k) {
  size_t row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float s = 0.f;
  for (int i = 0; i < k; ++i)
    s += a[row * k + i] * b[(size_t)i * n + col];
  c[row * n + col] = s;
}

// EXPECT onlineSums: prologue_fusion absent:
//   the sum of an online softmax, which each step rescales by expf: no product
//   of operands
// EXPECT onlineSums: epilogue_fusion absent: no main product
__global__ void onlineSums(const float *a, const float *b, float *c, int n, int k) {
  size_t row = blockIdx.x * 256 + threadIdx.x;
  float s = 0.f, m = -1e30f;
  for (int i = 0; i < k; ++i) {
    float x = a[row * k + i], old = m;
    m = fmaxf(m, x);
    s = s * expf(old - m) + expf(x - m);
  }
  c[row] = 1.f / s;
}

// EXPECT expBeside: prologue_fusion absent: e^a goes to another output, the
// products read a
__global__ void __launch_bounds__(32) expBeside(ARGS, float *powers) {
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16 + l / 4;
  for (int i = 0; i < k; i += 16) {
    const bf *p = a + r * k + i + l % 4 * 2;
    unsigned fa[4] = {*(const unsigned *)p, *(const unsigned *)(p + 8 * k),
                      *(const unsigned *)(p + 8), *(const unsigned *)(p + 8 * k + 8)};
    powers[r * k + i + l % 4 * 2] = expf(__bfloat162float(*p));
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    unsigned fb[2] = {*(const unsigned *)q, *(const unsigned *)(q + 8)};
    mma(d, fa, fb);
  }
  float *o = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

// The products of A in bytes, widened by `F` from a word of four to two pairs
// of bf16.
template <class F>
__device__ __forceinline__ void widened(const unsigned char *a, const bf *b, float *c, int n, int k,
                                        float f) {
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16 + l / 4;
  for (int i = 0; i < k; i += 16) {
    const unsigned char *p = a + r * k + i + l % 4 * 4;
    unsigned low = *(const unsigned *)p, high = *(const unsigned *)(p + 8 * k), fa[4];
    F()(low, fa[0], fa[2], f);
    F()(high, fa[1], fa[3], f);
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 4;
    unsigned fb[2] = {*(const unsigned *)q, *(const unsigned *)(q + 2)};
    mma(d, fa, fb);
  }
  float *o = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

// Signed bytes by two shifts, then a zero point and a scale.
struct ByShifts {
  __device__ void operator()(unsigned w, unsigned &x, unsigned &y, float f) const {
    auto at = [&](int j) { return f * ((float)((int)(w << (24 - 8 * j)) >> 24) - 3.f); };
    x = pack(at(0), at(1));
    y = pack(at(2), at(3));
  }
};
// Bytes below the exponent of 2^23, from which it is subtracted.
struct ByMagic {
  __device__ void operator()(unsigned w, unsigned &x, unsigned &y, float f) const {
    auto at = [&](int j) {
      return f * (__uint_as_float(__byte_perm(w, 0x4b000000, 0x7650 + j)) - 8388736.f);
    };
    x = pack(at(0), at(1));
    y = pack(at(2), at(3));
  }
};
// e5m2: the upper half of an f16.
struct ByHalf {
  __device__ void operator()(unsigned w, unsigned &x, unsigned &y, float f) const {
    auto at = [&](int j) { return f * __half2float(__ushort_as_half((w >> 8 * j & 255) << 8)); };
    x = pack(at(0), at(1));
    y = pack(at(2), at(3));
  }
};
// Exponents of powers of two: bytes put where a float has its exponent.
struct ByExponent {
  __device__ void operator()(unsigned w, unsigned &x, unsigned &y, float f) const {
    auto at = [&](int j) { return f * __uint_as_float((w >> 8 * j & 255) << 23); };
    x = pack(at(0), at(1));
    y = pack(at(2), at(3));
  }
};

// EXPECT byShifts: prologue_fusion absent: bytes are widened, with zero point
// and scale
__global__ void __launch_bounds__(32)
    byShifts(const unsigned char *a, const bf *b, float *c, int n, int k, float f) {
  widened<ByShifts>(a, b, c, n, k, f);
}

// EXPECT byMagic: prologue_fusion absent: bytes are widened by the bits of a
// float
__global__ void __launch_bounds__(32)
    byMagic(const unsigned char *a, const bf *b, float *c, int n, int k, float f) {
  widened<ByMagic>(a, b, c, n, k, f);
}

// EXPECT byHalf: prologue_fusion absent: e5m2 widened to f16 by a shift, with a
// scale
__global__ void __launch_bounds__(32)
    byHalf(const unsigned char *a, const bf *b, float *c, int n, int k, float f) {
  widened<ByHalf>(a, b, c, n, k, f);
}

// EXPECT byExponent: prologue_fusion absent: powers of two widened by a shift,
// with a scale
__global__ void __launch_bounds__(32)
    byExponent(const unsigned char *a, const bf *b, float *c, int n, int k, float f) {
  widened<ByExponent>(a, b, c, n, k, f);
}

void run(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  exp2Only<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096);
  logOnly<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096);
  softplus<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096);
  elu<<<g, 32, 0, s>>>(a, b, o[3], 2048, 4096);
  powOnly<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096);
  expInDouble<<<g, 32, 0, s>>>(a, b, o[6], 2048, 4096);
  softmaxed<<<g, 32, 0, s>>>(a, b, o[7], 2048, 4096, y);
  expStaged<<<g, 32, 0, s>>>(a, b, o[8], 2048, 4096);
  dim3 t(16, 16);
  expScalar<<<dim3(128, 128), t, 0, s>>>(x, y, o[9], 2048, 4096);
  logScalar<<<dim3(128, 128), t, 0, s>>>(x, y, o[10], 2048, 4096);
  plainScalar<<<dim3(128, 128), t, 0, s>>>(x, y, o[11], 2048, 4096);
  expBeside<<<g, 32, 0, s>>>(a, b, o[12], 2048, 4096, o[13]);
  onlineSums<<<256, 256, 0, s>>>(x, y, o[18], 2048, 4096);
  const unsigned char *w = (const unsigned char *)x;
  byShifts<<<g, 32, 0, s>>>(w, b, o[14], 2048, 4096, 0.25f);
  byMagic<<<g, 32, 0, s>>>(w, b, o[15], 2048, 4096, 0.25f);
  byHalf<<<g, 32, 0, s>>>(w, b, o[16], 2048, 4096, 0.25f);
  byExponent<<<g, 32, 0, s>>>(w, b, o[17], 2048, 4096, 0.25f);
}
