// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise maps `x * c + d` behind or beside sums of a row: there is no main product, so that
// nothing can be fused with it.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define ARGS const float *x, const float *g, const float *b, float *y, int n
#define AT ((size_t)blockIdx.x * n + i)
#define ROW for (int i = threadIdx.x; i < n; i += 256)

// EXPECT squaresThenMap: prologue_fusion absent: a sum of squares, then an affine map
// EXPECT squaresThenMap: epilogue_fusion absent: no main product
// EXPECT squaresThenMap: register_tiling absent: one sum
__global__ void __launch_bounds__(256) squaresThenMap(ARGS) {
  float q = 0;
  ROW {
    float v = x[AT];
    q += v * v;
  }
  float r = rsqrtf(q / n);
  ROW y[AT] = x[AT] * r * g[blockIdx.x] + b[blockIdx.x];
}

// EXPECT squaresThenColumns: prologue_fusion absent:
//   the same with a gain and a shift of each column
// EXPECT squaresThenColumns: epilogue_fusion absent: no main product
__global__ void __launch_bounds__(256) squaresThenColumns(ARGS) {
  float q = 0;
  ROW {
    float v = x[AT];
    q += v * v;
  }
  float r = rsqrtf(q / n);
  ROW y[AT] = x[AT] * r * g[i] + b[i];
}

// EXPECT centred: prologue_fusion absent: a mean, a sum of squared differences, then an affine map
// EXPECT centred: epilogue_fusion absent: no main product
__global__ void __launch_bounds__(256) centred(ARGS) {
  float s = 0, q = 0;
  ROW s += x[AT];
  float mean = s / n;
  ROW {
    float d = x[AT] - mean;
    q += d * d;
  }
  float r = rsqrtf(q / n), gain = g[blockIdx.x], shift = b[blockIdx.x];
  ROW y[AT] = (x[AT] - mean) * r * gain + shift;
}

// EXPECT clipped: prologue_fusion absent: a factor from the sum of squares, then an affine map
// EXPECT clipped: epilogue_fusion absent: no main product
__global__ void __launch_bounds__(256) clipped(ARGS) {
  float q = 0;
  ROW q += x[AT] * x[AT];
  float f = fminf(1.f, b[0] / sqrtf(q));
  ROW y[AT] = x[AT] * f + g[0];
}

// EXPECT biasedSoftmax: epilogue_fusion absent:
//   exponentials of an affine map are added, no products
// EXPECT biasedSoftmax: prologue_fusion absent: no main product
__global__ void __launch_bounds__(256) biasedSoftmax(ARGS) {
  float s = 0;
  ROW s += expf(x[AT] * g[0] + b[i]);
  ROW y[AT] = expf(x[AT] * g[0] + b[i]) / s;
}

// EXPECT similarity: prologue_fusion absent: a product of two rows and their squares as they are
// EXPECT similarity: epilogue_fusion present ops=scale:
//   a product of two rows is scaled by the root of two sums of squares
__global__ void __launch_bounds__(256) similarity(ARGS) {
  float p = 0, u = 0, v = 0;
  ROW {
    float c = x[AT], d = g[i];
    p += c * d;
    u += c * c;
    v += d * d;
  }
  y[blockIdx.x * 256 + threadIdx.x] = p * rsqrtf(u * v);
}

// EXPECT averaged: prologue_fusion absent: a moving average is no sum of products of two inputs
// EXPECT averaged: epilogue_fusion absent: no main product
// EXPECT averaged: async_pipeline absent: nothing is requested ahead
__global__ void __launch_bounds__(256) averaged(ARGS) {
  float m = 0;
  for (int i = 0; i < n; ++i) {
    float v = x[i * 256 + threadIdx.x];
    m = 0.9f * m + 0.1f * v;
    y[i * 256 + threadIdx.x] = (v - m) * g[threadIdx.x] + b[threadIdx.x];
  }
}

// EXPECT residual: prologue_fusion absent: a sum of squares of x + g
// EXPECT residual: epilogue_fusion absent: no main product
__global__ void __launch_bounds__(256) residual(ARGS) {
  float q = 0;
  ROW {
    float v = x[AT] + g[i];
    y[AT] = v;
    q += v * v;
  }
  float r = rsqrtf(q / n);
  ROW y[AT] = y[AT] * r * b[i];
}

// EXPECT convertedSquares: prologue_fusion absent: squares of halves, each converted twice
// EXPECT convertedSquares: epilogue_fusion absent: no product of two inputs
// EXPECT convertedSquares: register_tiling absent: one sum
__global__ void __launch_bounds__(256)
    convertedSquares(const __half *x, const __half *g, __half *y, int n) {
  float q = 0;
  for (int i = 0; i < n; ++i)
    q += __half2float(x[i]) * __half2float(x[i]);
  int i = blockIdx.x * 256 + threadIdx.x;
  float a = __half2float(x[i]) * rsqrtf(q / n) * __half2float(g[i]);
  float b = __half2float(x[i ^ 1]) * rsqrtf(q / n) * __half2float(g[i ^ 1]);
  y[i] = __float2half(a * 0.6f - b * 0.8f);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  squaresThenMap<<<64, 256, 0, s>>>(a, b, b, o[0], 8192);
  squaresThenColumns<<<64, 256, 0, s>>>(a, b, b, o[1], 8192);
  centred<<<64, 256, 0, s>>>(a, b, b, o[2], 8192);
  clipped<<<64, 256, 0, s>>>(a, b, b, o[3], 8192);
  biasedSoftmax<<<64, 256, 0, s>>>(a, b, b, o[4], 8192);
  similarity<<<64, 256, 0, s>>>(a, b, b, o[5], 8192);
  averaged<<<1, 256, 0, s>>>(a, b, b, o[6], 1024);
  residual<<<64, 256, 0, s>>>(a, b, b, o[7], 8192);
  convertedSquares<<<64, 256, 0, s>>>((__half *)a, (__half *)b, (__half *)o[8], 512);
}
