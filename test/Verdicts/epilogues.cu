// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is done with the sums of a product before they are stored, one operation a line.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

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

// EXPECT epiOne: epilogue_fusion absent: times 1.0 and plus 0.0: no operation
__global__ void epiOne(CARGS) {
  MM;
  w[0] = d[0] * 1.0f + 0.0f;
  w[1] = d[1] * 1.0f;
  w[8 * n] = d[2];
  w[8 * n + 1] = d[3];
}

// EXPECT epiHalf: epilogue_fusion absent: only half of the results go through the maximum
__global__ void epiHalf(CARGS) {
  MM;
  w[0] = fmaxf(d[0], 0.f);
  w[1] = d[1];
  w[8 * n] = d[2];
  w[8 * n + 1] = d[3];
}

// EXPECT epiBeta: epilogue_fusion present ops=operand+scale: alpha * AB + beta * C
__global__ void epiBeta(CARGS, float al, float be) {
  MM;
  w[0] = al * d[0] + be * w[0];
  w[1] = al * d[1] + be * w[1];
  w[8 * n] = al * d[2] + be * w[8 * n];
  w[8 * n + 1] = al * d[3] + be * w[8 * n + 1];
}

// EXPECT epiInit: epilogue_fusion absent: the sums start from the bias: not an epilogue
__global__ void epiInit(CARGS, const float *bias) {
  int l = threadIdx.x;
  size_t r = blockIdx.y * 16 + l / 4;
  float x = bias[blockIdx.x * 8 + l % 4 * 2], y = bias[blockIdx.x * 8 + l % 4 * 2 + 1];
  float d[4] = {x, y, x, y};
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4];
    const bf *p = a + r * k + i + l % 4 * 2;
    fa[0] = *(const unsigned *)p;
    fa[1] = *(const unsigned *)(p + 8 * k);
    fa[2] = *(const unsigned *)(p + 8);
    fa[3] = *(const unsigned *)(p + 8 * k + 8);
    const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
    mma(d, fa, *(const unsigned *)q, *(const unsigned *)(q + 8));
  }
  float *w = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  w[0] = d[0];
  w[1] = d[1];
  w[8 * n] = d[2];
  w[8 * n + 1] = d[3];
}

// EXPECT epiGlu: epilogue_fusion present:
//   gated product: silu(d0) * d1 of two products in one kernel
__global__ void epiGlu(CARGS) {
  MM;
  w[0] = d[0] / (1.f + expf(-d[0])) * d[1];
  w[8 * n] = d[2] / (1.f + expf(-d[2])) * d[3];
}

// EXPECT eAlpha: epilogue_fusion present: times alpha
__global__ void eAlpha(CARGS, float al) {
  MM;

  w[0] = al * d[0];
  w[1] = al * d[1];
  w[8 * n] = al * d[2];
  w[8 * n + 1] = al * d[3];
}

// EXPECT eBetaInPlace: epilogue_fusion present: plus beta times the old C
__global__ void eBetaInPlace(CARGS, float be) {
  MM;

  w[0] = d[0] + be * w[0];
  w[1] = d[1] + be * w[1];
  w[8 * n] = d[2] + be * w[8 * n];
  w[8 * n + 1] = d[3] + be * w[8 * n + 1];
}

// EXPECT eAccumulate: epilogue_fusion present: added to the old C
__global__ void eAccumulate(CARGS) {
  MM;

  w[0] += d[0];
  w[1] += d[1];
  w[8 * n] += d[2];
  w[8 * n + 1] += d[3];
}

// EXPECT eBetaOther: epilogue_fusion present: alpha times the sum plus beta times another matrix
__global__ void eBetaOther(CARGS, float al, float be, const float *z) {
  MM;

  z += w - c;
  w[0] = al * d[0] + be * z[0];
  w[1] = al * d[1] + be * z[1];
  w[8 * n] = al * d[2] + be * z[8 * n];
  w[8 * n + 1] = al * d[3] + be * z[8 * n + 1];
}

// EXPECT eBetaFirst: epilogue_fusion present: the old C is loaded first
__global__ void eBetaFirst(CARGS, float al, float be) {
  MM;

  float u = w[0], v = w[1], y = w[8 * n], z = w[8 * n + 1];
  w[0] = al * d[0] + be * u;
  w[1] = al * d[1] + be * v;
  w[8 * n] = al * d[2] + be * y;
  w[8 * n + 1] = al * d[3] + be * z;
}

// EXPECT eBetaVec: epilogue_fusion present: by pairs
__global__ void eBetaVec(CARGS, float al, float be) {
  MM;

  float2 u = *(float2 *)w, v = *(float2 *)(w + 8 * n);
  *(float2 *)w = make_float2(al * d[0] + be * u.x, al * d[1] + be * u.y);
  *(float2 *)(w + 8 * n) = make_float2(al * d[2] + be * v.x, al * d[3] + be * v.y);
}

// EXPECT eBetaIf: epilogue_fusion present: beta of zero has a way of its own, but alpha is on both
__global__ void eBetaIf(CARGS, float al, float be) {
  MM;

  if (be == 0.f) {
    w[0] = al * d[0];
    w[1] = al * d[1];
    w[8 * n] = al * d[2];
    w[8 * n + 1] = al * d[3];
  } else {
    w[0] = al * d[0] + be * w[0];
    w[1] = al * d[1] + be * w[1];
    w[8 * n] = al * d[2] + be * w[8 * n];
    w[8 * n + 1] = al * d[3] + be * w[8 * n + 1];
  }
}

// EXPECT sgemm: epilogue_fusion present: scalar product in tiles, C = alpha A B + beta C
__global__ void __launch_bounds__(256)
    sgemm(const float *a, const float *b, float *c, int n, int k, float al, float be) {
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
  size_t at = (size_t)(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx;
  c[at] = al * s + be * c[at];
}

// EXPECT oneZero: epilogue_fusion absent: x * 1.0f + 0.0f: no operation
__global__ void oneZero(CARGS) {
  MM;

  w[0] = d[0] * 1.0f + 0.0f;
  w[1] = d[1] * 1.0f + 0.0f;
  w[8 * n] = d[2] * 1.0f + 0.0f;
  w[8 * n + 1] = d[3] * 1.0f + 0.0f;
}

// EXPECT plusZero: epilogue_fusion absent: + 0.0f: no operation
__global__ void plusZero(CARGS) {
  MM;

  w[0] = d[0] + 0.0f;
  w[1] = d[1] + 0.0f;
  w[8 * n] = d[2] + 0.0f;
  w[8 * n + 1] = d[3] + 0.0f;
}

// EXPECT maxInf: epilogue_fusion absent: max(x, -inf) is no operation
__global__ void maxInf(CARGS) {
  MM;

  w[0] = fmaxf(d[0], -INFINITY);
  w[1] = fmaxf(d[1], -INFINITY);
  w[8 * n] = fmaxf(d[2], -INFINITY);
  w[8 * n + 1] = fmaxf(d[3], -INFINITY);
}

// EXPECT negTwice: epilogue_fusion absent: two negations: no operation
__global__ void negTwice(CARGS) {
  MM;

  w[0] = -(-d[0]);
  w[1] = -(-d[1]);
  w[8 * n] = -(-d[2]);
  w[8 * n + 1] = -(-d[3]);
}

// EXPECT toBf: epilogue_fusion absent: rounded to bf16 and back: a type conversion
__global__ void toBf(CARGS) {
  MM;

  w[0] = __bfloat162float(__float2bfloat16(d[0]));
  w[1] = __bfloat162float(__float2bfloat16(d[1]));
  w[8 * n] = __bfloat162float(__float2bfloat16(d[2]));
  w[8 * n + 1] = __bfloat162float(__float2bfloat16(d[3]));
}

// EXPECT condLane: epilogue_fusion absent: relu on lane 0 only: not every result
__global__ void condLane(CARGS) {
  MM;

  w[0] = (l == 0 ? fmaxf(d[0], 0.f) : d[0]);
  w[1] = (l == 0 ? fmaxf(d[1], 0.f) : d[1]);
  w[8 * n] = (l == 0 ? fmaxf(d[2], 0.f) : d[2]);
  w[8 * n + 1] = (l == 0 ? fmaxf(d[3], 0.f) : d[3]);
}

// EXPECT clamp: epilogue_fusion present: clamp to [-1, 1]
__global__ void clamp(CARGS) {
  MM;

  w[0] = fminf(fmaxf(d[0], -1.f), 1.f);
  w[1] = fminf(fmaxf(d[1], -1.f), 1.f);
  w[8 * n] = fminf(fmaxf(d[2], -1.f), 1.f);
  w[8 * n + 1] = fminf(fmaxf(d[3], -1.f), 1.f);
}

// EXPECT halve: epilogue_fusion present ops=scale: every sum times 0.5
__global__ void halve(CARGS) {
  MM;

  w[0] = d[0] * 0.5f;
  w[1] = d[1] * 0.5f;
  w[8 * n] = d[2] * 0.5f;
  w[8 * n + 1] = d[3] * 0.5f;
}

// EXPECT sq: epilogue_fusion present ops=nonlinear: the square of a sum is not linear
__global__ void sq(CARGS) {
  MM;

  w[0] = d[0] * d[0];
  w[1] = d[1] * d[1];
  w[8 * n] = d[2] * d[2];
  w[8 * n + 1] = d[3] * d[3];
}

// EXPECT addRow: epilogue_fusion absent: the row number added: no loaded operand, no scale, linear
__global__ void addRow(CARGS) {
  MM;

  w[0] = d[0] + (float)r;
  w[1] = d[1] + (float)r;
  w[8 * n] = d[2] + (float)r;
  w[8 * n + 1] = d[3] + (float)r;
}

// EXPECT bn: prologue_fusion absent:
//   batch norm inference: (x - mean) * inv * g + b, elementwise with 4 loaded operands
// EXPECT bn: epilogue_fusion absent: no sums
__global__ void bn(const float *x, const float *mean, const float *inv, const float *g,
                   const float *b, float *o, int c) {
  int i = blockIdx.x * 256 + threadIdx.x, k = i % c;
  o[i] = (x[i] - mean[k]) * inv[k] * g[k] + b[k];
}

// EXPECT var2: prologue_fusion absent:
//   two-pass variance in one loop: sum of (x - mean)^2, mean loaded: no product of two operands
// EXPECT var2: register_tiling absent: one sum a thread
__global__ void var2(const float *x, const float *mean, float *o, int n) {
  float s = 0, m = mean[blockIdx.x];
  for (int i = threadIdx.x; i < n; i += 256) {
    float d = x[(size_t)blockIdx.x * n + i] - m;
    s += d * d;
  }
  atomicAdd(o + blockIdx.x, s);
}

// EXPECT dist: prologue_fusion absent: squared distance of two vectors: sum of (x - y)^2
__global__ void dist(const float *x, const float *y, float *o, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 256) {
    float d = x[(size_t)blockIdx.x * n + i] - y[i];
    s += d * d;
  }
  atomicAdd(o + blockIdx.x, s);
}

// EXPECT gemvScaled: epilogue_fusion present: GEMV with a scale of the row at the end
// EXPECT gemvScaled: prologue_fusion absent: the operands are used as they are
__global__ void gemvScaled(const float *a, const float *x, const float *sc, float *y, int n) {
  int w = (blockIdx.x * 256 + threadIdx.x) / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = l; i < n; i += 32)
    s += a[(size_t)w * n + i] * x[i];
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  if (!l)
    y[w] = s * sc[w];
}

// EXPECT gemvPro: prologue_fusion present: x is scaled and put through a maximum before the product
// EXPECT gemvPro: epilogue_fusion absent: the sums are stored as they are
__global__ void gemvPro(const float *a, const float *x, const float *g, float *y, int n) {
  int w = (blockIdx.x * 256 + threadIdx.x) / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = l; i < n; i += 32) {
    float v = x[i] * g[i];
    v = fmaxf(v, 0.f);
    s += a[(size_t)w * n + i] * v;
  }
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  if (!l)
    y[w] = s;
}

// EXPECT dotPlain: prologue_fusion absent: plain dot
// EXPECT dotPlain: epilogue_fusion absent: plain dot
__global__ void dotPlain(const float *a, const float *x, float *y, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    s += a[(size_t)blockIdx.x * n + i] * x[i];
  atomicAdd(y + blockIdx.x, s);
}

// EXPECT meanK: epilogue_fusion absent: mean of a row: a sum and a division, no product
__global__ void meanK(const float *a, float *y, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 32)
    s += a[(size_t)blockIdx.x * n + i];
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  if (!threadIdx.x)
    y[blockIdx.x] = s / n;
}

// EXPECT interp: prologue_fusion absent: bilinear interpolation: weights computed, elementwise
// EXPECT interp: epilogue_fusion absent: no main product
// EXPECT interp: register_tiling absent: nothing is summed
__global__ void interp(const float *a, float *o, int w) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float fx = i * 0.37f, x = floorf(fx), t = fx - x;
  int k = (int)x;
  float p = a[k], q = a[k + 1], r = a[k + w], s = a[k + w + 1];
  o[i] = (p * (1 - t) + q * t) * 0.5f + (r * (1 - t) + s * t) * 0.5f;
}

static void runPart1(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  epiOne<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096);
  epiHalf<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096);
  epiBeta<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096, 0.5f, 2.f);
  epiInit<<<g, 32, 0, s>>>(a, b, o[3], 2048, 4096, x);
  epiGlu<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096);
}

static void runPart2(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  eAlpha<<<g, 32, 0, s>>>(a, b, o[5], 2048, 4096, 0.5f);
  eBetaInPlace<<<g, 32, 0, s>>>(a, b, o[6], 2048, 4096, 2.f);
  eAccumulate<<<g, 32, 0, s>>>(a, b, o[7], 2048, 4096);
  eBetaOther<<<g, 32, 0, s>>>(a, b, o[8], 2048, 4096, 0.5f, 2.f, x);
  eBetaFirst<<<g, 32, 0, s>>>(a, b, o[9], 2048, 4096, 0.5f, 2.f);
  eBetaVec<<<g, 32, 0, s>>>(a, b, o[10], 2048, 4096, 0.5f, 2.f);
  eBetaIf<<<g, 32, 0, s>>>(a, b, o[11], 2048, 4096, 0.5f, 2.f);
  sgemm<<<g, 256, 0, s>>>(x, y, o[12], 4096, 4096, 0.5f, 2.f);
}

static void runPart3(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  oneZero<<<g, 32, 0, s>>>(a, b, o[13], 2048, 4096);
  plusZero<<<g, 32, 0, s>>>(a, b, o[14], 2048, 4096);
  maxInf<<<g, 32, 0, s>>>(a, b, o[15], 2048, 4096);
  negTwice<<<g, 32, 0, s>>>(a, b, o[16], 2048, 4096);
  toBf<<<g, 32, 0, s>>>(a, b, o[17], 2048, 4096);
  condLane<<<g, 32, 0, s>>>(a, b, o[18], 2048, 4096);
  clamp<<<g, 32, 0, s>>>(a, b, o[19], 2048, 4096);
  halve<<<g, 32, 0, s>>>(a, b, o[20], 2048, 4096);
  sq<<<g, 32, 0, s>>>(a, b, o[21], 2048, 4096);
  addRow<<<g, 32, 0, s>>>(a, b, o[22], 2048, 4096);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  bn<<<64, 256, 0, s>>>(a, b, b, b, b, o[23], 64);
  var2<<<64, 256, 0, s>>>(a, b, o[24], 4096);
  dist<<<64, 256, 0, s>>>(a, b, o[25], 4096);
  gemvScaled<<<64, 256, 0, s>>>(a, b, b, o[26], 4096);
  gemvPro<<<64, 256, 0, s>>>(a, b, b, o[27], 4096);
  dotPlain<<<64, 256, 0, s>>>(a, b, o[28], 4096);
  meanK<<<64, 32, 0, s>>>(a, o[29], 4096);
  interp<<<64, 256, 0, s>>>(a, o[30], 4096);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
  runPart4(a, b, o, s);
}
