// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of A between its load and the product (prologues), and of the sums between the product
// and the store (epilogues).
//
// VERDICTS arch=sm_80 entry=run read=ptx

#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf;

__device__ __forceinline__ void mma(float *d, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A pair of bf16 that goes through `F` in float.
template <class F>
__device__ __forceinline__ unsigned through(unsigned pair, float f) {
  float2 x = __bfloat1622float2(*(__nv_bfloat162 *)&pair);
  __nv_bfloat162 h = __floats2bfloat162_rn(F()(x.x, f), F()(x.y, f));
  return *(unsigned *)&h;
}

#define ARGS const bf *a, const bf *b, float *c, const float *factors, int n, int k

// 16 x 8 sums a warp; A goes through `Before`, the sums through `After`.
template <class Before, class After, bool IsBefore, bool IsAfter>
__device__ __forceinline__ void product(ARGS) {
  int l = threadIdx.x;
  float d[4] = {};
  size_t r = blockIdx.y * 16 + l / 4;
  float f0 = factors[r], f1 = factors[r + 8];
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    const bf *p = a + r * k + i + l % 4 * 2;
    fa[0] = *(const unsigned *)p;
    fa[1] = *(const unsigned *)(p + 8 * k);
    fa[2] = *(const unsigned *)(p + 8);
    fa[3] = *(const unsigned *)(p + 8 * k + 8);
    if constexpr (IsBefore) {
      fa[0] = through<Before>(fa[0], f0);
      fa[1] = through<Before>(fa[1], f1);
      fa[2] = through<Before>(fa[2], f0);
      fa[3] = through<Before>(fa[3], f1);
    }
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    fb[0] = *(const unsigned *)q;
    fb[1] = *(const unsigned *)(q + 8);
    mma(d, fa, fb);
  }
  if constexpr (IsAfter) {
    d[0] = After()(d[0], f0);
    d[1] = After()(d[1], f0);
    d[2] = After()(d[2], f1);
    d[3] = After()(d[3], f1);
  }
  float *o = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  *(float2 *)o = make_float2(d[0], d[1]);
  *(float2 *)(o + 8 * n) = make_float2(d[2], d[3]);
}

struct ScaleOnly {
  __device__ float operator()(float x, float f) const {
    return x * f;
  }
};

struct SiluOnly {
  __device__ float operator()(float x, float f) const {
    return x / (1.f + expf(-x));
  }
};

struct ReluOnly {
  __device__ float operator()(float x, float f) const {
    return fmaxf(x, 0.f);
  }
};

struct SqOnly {
  __device__ float operator()(float x, float f) const {
    return x * x;
  }
};

struct TanhOnly {
  __device__ float operator()(float x, float f) const {
    return tanhf(x);
  }
};

struct ConstScale {
  __device__ float operator()(float x, float f) const {
    return x * 0.125f;
  }
};

struct None {
  __device__ float operator()(float x, float f) const {
    return x;
  }
};

struct DivOperand {
  __device__ float operator()(float x, float f) const {
    return x / f;
  }
};

struct Sigmoid {
  __device__ float operator()(float x, float f) const {
    return 1.f / (1.f + expf(-x));
  }
};

struct SiluFast {
  __device__ float operator()(float x, float f) const {
    return __fdividef(x, 1.f + __expf(-x));
  }
};

struct ExpOnly {
  __device__ float operator()(float x, float f) const {
    return expf(x);
  }
};

struct Gelu {
  __device__ float operator()(float x, float f) const {
    return 0.5f * x * (1.f + erff(x * 0.7071f));
  }
};

struct GeluTanh {
  __device__ float operator()(float x, float f) const {
    return 0.5f * x * (1.f + tanhf(0.79788f * (x + 0.044715f * x * x * x)));
  }
};

// EXPECT scaleOnly: prologue_fusion present: rows of A times a factor that is loaded
__global__ void __launch_bounds__(32) scaleOnly(ARGS) {
  product<ScaleOnly, ScaleOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT siluOnly: prologue_fusion present: A goes through x / (1 + e^-x) with the accurate expf
__global__ void __launch_bounds__(32) siluOnly(ARGS) {
  product<SiluOnly, SiluOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT reluOnly: prologue_fusion present: A goes through a maximum with zero
__global__ void __launch_bounds__(32) reluOnly(ARGS) {
  product<ReluOnly, ReluOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT sqOnly: prologue_fusion present: A is squared
__global__ void __launch_bounds__(32) sqOnly(ARGS) {
  product<SqOnly, SqOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT tanhOnly: prologue_fusion present: A goes through tanhf
__global__ void __launch_bounds__(32) tanhOnly(ARGS) {
  product<TanhOnly, TanhOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT constScale: prologue_fusion present: A times an eighth
__global__ void __launch_bounds__(32) constScale(ARGS) {
  product<ConstScale, ConstScale, true, false>(a, b, c, factors, n, k);
}

// EXPECT none: prologue_fusion absent: A is converted to float and back
__global__ void __launch_bounds__(32) none(ARGS) {
  product<None, None, true, false>(a, b, c, factors, n, k);
}

// EXPECT divOperand: prologue_fusion present: rows of A divided by a number that is loaded
__global__ void __launch_bounds__(32) divOperand(ARGS) {
  product<DivOperand, DivOperand, true, false>(a, b, c, factors, n, k);
}

// EXPECT divOperandEpi: epilogue_fusion present:
//   the sums: rows of A divided by a number that is loaded
__global__ void __launch_bounds__(32) divOperandEpi(ARGS) {
  product<DivOperand, DivOperand, false, true>(a, b, c, factors, n, k);
}

// EXPECT sigmoid: prologue_fusion present: 1 / (1 + e^-x) with the accurate expf
__global__ void __launch_bounds__(32) sigmoid(ARGS) {
  product<Sigmoid, Sigmoid, true, false>(a, b, c, factors, n, k);
}

// EXPECT sigmoidEpi: epilogue_fusion present: the sums: 1 / (1 + e^-x) with the accurate expf
__global__ void __launch_bounds__(32) sigmoidEpi(ARGS) {
  product<Sigmoid, Sigmoid, false, true>(a, b, c, factors, n, k);
}

// EXPECT siluFast: prologue_fusion present: x / (1 + e^-x) by intrinsics
__global__ void __launch_bounds__(32) siluFast(ARGS) {
  product<SiluFast, SiluFast, true, false>(a, b, c, factors, n, k);
}

// EXPECT siluFastEpi: epilogue_fusion present: the sums: x / (1 + e^-x) by intrinsics
__global__ void __launch_bounds__(32) siluFastEpi(ARGS) {
  product<SiluFast, SiluFast, false, true>(a, b, c, factors, n, k);
}

// EXPECT expOnly: prologue_fusion present: the accurate expf
__global__ void __launch_bounds__(32) expOnly(ARGS) {
  product<ExpOnly, ExpOnly, true, false>(a, b, c, factors, n, k);
}

// EXPECT expOnlyEpi: epilogue_fusion present: the sums: the accurate expf
__global__ void __launch_bounds__(32) expOnlyEpi(ARGS) {
  product<ExpOnly, ExpOnly, false, true>(a, b, c, factors, n, k);
}

// EXPECT gelu: prologue_fusion present: 0.5 x (1 + erf(x / sqrt 2))
__global__ void __launch_bounds__(32) gelu(ARGS) {
  product<Gelu, Gelu, true, false>(a, b, c, factors, n, k);
}

// EXPECT geluEpi: epilogue_fusion present: the sums: 0.5 x (1 + erf(x / sqrt 2))
__global__ void __launch_bounds__(32) geluEpi(ARGS) {
  product<Gelu, Gelu, false, true>(a, b, c, factors, n, k);
}

// EXPECT geluTanh: prologue_fusion present: GELU by tanhf
__global__ void __launch_bounds__(32) geluTanh(ARGS) {
  product<GeluTanh, GeluTanh, true, false>(a, b, c, factors, n, k);
}

// EXPECT geluTanhEpi: epilogue_fusion present: the sums: GELU by tanhf
__global__ void __launch_bounds__(32) geluTanhEpi(ARGS) {
  product<GeluTanh, GeluTanh, false, true>(a, b, c, factors, n, k);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  scaleOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[0], b, 2048, 4096);
  siluOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[1], b, 2048, 4096);
  reluOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[2], b, 2048, 4096);
  sqOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[3], b, 2048, 4096);
  tanhOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[4], b, 2048, 4096);
  constScale<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[5], b, 2048, 4096);
  none<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[6], b, 2048, 4096);
  divOperand<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[7], b, 2048, 4096);
  divOperandEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[8], b, 2048, 4096);
  sigmoid<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[9], b, 2048, 4096);
  sigmoidEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[10], b, 2048, 4096);
  siluFast<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[11], b, 2048, 4096);
  siluFastEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[12], b, 2048, 4096);
  expOnly<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[13], b, 2048, 4096);
  expOnlyEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[14], b, 2048, 4096);
  gelu<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[15], b, 2048, 4096);
  geluEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[16], b, 2048, 4096);
  geluTanh<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[17], b, 2048, 4096);
  geluTanhEpi<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[18], b, 2048, 4096);
}
