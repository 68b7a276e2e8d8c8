// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ordinary kernels of training and sampling: what they have not got.
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

// EXPECT softmaxBackward: register_tiling absent: one sum of products of a row
// EXPECT softmaxBackward: smem_tiling absent: partial sums only
// EXPECT softmaxBackward: async_pipeline absent: nothing is requested ahead
// EXPECT softmaxBackward: vector_global_access present direction=load bytes=16 share=1: float4
// EXPECT softmaxBackward: coalesced_global_access present direction=load share=1: consecutive
__global__ void __launch_bounds__(256)
    softmaxBackward(const float4 *p, const float4 *dp, float4 *dx) {
  __shared__ float part[8];
  size_t at = (size_t)blockIdx.x * 256 + threadIdx.x;
  float4 y = p[at], d = dp[at];
  float s = warpSum(y.x * d.x + y.y * d.y + y.z * d.z + y.w * d.w);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i)
    s += part[i];
  dx[at] = make_float4(y.x * (d.x - s), y.y * (d.y - s), y.z * (d.z - s), y.w * (d.w - s));
}

// EXPECT embeddingBackward: coalesced_global_access present direction=load: rows of gradients
// EXPECT embeddingBackward: smem_tiling absent: no shared memory
// EXPECT embeddingBackward: register_tiling absent: no product
__global__ void __launch_bounds__(128)
    embeddingBackward(const int *token, const float *g, float *table, int width) {
  int t = token[blockIdx.x];
  for (int i = threadIdx.x; i < width; i += 128)
    atomicAdd(&table[(size_t)t * width + i], g[(size_t)blockIdx.x * width + i]);
}

__device__ __forceinline__ uint4 mix(uint4 c, uint2 key) {
#pragma unroll
  for (int r = 0; r < 10; ++r) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
    unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}
// EXPECT dropout: register_tiling absent: a random number is no sum of products
// EXPECT dropout: fast_math absent: integers and comparisons
// EXPECT dropout: packed_math absent: float arithmetic
// EXPECT dropout: vector_global_access present direction=store bytes=16: float4
__global__ void __launch_bounds__(256)
    dropout(const float4 *x, float4 *y, unsigned seed, float keep) {
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  uint4 r = mix(make_uint4(i, 0, 0, 0), make_uint2(seed, 7));
  float4 v = x[i];
  unsigned limit = (unsigned)(keep * 4294967040.f);
  float f = 1.f / keep;
  y[i] = make_float4(r.x < limit ? v.x * f : 0.f, r.y < limit ? v.y * f : 0.f,
                     r.z < limit ? v.z * f : 0.f, r.w < limit ? v.w * f : 0.f);
}

// EXPECT unfold: register_tiling absent: a copy
// EXPECT unfold: smem_tiling absent: no shared memory
// EXPECT unfold: coalesced_global_access present direction=store share=1: consecutive
__global__ void __launch_bounds__(256)
    unfold(const float *x, float *cols, int w, int taps, int outW) {
  int i = blockIdx.x * 256 + threadIdx.x, c = i % outW, t = i / outW % taps,
      row = i / (outW * taps);
  cols[i] = x[(size_t)row * w + c + t];
}

// EXPECT groupNorm: register_tiling absent: sums of values and of squares
// EXPECT groupNorm: smem_tiling absent: partial sums only
// EXPECT groupNorm: epilogue_fusion absent: no product
// EXPECT groupNorm: prologue_fusion absent: no product
// EXPECT groupNorm: persistent_kernel absent: a group a block
__global__ void __launch_bounds__(256)
    groupNorm(const float *x, const float *g, const float *b, float *y, int n) {
  __shared__ float part[2][8];
  const float *from = x + (size_t)blockIdx.x * n;
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < n; i += 256) {
    float v = from[i];
    s += v;
    q += v * v;
  }
  s = warpSum(s);
  q = warpSum(q);
  if (threadIdx.x % 32 == 0) {
    part[0][threadIdx.x / 32] = s;
    part[1][threadIdx.x / 32] = q;
  }
  __syncthreads();
  s = q = 0;
  for (int i = 0; i < 8; ++i) {
    s += part[0][i];
    q += part[1][i];
  }
  float mean = s / n, inv = rsqrtf(q / n - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 256)
    y[(size_t)blockIdx.x * n + i] =
        (from[i] - mean) * inv * g[blockIdx.x & 31] + b[blockIdx.x & 31];
}

// EXPECT attentionScoresNaive: tensor_core absent: scalar products
// EXPECT attentionScoresNaive: smem_tiling absent: no shared memory
// EXPECT attentionScoresNaive: register_tiling absent: one sum a thread
// EXPECT attentionScoresNaive: epilogue_fusion present: scores times a factor
// EXPECT attentionScoresNaive: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(128)
    attentionScoresNaive(const bf *q, const bf *k, float *s, int n, float scale) {
  int row = blockIdx.y, col = blockIdx.x * 128 + threadIdx.x;
  float d = 0;
  for (int i = 0; i < 64; ++i)
    d += __bfloat162float(q[row * 64 + i]) * __bfloat162float(k[(size_t)col * 64 + i]);
  d *= scale;
  s[(size_t)row * n + col] = d;
}

// EXPECT thresholdSearch: register_tiling absent: nothing is multiplied
// EXPECT thresholdSearch: smem_tiling absent: counters only
// EXPECT thresholdSearch: async_pipeline absent: nothing is requested ahead
// EXPECT thresholdSearch: warp_specialization absent: all warps run the same code
__global__ void __launch_bounds__(256)
    thresholdSearch(const float *p, float *o, int n, float mass) {
  __shared__ float part[8];
  float lo = 0, hi = 1;
  for (int step = 0; step < 24; ++step) {
    float mid = 0.5f * (lo + hi), s = 0;
    for (int i = threadIdx.x; i < n; i += 256) {
      float v = p[(size_t)blockIdx.x * n + i];
      s += v >= mid ? v : 0.f;
    }
    s = warpSum(s);
    if (threadIdx.x % 32 == 0)
      part[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int i = 0; i < 8; ++i)
      s += part[i];
    __syncthreads();
    if (s >= mass)
      lo = mid;
    else
      hi = mid;
  }
  for (int i = threadIdx.x; i < n; i += 256) {
    float v = p[(size_t)blockIdx.x * n + i];
    o[(size_t)blockIdx.x * n + i] = v >= lo ? v : 0.f;
  }
}

// EXPECT rounded: packed_math absent: pairs are only converted
// EXPECT rounded: register_tiling absent: averages of one element each
// EXPECT rounded: fast_math absent: sqrtf and a division
__global__ void __launch_bounds__(256)
    rounded(const float2 *g, float2 *m, float2 *v, __nv_bfloat162 *w, float lr) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 G = g[i], M = m[i], V = v[i], W = __bfloat1622float2(w[i]);
  M.x = 0.9f * M.x + 0.1f * G.x;
  M.y = 0.9f * M.y + 0.1f * G.y;
  V.x = 0.99f * V.x + 0.01f * G.x * G.x;
  V.y = 0.99f * V.y + 0.01f * G.y * G.y;
  W.x -= lr * M.x / (sqrtf(V.x) + 1e-8f);
  W.y -= lr * M.y / (sqrtf(V.y) + 1e-8f);
  m[i] = M;
  v[i] = V;
  w[i] = __float22bfloat162_rn(W);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  softmaxBackward<<<64, 256, 0, s>>>((float4 *)a, (float4 *)b, (float4 *)o[0]);
  embeddingBackward<<<64, 128, 0, s>>>((int *)a, b, o[1], 1024);
  dropout<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[2], 1234, 0.9f);
  unfold<<<1024, 256, 0, s>>>(a, o[3], 1024, 8, 512);
  groupNorm<<<64, 256, 0, s>>>(a, b, b, o[4], 8192);
  attentionScoresNaive<<<dim3(32, 512), 128, 0, s>>>((bf *)a, (bf *)b, o[5], 4096, 0.1f);
  thresholdSearch<<<64, 256, 0, s>>>(a, o[6], 32768, 0.9f);
  rounded<<<64, 256, 0, s>>>((float2 *)a, (float2 *)o[7], (float2 *)o[8], (__nv_bfloat162 *)o[9],
                             1e-3f);
}
