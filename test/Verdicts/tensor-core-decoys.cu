// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products whose results cannot change the output.
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

#define SCALAR(j)                                                                        \
  float t##j = 0;                                                                        \
  {                                                                                      \
    size_t rr = r + (j / 2) * 8;                                                         \
    int cc = blockIdx.x * 8 + l % 4 * 2 + j % 2;                                         \
    for (int i = 0; i < k; ++i)                                                          \
      t##j += __bfloat162float(a[rr * k + i]) * __bfloat162float(b[(size_t)cc * k + i]); \
  }

#define CARGS const bf *a, const bf *b, float *c, int n, int k

// EXPECT mmaClamped: tensor_core absent: the matrix result is clamped to [0, 0] before it is added
__global__ void mmaClamped(CARGS) {
  MM;
  SCALAR(0);
  SCALAR(1);
  SCALAR(2);
  SCALAR(3);

  w[0] = t0 + fminf(fmaxf(d[0], 0.f), 0.f);
  w[1] = t1 + fminf(fmaxf(d[1], 0.f), 0.f);
  w[8 * n] = t2 + fminf(fmaxf(d[2], 0.f), 0.f);
  w[8 * n + 1] = t3 + fminf(fmaxf(d[3], 0.f), 0.f);
}

// EXPECT mmaIfNan: tensor_core absent:
//   the matrix result is stored only where it is no number; the sums of the output are scalar
__global__ void mmaIfNan(CARGS) {
  MM;
  SCALAR(0);
  SCALAR(1);
  SCALAR(2);
  SCALAR(3);

  if (d[0] != d[0])
    t0 = d[0];
  w[0] = t0;
  w[1] = t1;
  w[8 * n] = t2;
  w[8 * n + 1] = t3;
}

// EXPECT mmaNeverThread: tensor_core absent:
//   stored only by threads with number > 1500, of which a block of 32 has none
__global__ void mmaNeverThread(CARGS) {
  MM;
  SCALAR(0);
  SCALAR(1);
  SCALAR(2);
  SCALAR(3);

  if (threadIdx.x > 1500) {
    w[0] = d[0];
    w[1] = d[1];
  } else {
    w[0] = t0;
    w[1] = t1;
  }
  w[8 * n] = t2;
  w[8 * n + 1] = t3;
}

// EXPECT mmaZeroTrips: tensor_core in ptx absent:
//   the product loop has zero trips at the launch (k = 0); the output is a copy of the bias (c
//   read)
__global__ void mmaZeroTrips(CARGS, const float *bias) {
  MM;

  w[0] = d[0] + bias[l];
  w[1] = d[1] + bias[l + 1];
  w[8 * n] = d[2] + bias[l];
  w[8 * n + 1] = d[3] + bias[l + 1];
}

// EXPECT mmaSelfCancel: tensor_core absent: d - d is added: zero whatever the product
__global__ void mmaSelfCancel(CARGS) {
  MM;
  SCALAR(0);
  SCALAR(1);
  SCALAR(2);
  SCALAR(3);

  asm volatile("" : "+f"(d[1]));
  float z;
  asm("sub.f32 %0, %1, %1;" : "=f"(z) : "f"(d[0]));
  w[0] = t0 + z;
  w[1] = t1 + z;
  w[8 * n] = t2 + z;
  w[8 * n + 1] = t3 + z;
}

// EXPECT mmaAnd: tensor_core absent:
//   bits of the product and-ed with a value that is shifted out: (x << 31) << 1
__global__ void mmaAnd(CARGS) {
  MM;
  SCALAR(0);
  SCALAR(1);
  SCALAR(2);
  SCALAR(3);

  unsigned z;
  asm("{.reg .u32 q; shl.b32 q, %1, 16; shl.b32 %0, q, 16;}"
      : "=r"(z)
      : "r"(__float_as_uint(d[0] + d[1] + d[2] + d[3])));
  w[0] = t0 + __uint_as_float(z);
  w[1] = t1;
  w[8 * n] = t2;
  w[8 * n + 1] = t3;
}

// EXPECT owMma: tensor_core absent:
//   mma result stored, then the scalar dot product over it, same thread same address
__global__ void owMma(const bf *a, const bf *b, float *c, int n, int k) {
  int l = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    for (int j = 0; j < 4; ++j)
      fa[j] = *(const unsigned *)(a + (size_t)(blockIdx.y * 8 + l / 4) * k + i + j * 4);
    for (int j = 0; j < 2; ++j)
      fb[j] = *(const unsigned *)(b + (size_t)(blockIdx.x * 4 + l % 4) * k + i + j * 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  volatile float *q = c + (size_t)(blockIdx.y * 8 + l / 4) * n + blockIdx.x * 4 + l % 4;
  *q = d[0] + d[1] + d[2] + d[3];
  float s = 0;
  for (int i = 0; i < k; ++i)
    s += __bfloat162float(a[(size_t)(blockIdx.y * 8 + l / 4) * k + i]) *
         __bfloat162float(b[(size_t)(blockIdx.x * 4 + l % 4) * k + i]);
  *q = s;
}

// EXPECT zeroPad: tensor_core absent:
//   operands loaded, but multiplied by a literal zero mask before the product, scalar sum besides
__global__ void zeroPad(const bf *a, const bf *b, float *c, int n, int k) {
  int l = threadIdx.x;
  float d[4] = {}, s = 0;
  for (int i = 0; i < k; i += 16) {
    unsigned fa[4], fb[2];
    for (int j = 0; j < 4; ++j)
      fa[j] =
          *(const unsigned *)(a + (size_t)(blockIdx.y * 8 + l / 4) * k + i + j * 4) & 0x00000000u;
    for (int j = 0; j < 2; ++j)
      fb[j] = *(const unsigned *)(b + (size_t)(blockIdx.x * 4 + l % 4) * k + i + j * 8);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    for (int j = 0; j < 16; ++j)
      s += __bfloat162float(a[(size_t)(blockIdx.y * 8 + l / 4) * k + i + j]) *
           __bfloat162float(b[(size_t)(blockIdx.x * 4 + l % 4) * k + i + j]);
  }
  c[(size_t)(blockIdx.y * 8 + l / 4) * n + blockIdx.x * 4 + l % 4] = s + d[0] + d[1];
}

struct P {
  int mode, pad;
  const float *x;
  float *y;
};

// EXPECT blk0: tensor_core absent:
//   the mma path is taken by block 0 only; the other 4095 blocks use scalar loops: not on every
//   path
__global__ void blk0(const bf *a, const bf *b, float *c, int n, int k) {
  int l = threadIdx.x;
  size_t r = blockIdx.y * 16 + l / 4;
  float d[4] = {};
  if (blockIdx.x == 0 && blockIdx.y == 0) {
    for (int i = 0; i < k; i += 16) {
      unsigned fa[4];
      const bf *p = a + r * k + i + l % 4 * 2,
               *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + i + l % 4 * 2;
      fa[0] = *(const unsigned *)p;
      fa[1] = *(const unsigned *)(p + 8 * k);
      fa[2] = *(const unsigned *)(p + 8);
      fa[3] = *(const unsigned *)(p + 8 * k + 8);
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(*(const unsigned *)q),
            "r"(*(const unsigned *)(q + 8)));
    }
  } else
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < k; ++i)
        d[j] += __bfloat162float(a[(r + j / 2 * 8) * k + i]) *
                __bfloat162float(b[(size_t)(blockIdx.x * 8 + l % 4 * 2 + j % 2) * k + i]);
  float *w = c + r * n + blockIdx.x * 8 + l % 4 * 2;
  w[0] = d[0];
  w[1] = d[1];
  w[8 * n] = d[2];
  w[8 * n + 1] = d[3];
}

static void runPart1(float *x, float *y, float **o, cudaStream_t s) {
  dim3 g(256, 128);
  const bf *a = (bf *)x, *b = (bf *)y;
  mmaClamped<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096);
  mmaIfNan<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096);
  mmaNeverThread<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096);
  mmaZeroTrips<<<g, 32, 0, s>>>(a, b, o[3], 2048, 0, x);
  mmaSelfCancel<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096);
  mmaAnd<<<g, 32, 0, s>>>(a, b, o[5], 2048, 4096);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  owMma<<<dim3(512, 256), 32, 0, s>>>((bf *)a, (bf *)b, o[6], 2048, 4096);
  zeroPad<<<dim3(512, 256), 32, 0, s>>>((bf *)a, (bf *)b, o[7], 2048, 4096);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  P p = {0, 0, a, o[8]};
  blk0<<<dim3(256, 128), 32, 0, s>>>((bf *)a, (bf *)b, o[9], 2048, 2048);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
