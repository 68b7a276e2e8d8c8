// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products without tiles: vectors, small filters, recurrent cells, pairs, pools.
//
// VERDICTS arch=sm_80 entry=run read=sass

#include <cuda_runtime.h>

__device__ __forceinline__ float warpSum(float v) {
  for (int o = 16; o; o /= 2)
    v += __shfl_xor_sync(~0u, v, o);
  return v;
}

// EXPECT biasedVector: epilogue_fusion present ops=operand: a bias behind the sum
// EXPECT biasedVector: prologue_fusion absent: operands as they are
// EXPECT biasedVector: register_tiling absent: one sum a thread
__global__ void __launch_bounds__(256)
    biasedVector(const float *a, const float *x, const float *bias, float *y, int n) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = l; i < n; i += 32)
    s += a[(size_t)row * n + i] * x[i];
  s = warpSum(s);
  if (l == 0)
    y[row] = s + bias[row];
}

// EXPECT plainVector: epilogue_fusion absent: stored as it is
// EXPECT plainVector: prologue_fusion absent: operands as they are
__global__ void __launch_bounds__(256)
    plainVector(const float *a, const float *x, float *y, int n) {
  int row = blockIdx.x * 8 + threadIdx.x / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = l; i < n; i += 32)
    s += a[(size_t)row * n + i] * x[i];
  s = warpSum(s);
  if (l == 0)
    y[row] = s;
}

// EXPECT rankOne: register_tiling absent: each element gets one product
// EXPECT rankOne: epilogue_fusion absent: no sum of products
// EXPECT rankOne: prologue_fusion absent: no sum of products
__global__ void __launch_bounds__(256) rankOne(float *a, const float *u, const float *v, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  for (int r = 0; r < n; ++r)
    a[(size_t)r * n + i] += u[r] * v[i];
}

// EXPECT pairDistances: prologue_fusion absent: squares of differences are no product of two inputs
// EXPECT pairDistances: epilogue_fusion absent: no product of two inputs
// EXPECT pairDistances: smem_tiling absent: no shared memory
__global__ void __launch_bounds__(256) pairDistances(const float *p, float *d, int n, int dim) {
  int j = blockIdx.x * 256 + threadIdx.x;
  float s = 0;
  for (int k = 0; k < dim; ++k) {
    float e = p[(size_t)blockIdx.y * dim + k] - p[(size_t)k * n + j];
    s += e * e;
  }
  d[(size_t)blockIdx.y * n + j] = sqrtf(s);
}

// EXPECT cell: epilogue_fusion present: gates go through sigmoids and tanh
// EXPECT cell: register_tiling absent: four sums share one input: 8 uses of 5 operands
// EXPECT cell: tensor_core absent: scalar products
__global__ void __launch_bounds__(128)
    cell(const float *w, const float *x, const float *old, float *state, float *out, int n) {
  int u = blockIdx.x * 128 + threadIdx.x, width = gridDim.x * 128;
  float i = 0, f = 0, g = 0, o = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    float v = x[k];
    i += w[((size_t)k * 4 + 0) * width + u] * v;
    f += w[((size_t)k * 4 + 1) * width + u] * v;
    g += w[((size_t)k * 4 + 2) * width + u] * v;
    o += w[((size_t)k * 4 + 3) * width + u] * v;
  }
  float c = old[u] / (1.f + expf(-f)) + tanhf(g) / (1.f + expf(-i));
  state[u] = c;
  out[u] = tanhf(c) / (1.f + expf(-o));
}

// EXPECT pooled: register_tiling absent: no product
// EXPECT pooled: epilogue_fusion absent: no product
// EXPECT pooled: smem_tiling absent: no shared memory
__global__ void __launch_bounds__(256) pooled(const float *x, float *y, int w) {
  int c = blockIdx.x * 256 + threadIdx.x;
  float s = 0;
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int q = 0; q < 3; ++q)
      s += x[(size_t)(blockIdx.y + r) * w + c + q];
  y[(size_t)blockIdx.y * w + c] = s * (1.f / 9.f);
}

// EXPECT depthwise: register_tiling absent: nine products for one sum
// EXPECT depthwise: smem_tiling absent: no shared memory
// EXPECT depthwise: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(256)
    depthwise(const float *x, const float *f, float *y, int w, int h) {
  int c = blockIdx.x * 256 + threadIdx.x;
  const float *from = x + (size_t)blockIdx.z * w * h, *taps = f + blockIdx.z * 9;
  float s = 0;
#pragma unroll
  for (int r = 0; r < 3; ++r)
#pragma unroll
    for (int q = 0; q < 3; ++q)
      s += from[(size_t)(blockIdx.y + r) * w + c + q] * taps[r * 3 + q];
  y[((size_t)blockIdx.z * h + blockIdx.y) * w + c] = s;
}

// EXPECT scaledScores: epilogue_fusion present: scores times a factor
// EXPECT scaledScores: tensor_core absent: scalar products
// EXPECT scaledScores: smem_tiling absent: no shared memory
__global__ void __launch_bounds__(128)
    scaledScores(const float *q, const float *k, float *s, int n, float scale) {
  int row = blockIdx.y, col = blockIdx.x * 128 + threadIdx.x;
  float d = 0;
#pragma unroll 4
  for (int i = 0; i < 64; ++i)
    d += q[row * 64 + i] * k[(size_t)i * n + col];
  d *= scale;
  s[(size_t)row * n + col] = d;
}

// EXPECT rotated: register_tiling absent: each vector is turned by its own quaternion
// EXPECT rotated: prologue_fusion absent: no sum over a loop
// EXPECT rotated: epilogue_fusion not-present:
//   no loop of products, so that what is behind them is not told apart
__global__ void __launch_bounds__(256) rotated(const float4 *q, const float4 *v, float4 *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 a = q[i], b = v[i];
  float tx = 2 * (a.y * b.z - a.z * b.y), ty = 2 * (a.z * b.x - a.x * b.z),
        tz = 2 * (a.x * b.y - a.y * b.x);
  o[i] = make_float4(b.x + a.w * tx + a.y * tz - a.z * ty, b.y + a.w * ty + a.z * tx - a.x * tz,
                     b.z + a.w * tz + a.x * ty - a.y * tx, 0);
}

// EXPECT logSum: epilogue_fusion absent: exponentials of sums of two values, no products
// EXPECT logSum: prologue_fusion absent: no product
// EXPECT logSum: register_tiling absent: one sum a thread
__global__ void __launch_bounds__(256) logSum(const float *a, const float *b, float *y, int n) {
  float m = -INFINITY, s = 0;
  for (int i = 0; i < n; ++i) {
    float v = a[blockIdx.x * n + i] + b[(size_t)i * 256 + threadIdx.x], up = fmaxf(m, v);
    s = s * expf(m - up) + expf(v - up);
    m = up;
  }
  y[blockIdx.x * 256 + threadIdx.x] = m + logf(s);
}

// EXPECT interpolated: prologue_fusion absent: weights are computed from the place
// EXPECT interpolated: register_tiling absent: one sum a thread
__global__ void __launch_bounds__(256) interpolated(const float *a, float *y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float s = 0;
  for (int k = 0; k < n; ++k) {
    float t = 0.1f * k;
    s += a[(size_t)k * 16384 + i] * (1.f - t * t);
  }
  y[i] = s;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  biasedVector<<<64, 256, 0, s>>>(a, b, b, o[0], 4096);
  plainVector<<<64, 256, 0, s>>>(a, b, o[1], 4096);
  rankOne<<<8, 256, 0, s>>>(o[2], a, b, 2048);
  pairDistances<<<dim3(8, 64), 256, 0, s>>>(a, o[3], 2048, 64);
  cell<<<8, 128, 0, s>>>(a, b, b, o[4], o[5], 1024);
  pooled<<<dim3(8, 64), 256, 0, s>>>(a, o[6], 2050);
  depthwise<<<dim3(8, 64, 16), 256, 0, s>>>(a, b, o[7], 2050, 66);
  scaledScores<<<dim3(16, 256), 128, 0, s>>>(a, b, o[8], 2048, 0.1f);
  rotated<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)o[9]);
  logSum<<<64, 256, 0, s>>>(a, b, o[10], 1024);
  interpolated<<<64, 256, 0, s>>>(a, o[11], 64);
}
