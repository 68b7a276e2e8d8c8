// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary arithmetic whose machine code looks like sums of products: divisions, index
// arithmetic, hashes, averages.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_fp16.h>
#include <cuda_runtime.h>

// EXPECT idx: register_tiling absent: index arithmetic by IMAD with shared factors
// EXPECT idx: vector_global_access absent: one word a thread
__global__ void idx(const int *a, int *o, int s0, int s1, int s2, int s3) {
  int i = blockIdx.x * 256 + threadIdx.x;
  int x = i / (s1 * s2), y = i / s2 % s1, z = i % s2;
  o[(z * s1 + y) * s0 + x] = a[x * s3 + y * s2 + z] + 1;
}

// EXPECT dbl: register_tiling absent: double divisions, elementwise
__global__ void dbl(const double2 *a, double2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  double2 v = a[i];
  o[i] = make_double2(v.x / (v.y * v.y + 1.0), v.y / (v.x * v.x + 2.0));
}

// EXPECT udiv: register_tiling absent: integer divisions by run-time numbers
__global__ void udiv(const uint4 *a, uint4 *o, unsigned d) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint4 v = a[i];
  o[i] = make_uint4(v.x / d, v.y / d, v.z % d, v.w % d);
}

// EXPECT lcg: register_tiling absent: random numbers: 4 linear congruential generators, 16 steps
__global__ void lcg(const uint4 *a, uint4 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint4 v = a[i];
#pragma unroll 1
  for (int k = 0; k < 16; ++k) {
    v.x = v.x * 1664525u + 1013904223u;
    v.y = v.y * 1664525u + 1013904223u;
    v.z = v.z * 1664525u + 1013904223u;
    v.w = v.w * 1664525u + 1013904223u;
  }
  o[i] = v;
}

// EXPECT hash4: register_tiling absent: multiplicative hash of bytes, four lanes
__global__ void hash4(const uint4 *a, uint4 *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned h0 = 1, h1 = 2, h2 = 3, h3 = 4;
  for (int k = 0; k < n; ++k) {
    uint4 v = a[(size_t)k * 16384 + i];
    h0 = h0 * 31 + v.x;
    h1 = h1 * 31 + v.y;
    h2 = h2 * 31 + v.z;
    h3 = h3 * 31 + v.w;
  }
  o[i] = make_uint4(h0, h1, h2, h3);
}

// EXPECT ema: register_tiling absent:
//   exponential moving averages of 4 columns: y = y * b + x * (1 - b)
__global__ void ema(const float4 *a, float4 *o, int n, float b) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 y = {};
  float c = 1 - b;
  for (int k = 0; k < n; ++k) {
    float4 v = a[(size_t)k * 16384 + i];
    y.x = y.x * b + v.x * c;
    y.y = y.y * b + v.y * c;
    y.z = y.z * b + v.z * c;
    y.w = y.w * b + v.w * c;
    o[(size_t)k * 16384 + i] = y;
  }
}

// EXPECT colsum: register_tiling absent:
//   four weighted column sums sharing the row's weight: w used 4 times, x once: 8 uses of 5 values
//   = 1.6
__global__ void colsum(const float4 *a, const float *w, float4 *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 y = {};
  for (int k = 0; k < n; ++k) {
    float4 v = a[(size_t)k * 16384 + i];
    float z = w[k];
    y.x += v.x * z;
    y.y += v.y * z;
    y.z += v.z * z;
    y.w += v.w * z;
  }
  o[i] = y;
}

// EXPECT kmeans: register_tiling absent:
//   distances to eight centres: squares of differences, one after the other
__global__ void kmeans(const float4 *p, const float4 *c, int *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = p[i];
  float best = 1e30f;
  int at = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    float4 q = c[k];
    float dx = v.x - q.x, dy = v.y - q.y, dz = v.z - q.z, dw = v.w - q.w,
          d = dx * dx + dy * dy + dz * dz + dw * dw;
    if (d < best) {
      best = d;
      at = k;
    }
  }
  o[i] = at;
}

// EXPECT mandel: register_tiling absent: Mandelbrot iteration, 2 points a thread
__global__ void mandel(const float4 *a, int2 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = a[i];
  float x = 0, y = 0, u = 0, w = 0;
  int n = 0, m = 0;
  for (int k = 0; k < 100; ++k) {
    float t = x * x - y * y + v.x;
    y = 2 * x * y + v.y;
    x = t;
    n += x * x + y * y < 4;
    float s = u * u - w * w + v.z;
    w = 2 * u * w + v.w;
    u = s;
    m += u * u + w * w < 4;
  }
  o[i] = make_int2(n, m);
}

// EXPECT adam: register_tiling absent: Adam step, float4
// EXPECT adam: epilogue_fusion absent: no product over a region
__global__ void adam(float4 *p, const float4 *g, float4 *m, float4 *v, float lr, float b1, float b2,
                     float eps) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 P = p[i], G = g[i], M = m[i], V = v[i];
#define S(c)                             \
  M.c = b1 * M.c + (1 - b1) * G.c;       \
  V.c = b2 * V.c + (1 - b2) * G.c * G.c; \
  P.c -= lr * M.c / (sqrtf(V.c) + eps);
  S(x) S(y) S(z) S(w) p[i] = P;
  m[i] = M;
  v[i] = V;
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

// EXPECT argmax: register_tiling absent: no product of inputs
// EXPECT argmax: smem_tiling absent: partial results only
// EXPECT argmax: vector_global_access present direction=load bytes=16: float4
__global__ void __launch_bounds__(256) argmax(const float4 *x, int *o, int n4) {
  __shared__ float sv[8];
  __shared__ int si[8];
  float best = -1e30f;
  int at = 0;
  for (int i = threadIdx.x; i < n4; i += 256) {
    float4 v = x[(size_t)blockIdx.x * n4 + i];
    if (v.x > best) {
      best = v.x;
      at = 4 * i;
    }
    if (v.y > best) {
      best = v.y;
      at = 4 * i + 1;
    }
    if (v.z > best) {
      best = v.z;
      at = 4 * i + 2;
    }
    if (v.w > best) {
      best = v.w;
      at = 4 * i + 3;
    }
  }
  for (int k = 16; k; k /= 2) {
    float b = __shfl_xor_sync(~0u, best, k);
    int a = __shfl_xor_sync(~0u, at, k);
    if (b > best || (b == best && a < at)) {
      best = b;
      at = a;
    }
  }
  if (threadIdx.x % 32 == 0) {
    sv[threadIdx.x / 32] = best;
    si[threadIdx.x / 32] = at;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; ++i)
      if (sv[i] > best) {
        best = sv[i];
        at = si[i];
      }
    o[blockIdx.x] = at;
  }
}

static void runPart1(float4 *a, float4 *b, float4 **o, cudaStream_t s) {
  idx<<<64, 256, 0, s>>>((int *)a, (int *)o[0], 16, 32, 32, 1024);
  dbl<<<64, 256, 0, s>>>((double2 *)a, (double2 *)o[1]);
  udiv<<<64, 256, 0, s>>>((uint4 *)a, (uint4 *)o[2], 7);
  lcg<<<64, 256, 0, s>>>((uint4 *)a, (uint4 *)o[3]);
  hash4<<<64, 256, 0, s>>>((uint4 *)a, (uint4 *)o[4], 64);
  ema<<<64, 256, 0, s>>>(a, o[5], 64, 0.9f);
  colsum<<<64, 256, 0, s>>>(a, (float *)b, o[6], 64);
  kmeans<<<64, 256, 0, s>>>(a, b, (int *)o[7]);
  mandel<<<64, 256, 0, s>>>(a, (int2 *)o[8]);
  adam<<<64, 256, 0, s>>>(o[9], a, o[10], o[11], 1e-3f, 0.9f, 0.99f, 1e-8f);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  swiglu<<<64, 256, 0, s>>>((uint2 *)a, (uint2 *)b, (uint2 *)o[12]);
  argmax<<<64, 256, 0, s>>>((float4 *)a, (int *)o[13], 8192);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((float4 *)a, (float4 *)b, (float4 **)o, s);
  runPart2(a, b, o, s);
}
