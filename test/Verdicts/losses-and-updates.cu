// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses, updates and small reductions that mix sums with elementwise arithmetic.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_runtime.h>

#define ARGS const float *x, const float *g, const float *b, float *y, int n
#define AT ((size_t)blockIdx.x * n + i)
#define ROW for (int i = threadIdx.x; i < n; i += 256)
#define OUT y[blockIdx.x * 256 + threadIdx.x]

// EXPECT divergence: prologue_fusion absent: p (log p - log q): one factor is made of the other
// EXPECT divergence: register_tiling absent: one sum
// EXPECT divergence: tile_shape absent: one sum
__global__ void __launch_bounds__(256) divergence(ARGS) {
  float s = 0;
  ROW {
    float p = x[AT], q = g[AT];
    s += p * (logf(p) - logf(q));
  }
  OUT = s;
}

// EXPECT smoothed: prologue_fusion absent: no product of two inputs
// EXPECT smoothed: epilogue_fusion absent: sums of exponentials and of values
__global__ void __launch_bounds__(256) smoothed(ARGS) {
  float s = 0, t = 0;
  ROW {
    float v = x[AT];
    s += expf(v);
    t += v;
  }
  OUT = logf(s) - 0.9f * x[(size_t)blockIdx.x * n] - 0.1f * t / n;
}

// EXPECT focal: register_tiling absent: one sum
// EXPECT focal: epilogue_fusion absent: no product of two inputs
__global__ void __launch_bounds__(256) focal(ARGS) {
  float s = 0;
  ROW {
    float p = 1.f / (1.f + expf(-x[AT])), m = 1.f - p;
    s -= m * m * logf(p);
  }
  OUT = s;
}

// EXPECT momentum: prologue_fusion absent: an update of each element
// EXPECT momentum: epilogue_fusion absent: an update of each element
// EXPECT momentum: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(256)
    momentum(float *w, const float *g, float *m, int n, float lr, float mu) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    float v = mu * m[i] + g[i];
    m[i] = v;
    w[i] = w[i] - lr * v;
  }
}

// EXPECT trusted: prologue_fusion absent: two norms, then an update of each element
// EXPECT trusted: epilogue_fusion absent: two norms, then an update of each element
__global__ void __launch_bounds__(256) trusted(ARGS) {
  float u = 0, v = 0;
  ROW {
    float w = x[AT], d = g[AT];
    u += w * w;
    v += d * d;
  }
  float f = 0.01f * sqrtf(u) / (sqrtf(v) + 1e-6f);
  ROW y[AT] = x[AT] - f * g[AT];
}

// EXPECT projected: prologue_fusion absent: both rows enter the product as they are
// EXPECT projected: epilogue_fusion present:
//   the sum, as a factor of another row, is taken from a third
__global__ void __launch_bounds__(256) projected(ARGS) {
  __shared__ float part[8];
  float s = 0;
  ROW s += x[AT] * g[i];
  for (int o = 16; o; o /= 2)
    s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i)
    s += part[i];
  ROW y[AT] = x[AT] - s * g[i];
}

// EXPECT gated: prologue_fusion absent: each element is of its own
// EXPECT gated: epilogue_fusion absent: each element is of its own
// EXPECT gated: register_tiling absent: each element is of its own
__global__ void __launch_bounds__(256) gated(ARGS) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    float a = x[i], u = 0.5f * a * (1.f + erff(a * 0.70711f));
    y[i] = u * g[i] + b[i];
  }
}

// EXPECT horner: register_tiling absent: a polynomial of each element with loaded coefficients
// EXPECT horner: prologue_fusion absent: no sum over a loop of two inputs' products
__global__ void __launch_bounds__(256) horner(ARGS) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v = x[i], p = g[0];
  for (int k = 1; k < n; ++k)
    p = p * v + g[k];
  y[i] = p;
}

// EXPECT filtered: register_tiling absent: a recursion of each column: y = c x + d y
// EXPECT filtered: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(256) filtered(ARGS) {
  int c = blockIdx.x * 256 + threadIdx.x, width = gridDim.x * 256;
  float v = 0;
  for (int t = 0; t < n; ++t) {
    v = g[c] * x[(size_t)t * width + c] + b[c] * v;
    y[(size_t)t * width + c] = v;
  }
}

// EXPECT covariance: prologue_fusion present: means are taken from both rows before the product
// EXPECT covariance: register_tiling absent: one sum
__global__ void __launch_bounds__(256) covariance(ARGS) {
  float s = 0, m = b[0], k = b[1];
  ROW {
    float u = x[AT] - m, v = g[i] - k;
    s += u * v;
  }
  OUT = s;
}

// EXPECT tempered: prologue_fusion absent: maxima and sums of exponentials
// EXPECT tempered: epilogue_fusion absent: maxima and sums of exponentials
__global__ void __launch_bounds__(256) tempered(ARGS) {
  float m = -INFINITY, s = 0;
  ROW m = fmaxf(m, x[AT] * g[0]);
  ROW s += expf(x[AT] * g[0] - m);
  ROW y[AT] = expf(x[AT] * g[0] - m) / s;
}

// EXPECT dequantized: prologue_fusion absent:
//   integers times a scale plus a zero point: each of its own
// EXPECT dequantized: epilogue_fusion absent: each element is of its own
__global__ void __launch_bounds__(256)
    dequantized(const signed char *x, const float *g, const float *b, float *y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    y[i] = x[i] * g[i / 128] + b[i / 128];
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  divergence<<<64, 256, 0, s>>>(a, b, b, o[0], 8192);
  smoothed<<<64, 256, 0, s>>>(a, b, b, o[1], 8192);
  focal<<<64, 256, 0, s>>>(a, b, b, o[2], 8192);
  momentum<<<132, 256, 0, s>>>(o[3], a, o[4], 1 << 20, 0.1f, 0.9f);
  trusted<<<64, 256, 0, s>>>(a, b, b, o[5], 8192);
  projected<<<64, 256, 0, s>>>(a, b, b, o[6], 8192);
  gated<<<132, 256, 0, s>>>(a, b, b, o[7], 1 << 20);
  horner<<<64, 256, 0, s>>>(a, b, b, o[8], 16);
  filtered<<<8, 256, 0, s>>>(a, b, b, o[9], 1024);
  covariance<<<64, 256, 0, s>>>(a, b, b, o[10], 8192);
  tempered<<<64, 256, 0, s>>>(a, b, b, o[11], 8192);
  dequantized<<<132, 256, 0, s>>>((signed char *)a, b, b, o[12], 1 << 20);
}
