// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sums in registers are a register tile: operands that are used for several of them,
// against partial sums, squares, chains and elementwise arithmetic.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include "Inputs/Sm90.h"

// EXPECT gemv8: register_tiling absent:
//   8 rows a thread: x is used 8 times, matrix values once: 16 uses of 9 values = 1.78
__global__ void gemv8(const float *__restrict__ a, const float *__restrict__ x, float *y, int k) {
  float s[8] = {};
  int row = (blockIdx.x * 8 + threadIdx.x / 32) * 8, l = threadIdx.x % 32;
  for (int i = l; i < k; i += 32) {
    float v = x[i];
#pragma unroll
    for (int r = 0; r < 8; ++r)
      s[r] += a[(size_t)(row + r) * k + i] * v;
  }
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    for (int o = 16; o; o >>= 1)
      s[r] += __shfl_xor_sync(~0u, s[r], o);
    if (!l)
      y[row + r] = s[r];
  }
}

// EXPECT dot4: register_tiling absent: four partial sums of one dot product, no operand used twice
__global__ void dot4(const float4 *__restrict__ a, const float4 *__restrict__ x, float *y, int k) {
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int i = threadIdx.x; i < k; i += 256) {
    float4 p = a[(size_t)blockIdx.x * k + i], q = x[i];
    s0 += p.x * q.x;
    s1 += p.y * q.y;
    s2 += p.z * q.z;
    s3 += p.w * q.w;
  }
  float s = s0 + s1 + s2 + s3;
  atomicAdd(&y[blockIdx.x], s);
}

// EXPECT conv4: register_tiling present accumulators=16:
//   direct convolution: 4 pixels x 4 channels of output, taps and pixels in registers
__global__ void __launch_bounds__(128)
    conv4(const float *__restrict__ in, const float *__restrict__ w, float *out, int width,
          int ci) {
  float acc[4][4] = {};
  int x = (blockIdx.x * 128 + threadIdx.x) * 4, co = blockIdx.y * 4;
  for (int c = 0; c < ci; ++c) {
    float p[6], f[4][3];
#pragma unroll
    for (int i = 0; i < 6; ++i)
      p[i] = in[(size_t)c * width + x + i];
#pragma unroll
    for (int o = 0; o < 4; ++o)
#pragma unroll
      for (int t = 0; t < 3; ++t)
        f[o][t] = w[((co + o) * ci + c) * 3 + t];
#pragma unroll
    for (int o = 0; o < 4; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int t = 0; t < 3; ++t)
          acc[o][i] += f[o][t] * p[i + t];
  }
#pragma unroll
  for (int o = 0; o < 4; ++o)
    *(float4 *)(out + (size_t)(co + o) * width + x) =
        make_float4(acc[o][0], acc[o][1], acc[o][2], acc[o][3]);
}

// EXPECT padGemm: smem_padding present bytes=4: A tile [64][17]: column reads of a tiled product
// EXPECT padGemm: smem_tiling present: both tiles are read by 16 threads each
// EXPECT padGemm: register_tiling present accumulators=16: 4 x 4 sums a thread, 8 operands
__global__ void __launch_bounds__(256)
    padGemm(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[64][17], B[16][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[4][4] = {};
  for (int i = 0; i < k; i += 16) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      A[ty + 16 * j][tx] = a[(size_t)(blockIdx.y * 64 + ty + 16 * j) * k + i + tx];
      B[threadIdx.x / 64 + 4 * j][threadIdx.x % 64] =
          b[(size_t)(i + threadIdx.x / 64 + 4 * j) * n + blockIdx.x * 64 + threadIdx.x % 64];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      float x[4], y[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[j] = A[tx + 16 * j][kk];
        y[j] = B[kk][ty + 16 * j];
      }
#pragma unroll
      for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int v = 0; v < 4; ++v)
          acc[u][v] += x[u] * y[v];
    }
    __syncthreads();
  }
#pragma unroll
  for (int u = 0; u < 4; ++u)
#pragma unroll
    for (int v = 0; v < 4; ++v)
      c[(size_t)(blockIdx.y * 64 + tx + 16 * u) * n + blockIdx.x * 64 + ty + 16 * v] = acc[u][v];
}

// EXPECT acc1used: register_tiling absent:
//   sixteen accumulators, but all products use different operands (elementwise sums of products),
//   no reuse
__global__ void acc1used(const float4 *a, const float4 *b, float4 *o, int k) {
  float4 s0 = {}, s1 = {};
  for (int i = 0; i < k; ++i) {
    size_t at = ((size_t)i * gridDim.x + blockIdx.x) * 512 + threadIdx.x;
    float4 x = a[at], y = b[at], u = a[at + 256], v = b[at + 256];
    s0.x += x.x * y.x;
    s0.y += x.y * y.y;
    s0.z += x.z * y.z;
    s0.w += x.w * y.w;
    s1.x += u.x * v.x;
    s1.y += u.y * v.y;
    s1.z += u.z * v.z;
    s1.w += u.w * v.w;
  }
  o[blockIdx.x * 512 + threadIdx.x] = s0;
  o[blockIdx.x * 512 + 256 + threadIdx.x] = s1;
}

// EXPECT outer8: register_tiling present accumulators=64:
//   outer product 8x8 from global memory directly
// EXPECT outer8: tile_shape not-present: one thread's tile
__global__ void __launch_bounds__(64)
    outer8(const float *a, const float *b, float *c, int n, int k) {
  float acc[8][8] = {};
  int m0 = (blockIdx.y * 8 + threadIdx.x / 8) * 8, n0 = (blockIdx.x * 8 + threadIdx.x % 8) * 8;
  for (int i = 0; i < k; ++i) {
    float x[8], y[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      x[j] = a[(size_t)i * n + m0 + j];
      y[j] = b[(size_t)i * n + n0 + j];
    }
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
      for (int v = 0; v < 8; ++v)
        acc[u][v] += x[u] * y[v];
  }
#pragma unroll
  for (int u = 0; u < 8; ++u)
#pragma unroll
    for (int v = 0; v < 8; ++v)
      c[(size_t)(m0 + u) * n + n0 + v] = acc[u][v];
}

// EXPECT sumsq4: register_tiling absent:
//   four partial sums of squares in a loop: no operand is shared between accumulators
__global__ void sumsq4(const float4 *a, float *o, int k) {
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int i = threadIdx.x; i < k; i += 256) {
    float4 v = a[(size_t)blockIdx.x * k + i];
    s0 += v.x * v.x;
    s1 += v.y * v.y;
    s2 += v.z * v.z;
    s3 += v.w * v.w;
  }
  atomicAdd(o + blockIdx.x, s0 + s1 + s2 + s3);
}

// EXPECT moments4: register_tiling absent:
//   sums and sums of squares of four columns: no product of two operands
__global__ void moments4(const float4 *a, float *o, int k) {
  float s[4] = {}, q[4] = {};
  for (int i = 0; i < k; ++i) {
    float4 v = a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
    s[0] += v.x;
    s[1] += v.y;
    s[2] += v.z;
    s[3] += v.w;
    q[0] += v.x * v.x;
    q[1] += v.y * v.y;
    q[2] += v.z * v.z;
    q[3] += v.w * v.w;
  }
  for (int j = 0; j < 4; ++j) {
    o[(blockIdx.x * 256 + threadIdx.x) * 8 + j] = s[j];
    o[(blockIdx.x * 256 + threadIdx.x) * 8 + 4 + j] = q[j];
  }
}

// EXPECT poly: register_tiling absent:
//   polynomial of degree 8 on 4 elements (Horner): coefficients are constants, each accumulator is
//   a chain of its own
__global__ void poly(const float4 *a, float4 *o) {
  float4 x = a[blockIdx.x * 256 + threadIdx.x], y = make_float4(1, 1, 1, 1);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    y.x = y.x * x.x + 0.3f * i;
    y.y = y.y * x.y + 0.3f * i;
    y.z = y.z * x.z + 0.3f * i;
    y.w = y.w * x.w + 0.3f * i;
  }
  o[blockIdx.x * 256 + threadIdx.x] = y;
}

// EXPECT saxpyN: register_tiling absent:
//   y += alpha * x for 8 elements a thread: alpha is a scalar parameter, no sums over a loop
__global__ void saxpyN(const float4 *a, float4 *o, float al) {
  int i = blockIdx.x * 512 + threadIdx.x;
  float4 u = a[i], v = a[i + 256], p = o[i], q = o[i + 256];
  p.x += al * u.x;
  p.y += al * u.y;
  p.z += al * u.z;
  p.w += al * u.w;
  q.x += al * v.x;
  q.y += al * v.y;
  q.z += al * v.z;
  q.w += al * v.w;
  o[i] = p;
  o[i + 256] = q;
}

// EXPECT rope: register_tiling absent:
//   rotation of pairs: cos and sin used twice, but nothing is accumulated over the region
// EXPECT rope: tile_shape absent: no main product
// EXPECT rope: epilogue_fusion absent: no main product
__global__ void rope(const float4 *x, const float2 *cs, float4 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = x[i];
  float2 c0 = cs[2 * threadIdx.x], c1 = cs[2 * threadIdx.x + 1];
  o[i] = make_float4(v.x * c0.x - v.y * c0.y, v.x * c0.y + v.y * c0.x, v.z * c1.x - v.w * c1.y,
                     v.z * c1.y + v.w * c1.x);
}

// EXPECT cmul: register_tiling absent:
//   complex multiplication of two arrays, 2 per thread, elementwise
__global__ void cmul(const float4 *a, const float4 *b, float4 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 u = a[i], v = b[i];
  o[i] = make_float4(u.x * v.x - u.y * v.y, u.x * v.y + u.y * v.x, u.z * v.z - u.w * v.w,
                     u.z * v.w + u.w * v.z);
}

// EXPECT fir: register_tiling present:
//   FIR filter: 8 outputs a thread, taps in registers reused 8 times, sliding window
__global__ void fir(const float *a, const float *w, float *o, int taps) {
  float acc[8] = {}, win[8];
  const float *p = a + (size_t)(blockIdx.x * 128 + threadIdx.x) * 8;
#pragma unroll
  for (int j = 0; j < 8; ++j)
    win[j] = p[j];
  for (int t = 0; t < taps; ++t) {
    float f = w[t];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      acc[j] += f * win[j];
#pragma unroll
    for (int j = 0; j < 7; ++j)
      win[j] = win[j + 1];
    win[7] = p[t + 8];
  }
#pragma unroll
  for (int j = 0; j < 8; ++j)
    o[(size_t)(blockIdx.x * 128 + threadIdx.x) * 8 + j] = acc[j];
}

// EXPECT welford: register_tiling absent: Welford update of 4 columns
__global__ void welford(const float4 *a, float4 *o, int k) {
  float4 m = {}, q = {};
  for (int i = 0; i < k; ++i) {
    float4 v = a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
    float r = 1.f / (i + 1);
    float d;
    d = v.x - m.x;
    m.x += d * r;
    q.x += d * (v.x - m.x);
    d = v.y - m.y;
    m.y += d * r;
    q.y += d * (v.y - m.y);
    d = v.z - m.z;
    m.z += d * r;
    q.z += d * (v.z - m.z);
    d = v.w - m.w;
    m.w += d * r;
    q.w += d * (v.w - m.w);
  }
  o[blockIdx.x * 512 + threadIdx.x] = m;
  o[blockIdx.x * 512 + 256 + threadIdx.x] = q;
}

// EXPECT rms: register_tiling absent: RMS norm with weights, bf16-like halves: x * inv * w
// EXPECT rms: epilogue_fusion absent: no main product
// EXPECT rms: prologue_fusion absent: no main product
__global__ void __launch_bounds__(256) rms(const float4 *x, const float4 *w, float4 *y) {
  __shared__ float r[8];
  float4 v[4];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[i] = x[(size_t)blockIdx.x * 1024 + i * 256 + threadIdx.x];
    s += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
  }
  for (int o = 16; o; o /= 2)
    s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0)
    r[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i)
    s += r[i];
  float inv = rsqrtf(s / 4096 + 1e-6f);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float4 g = w[i * 256 + threadIdx.x];
    y[(size_t)blockIdx.x * 1024 + i * 256 + threadIdx.x] =
        make_float4(v[i].x * inv * g.x, v[i].y * inv * g.y, v[i].z * inv * g.z, v[i].w * inv * g.w);
  }
}

// EXPECT softcap: epilogue_fusion absent: elementwise tanh, no main product
// EXPECT softcap: register_tiling absent: nothing is summed
__global__ void softcap(const float4 *x, float4 *y, float c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = x[i];
  y[i] =
      make_float4(c * tanhf(v.x / c), c * tanhf(v.y / c), c * tanhf(v.z / c), c * tanhf(v.w / c));
}

// EXPECT ln: vector_global_access present direction=load bytes=16 share=1:
//   layer norm: a row of 4096 floats in registers of 256 threads (4 float4)
// EXPECT ln: coalesced_global_access present direction=load share=1: consecutive float4
// EXPECT ln: smem_tiling absent: only sums in shared memory
// EXPECT ln: register_tiling absent: no product of inputs
// EXPECT ln: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(256) ln(const float4 *x, float4 *y, float eps) {
  __shared__ float r[8];
  float4 v[4];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[i] = x[(size_t)blockIdx.x * 1024 + i * 256 + threadIdx.x];
    s += v[i].x + v[i].y + v[i].z + v[i].w;
  }
  auto all = [&](float z) {
    for (int o = 16; o; o /= 2)
      z += __shfl_xor_sync(~0u, z, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
      r[threadIdx.x / 32] = z;
    __syncthreads();
    z = 0;
    for (int i = 0; i < 8; ++i)
      z += r[i];
    return z;
  };
  float mean = all(s) / 4096, q = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float a = v[i].x - mean, b = v[i].y - mean, c = v[i].z - mean, d = v[i].w - mean;
    q += a * a + b * b + c * c + d * d;
  }
  float inv = rsqrtf(all(q) / 4096 + eps);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    y[(size_t)blockIdx.x * 1024 + i * 256 + threadIdx.x] = make_float4(
        (v[i].x - mean) * inv, (v[i].y - mean) * inv, (v[i].z - mean) * inv, (v[i].w - mean) * inv);
}

// EXPECT accDead: register_tiling absent: 16 sums, but 15 of them enter times literal 0
__global__ void __launch_bounds__(256)
    accDead(const float *a, const float *b, float *c, int n, int k) {
  float acc[4][4] = {};
  for (int i = 0; i < k; ++i) {
    float x[4], y[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      x[j] = a[(size_t)i * n + blockIdx.y * 64 + threadIdx.x / 16 * 4 + j];
      y[j] = b[(size_t)i * n + blockIdx.x * 64 + threadIdx.x % 16 * 4 + j];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int v = 0; v < 4; ++v)
        acc[u][v] += x[u] * y[v];
  }
  float r = acc[0][0];
#pragma unroll
  for (int u = 0; u < 16; ++u)
    if (u)
      r += 0.f * acc[u / 4][u % 4];
  c[(blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x] = r;
}

static void runPart1(float *p, float *q, int n, cudaStream_t st, float **o) {
  dim3 g(32, 32);
  gemv8<<<64, 256, 0, st>>>(p, q, o[0], 4096);
  dot4<<<64, 256, 0, st>>>((float4 *)p, (float4 *)q, o[1], 4096);
  conv4<<<dim3(64, 16), 128, 0, st>>>(p, q, o[2], 32768, 64);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(64, 64), t(32, 8);
  padGemm<<<dim3(32, 32), 256, 0, s>>>(a, b, o[3], 2048, 2048);
  acc1used<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)o[4], 64);
  outer8<<<dim3(32, 32), 64, 0, s>>>(a, b, o[5], 2048, 2048);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  sumsq4<<<64, 256, 0, s>>>((float4 *)a, o[6], 4096);
  moments4<<<4, 256, 0, s>>>((float4 *)a, o[7], 4096);
  poly<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[8]);
  saxpyN<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[9], 2.f);
  rope<<<64, 256, 0, s>>>((float4 *)a, (float2 *)b, (float4 *)o[10]);
  cmul<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)o[11]);
  fir<<<64, 128, 0, s>>>(a, b, o[12], 64);
  welford<<<4, 256, 0, s>>>((float4 *)a, (float4 *)o[13], 4096);
  rms<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)o[14]);
  softcap<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[15], 30.f);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  ln<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[16], 1e-5f);
}

static void runPart5(float *a, float *b, float **o, cudaStream_t s) {
  accDead<<<dim3(32, 32), 256, 0, s>>>(a, b, o[17], 2048, 2048);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, 0, s, o);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
  runPart4(a, b, o, s);
  runPart5(a, b, o, s);
}
