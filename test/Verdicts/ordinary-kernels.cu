// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary kernels of a decoder, without tiles, rings or matrix instructions: what they have not got.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_bf16.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf;

__device__ __forceinline__ float warpSum(float v) {
  for (int o = 16; o; o /= 2)
    v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ __forceinline__ void widen(const uint4 &v, float (&f)[8]) {
  const __nv_bfloat162 *p = (const __nv_bfloat162 *)&v;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float2 x = __bfloat1622float2(p[i]);
    f[2 * i] = x.x;
    f[2 * i + 1] = x.y;
  }
}

// EXPECT decodeAttention: smem_tiling absent: shared memory holds partial results of the warps only
// EXPECT decodeAttention: tensor_core absent: scalar products
// EXPECT decodeAttention: async_pipeline absent:
//   keys and values are used by the iteration that loads them
// EXPECT decodeAttention: register_tiling absent: each loaded element is used once for one head
// EXPECT decodeAttention: warp_specialization absent: all warps run the same code
// EXPECT decodeAttention: packed_math absent: halves are widened
// EXPECT decodeAttention: persistent_kernel absent: one head a block
// EXPECT decodeAttention: vector_global_access absent:
//   the compiler splits the loads, whose parts are taken as pairs, into 4-byte ones
// EXPECT decodeAttention: fast_math absent: expf
__global__ void __launch_bounds__(128)
    decodeAttention(const bf *q, const bf *k, const bf *v, bf *o, int n, float scale) {
  __shared__ float ms[4], ls[4], acc[4][128];
  int w = threadIdx.x / 32, l = threadIdx.x % 32, half = l / 16, e = l % 16 * 8;
  size_t head = blockIdx.x;
  float qf[8], sum[8] = {}, m = -INFINITY, s = 0;
  widen(*(const uint4 *)(q + head * 128 + e), qf);
  for (int i = w * 2 + half; i < n; i += 8) {
    float kf[8], vf[8], d = 0;
    widen(*(const uint4 *)(k + (head * n + i) * 128 + e), kf);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      d += qf[j] * kf[j];
    for (int x = 8; x; x /= 2)
      d += __shfl_xor_sync(~0u, d, x);
    d *= scale;
    float up = fmaxf(m, d), f = expf(m - up), p = expf(d - up);
    widen(*(const uint4 *)(v + (head * n + i) * 128 + e), vf);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      sum[j] = sum[j] * f + p * vf[j];
    s = s * f + p;
    m = up;
  }
  float other = __shfl_xor_sync(~0u, m, 16), up = fmaxf(m, other), f = expf(m - up);
  s *= f;
  s += __shfl_xor_sync(~0u, s, 16);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    sum[j] *= f;
    sum[j] += __shfl_xor_sync(~0u, sum[j], 16);
  }
  if (l == 0) {
    ms[w] = up;
    ls[w] = s;
  }
  if (half == 0)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      acc[w][e + j] = sum[j];
  __syncthreads();
  float top = fmaxf(fmaxf(ms[0], ms[1]), fmaxf(ms[2], ms[3])), a = 0, b = 0;
  for (int i = 0; i < 4; ++i) {
    float g = expf(ms[i] - top);
    a += acc[i][threadIdx.x] * g;
    b += ls[i] * g;
  }
  o[head * 128 + threadIdx.x] = __float2bfloat16(a / b);
}

// EXPECT topTwo: register_tiling absent: nothing is multiplied and summed
// EXPECT topTwo: smem_tiling absent: no shared memory
// EXPECT topTwo: epilogue_fusion absent: no product
// EXPECT topTwo: async_pipeline absent: nothing is requested ahead
// EXPECT topTwo: tile_shape absent: no product
__global__ void topTwo(const float *logits, int *index, float *weight) {
  int row = (blockIdx.x * 128 + threadIdx.x) / 32, l = threadIdx.x % 32;
  float a = logits[row * 64 + l], b = logits[row * 64 + 32 + l];
  float m = fmaxf(a, b);
  for (int o = 16; o; o /= 2)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  a = expf(a - m);
  b = expf(b - m);
  float s = warpSum(a + b);
  for (int r = 0; r < 2; ++r) {
    float best = fmaxf(a, b);
    int at = a >= b ? l : l + 32;
    for (int o = 16; o; o /= 2) {
      float ob = __shfl_xor_sync(~0u, best, o);
      int oa = __shfl_xor_sync(~0u, at, o);
      if (ob > best || (ob == best && oa < at)) {
        best = ob;
        at = oa;
      }
    }
    if (l == 0) {
      index[row * 2 + r] = at;
      weight[row * 2 + r] = best / s;
    }
    if (at == l)
      a = -1;
    if (at == l + 32)
      b = -1;
  }
}

// EXPECT gemvInt4: tensor_core absent: scalar products
// EXPECT gemvInt4: smem_tiling absent: no shared memory
// EXPECT gemvInt4: register_tiling absent: one sum a row, each weight is used once
// EXPECT gemvInt4: vector_global_access present direction=load bytes=16: 32 weights a load
// EXPECT gemvInt4: async_pipeline absent: weights are used by the iteration that loads them
// EXPECT gemvInt4: packed_math absent: arithmetic is in float
__global__ void __launch_bounds__(128)
    gemvInt4(const uint4 *w, const float *scales, const float4 *x, float *y, int k) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, l = threadIdx.x % 32;
  float s = 0;
  for (int i = l; i < k / 32; i += 32) {
    uint4 v = w[(size_t)row * (k / 32) + i];
    unsigned q[4] = {v.x, v.y, v.z, v.w};
    float part = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float4 a = x[i * 8 + 2 * j], b = x[i * 8 + 2 * j + 1];
      unsigned u = q[j];
      part += ((int)(u & 15) - 8) * a.x + ((int)(u >> 4 & 15) - 8) * a.y +
              ((int)(u >> 8 & 15) - 8) * a.z + ((int)(u >> 12 & 15) - 8) * a.w +
              ((int)(u >> 16 & 15) - 8) * b.x + ((int)(u >> 20 & 15) - 8) * b.y +
              ((int)(u >> 24 & 15) - 8) * b.z + ((int)(u >> 28) - 8) * b.w;
    }
    s += part * scales[(size_t)row * (k / 32) + i];
  }
  s = warpSum(s);
  if (l == 0)
    y[row] = s;
}

// EXPECT selectiveScan: register_tiling absent: states decay; no operand is used for several sums
// EXPECT selectiveScan: smem_tiling absent: no shared memory
// EXPECT selectiveScan: async_pipeline absent: inputs are used by the step that loads them
// EXPECT selectiveScan: tensor_core absent: scalar products
// EXPECT selectiveScan: prologue_fusion absent: there is no main product whose operand is changed
__global__ void __launch_bounds__(128)
    selectiveScan(const float *x, const float *dt, const float *A, const float *B, const float *C,
                  float *y, int steps) {
  int c = blockIdx.x * 128 + threadIdx.x, width = gridDim.x * 128;
  float h[16] = {}, a[16];
#pragma unroll
  for (int i = 0; i < 16; ++i)
    a[i] = A[c * 16 + i];
  for (int t = 0; t < steps; ++t) {
    float d = dt[(size_t)t * width + c], u = x[(size_t)t * width + c] * d, s = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      h[i] = h[i] * expf(d * a[i]) + u * B[t * 16 + i];
      s += h[i] * C[t * 16 + i];
    }
    y[(size_t)t * width + c] = s;
  }
}

// EXPECT blockScan: smem_tiling absent: the sums of the warps only
// EXPECT blockScan: register_tiling absent: no product
// EXPECT blockScan: async_pipeline absent: nothing is requested ahead
// EXPECT blockScan: vector_global_access present direction=load bytes=16: int4
// EXPECT blockScan: vector_global_access present direction=store bytes=16: int4
__global__ void __launch_bounds__(256) blockScan(const int4 *a, int4 *o) {
  __shared__ int part[8];
  int4 v = a[blockIdx.x * 256 + threadIdx.x];
  v.y += v.x;
  v.z += v.y;
  v.w += v.z;
  int t = v.w, l = threadIdx.x % 32, w = threadIdx.x / 32;
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, t, d);
    if (l >= d)
      t += u;
  }
  if (l == 31)
    part[w] = t;
  __syncthreads();
  int before = t - v.w;
  for (int i = 0; i < w; ++i)
    before += part[i];
  o[blockIdx.x * 256 + threadIdx.x] =
      make_int4(v.x + before, v.y + before, v.z + before, v.w + before);
}

// EXPECT crossEntropy: register_tiling absent: no product
// EXPECT crossEntropy: smem_tiling absent: partial results only
// EXPECT crossEntropy: async_pipeline absent: nothing is requested ahead
// EXPECT crossEntropy: epilogue_fusion absent: no product
// EXPECT crossEntropy: fast_math present op=exp: __expf
// EXPECT crossEntropy: vector_global_access present direction=load bytes=16: float4
__global__ void __launch_bounds__(256)
    crossEntropy(const float4 *x, const int *target, float *loss, int n4) {
  __shared__ float part[8];
  const float4 *row = x + (size_t)blockIdx.x * n4;
  float s = 0;
  for (int i = threadIdx.x; i < n4; i += 256) {
    float4 v = row[i];
    s += __expf(v.x) + __expf(v.y) + __expf(v.z) + __expf(v.w);
  }
  s = warpSum(s);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    s = 0;
    for (int i = 0; i < 8; ++i)
      s += part[i];
    loss[blockIdx.x] = logf(s) - ((const float *)row)[target[blockIdx.x]];
  }
}

// EXPECT conv1d: register_tiling absent: four taps and four inputs for one output at a time
// EXPECT conv1d: smem_tiling absent: no shared memory
// EXPECT conv1d: tensor_core absent: scalar products
__global__ void __launch_bounds__(128) conv1d(const float *x, const float *w, float *y, int steps) {
  int c = blockIdx.x * 128 + threadIdx.x, width = gridDim.x * 128;
  float w0 = w[c * 4], w1 = w[c * 4 + 1], w2 = w[c * 4 + 2], w3 = w[c * 4 + 3];
  float x0 = 0, x1 = 0, x2 = 0;
  for (int t = 0; t < steps; ++t) {
    float x3 = x[(size_t)t * width + c];
    float s = w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3;
    y[(size_t)t * width + c] = s / (1.f + expf(-s));
    x0 = x1;
    x1 = x2;
    x2 = x3;
  }
}

// EXPECT quantizeRows: packed_math absent: float arithmetic
// EXPECT quantizeRows: register_tiling absent: no sums of products
// EXPECT quantizeRows: epilogue_fusion absent: no product
// EXPECT quantizeRows: smem_tiling absent: partial maxima only
__global__ void __launch_bounds__(256) quantizeRows(const uint4 *x, uint2 *q, float *scale) {
  __shared__ float part[8];
  float f[8], m = 0;
  widen(x[(size_t)blockIdx.x * 256 + threadIdx.x], f);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    m = fmaxf(m, fabsf(f[i]));
  for (int o = 16; o; o /= 2)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = m;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    m = fmaxf(m, part[i]);
  float inv = 127.f / m;
  signed char b[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    b[i] = (signed char)__float2int_rn(f[i] * inv);
  q[(size_t)blockIdx.x * 256 + threadIdx.x] = *(uint2 *)b;
  if (threadIdx.x == 0)
    scale[blockIdx.x] = m / 127.f;
}

// EXPECT layerNormBackward: register_tiling absent: two sums of a row, elementwise results
// EXPECT layerNormBackward: smem_tiling absent: partial sums only
// EXPECT layerNormBackward: async_pipeline absent: nothing is requested ahead
// EXPECT layerNormBackward: epilogue_fusion absent: no main product
// EXPECT layerNormBackward: prologue_fusion absent: no main product
__global__ void __launch_bounds__(256)
    layerNormBackward(const float4 *dy, const float4 *x, const float4 *g, const float *mean,
                      const float *inv, float4 *dx) {
  __shared__ float part[2][8];
  size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
  float4 d = dy[at], v = x[at], w = g[threadIdx.x];
  float mu = mean[blockIdx.x], r = inv[blockIdx.x];
  float h[4] = {(v.x - mu) * r, (v.y - mu) * r, (v.z - mu) * r, (v.w - mu) * r};
  float t[4] = {d.x * w.x, d.y * w.y, d.z * w.z, d.w * w.w};
  float a = warpSum(t[0] + t[1] + t[2] + t[3]);
  float b = warpSum(t[0] * h[0] + t[1] * h[1] + t[2] * h[2] + t[3] * h[3]);
  if (threadIdx.x % 32 == 0) {
    part[0][threadIdx.x / 32] = a;
    part[1][threadIdx.x / 32] = b;
  }
  __syncthreads();
  a = b = 0;
  for (int i = 0; i < 8; ++i) {
    a += part[0][i];
    b += part[1][i];
  }
  a /= 1024;
  b /= 1024;
  dx[at] = make_float4(r * (t[0] - a - h[0] * b), r * (t[1] - a - h[1] * b),
                       r * (t[2] - a - h[2] * b), r * (t[3] - a - h[3] * b));
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  decodeAttention<<<64, 128, 0, s>>>((bf *)a, (bf *)b, (bf *)b, (bf *)o[0], 4096, 0.1f);
  topTwo<<<64, 128, 0, s>>>(a, (int *)o[1], o[2]);
  gemvInt4<<<1024, 128, 0, s>>>((uint4 *)a, b, (float4 *)b, o[3], 4096);
  selectiveScan<<<16, 128, 0, s>>>(a, b, a, b, a, o[4], 1024);
  blockScan<<<64, 256, 0, s>>>((int4 *)a, (int4 *)o[5]);
  crossEntropy<<<64, 256, 0, s>>>((float4 *)a, (int *)b, o[6], 8192);
  conv1d<<<16, 128, 0, s>>>(a, b, o[7], 1024);
  quantizeRows<<<64, 256, 0, s>>>((uint4 *)a, (uint2 *)o[8], o[9]);
  layerNormBackward<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)b, a, b,
                                       (float4 *)o[10]);
}
