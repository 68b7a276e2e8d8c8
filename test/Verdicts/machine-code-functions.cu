// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise functions, whose machine code has chains of multiplications and additions that are no
// sums over anything.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_runtime.h>

// Four elements a thread.
#define ELEMENTWISE(name, expression)                                                   \
  __device__ __forceinline__ float of_##name(float x) {                                 \
    return expression;                                                                  \
  }                                                                                     \
  __global__ void name(const float4 *a, float4 *o) {                                    \
    int i = blockIdx.x * 256 + threadIdx.x;                                             \
    float4 v = a[i];                                                                    \
    o[i] = make_float4(of_##name(v.x), of_##name(v.y), of_##name(v.z), of_##name(v.w)); \
  }

// EXPECT eDiv: register_tiling absent: each result is of its own
ELEMENTWISE(eDiv, x / (x * x + 1.f))

// EXPECT eExp: register_tiling absent: each result is of its own
ELEMENTWISE(eExp, expf(x))

// EXPECT eErf: register_tiling absent: each result is of its own
// EXPECT eErf: epilogue_fusion absent: no product of inputs
// EXPECT eErf: tile_shape absent: no product of inputs
ELEMENTWISE(eErf, erff(x))

// EXPECT eCdf: register_tiling absent: each result is of its own
ELEMENTWISE(eCdf, x *normcdff(x))

// EXPECT eTanh: register_tiling absent: each result is of its own
ELEMENTWISE(eTanh, tanhf(x))

// EXPECT eLog: register_tiling absent: each result is of its own
ELEMENTWISE(eLog, logf(x))

// EXPECT eSin: register_tiling absent: each result is of its own
ELEMENTWISE(eSin, sinf(x))

// EXPECT ePow: register_tiling absent: each result is of its own
ELEMENTWISE(ePow, powf(x, 1.7f))

// EXPECT eSqrt: register_tiling absent: each result is of its own
ELEMENTWISE(eSqrt, sqrtf(x))

// EXPECT eSig: register_tiling absent: each result is of its own
// EXPECT eSig: epilogue_fusion absent: no product of inputs
// EXPECT eSig: prologue_fusion absent: no product of inputs
// EXPECT eSig: async_pipeline absent: nothing is requested ahead
ELEMENTWISE(eSig, 1.f / (1.f + expf(-x)))

// EXPECT eCbrt: register_tiling absent: each result is of its own
ELEMENTWISE(eCbrt, cbrtf(x))

// EXPECT eRcp: register_tiling absent: each result is of its own
ELEMENTWISE(eRcp, 1.f / x)

// EXPECT eLg: register_tiling absent: each result is of its own
ELEMENTWISE(eLg, log1pf(x))

// EXPECT eGam: register_tiling absent: each result is of its own
ELEMENTWISE(eGam, lgammaf(x))

// EXPECT sm: register_tiling absent: softmax over a row of 1024 in registers
// EXPECT sm: epilogue_fusion absent: no product
__global__ void __launch_bounds__(256) sm(const float4 *a, float4 *o) {
  __shared__ float r[8];
  float4 v = a[(size_t)blockIdx.x * 256 + threadIdx.x];
  float m = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
  for (int k = 16; k; k /= 2)
    m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
  if (threadIdx.x % 32 == 0)
    r[threadIdx.x / 32] = m;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    m = fmaxf(m, r[i]);
  v.x = expf(v.x - m);
  v.y = expf(v.y - m);
  v.z = expf(v.z - m);
  v.w = expf(v.w - m);
  float s = v.x + v.y + v.z + v.w;
  for (int k = 16; k; k /= 2)
    s += __shfl_xor_sync(~0u, s, k);
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    r[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; ++i)
    s += r[i];
  o[(size_t)blockIdx.x * 256 + threadIdx.x] = make_float4(v.x / s, v.y / s, v.z / s, v.w / s);
}

void run(float4 *a, float4 **o, cudaStream_t s) {
  eDiv<<<64, 256, 0, s>>>(a, o[0]);
  eExp<<<64, 256, 0, s>>>(a, o[1]);
  eErf<<<64, 256, 0, s>>>(a, o[2]);
  eCdf<<<64, 256, 0, s>>>(a, o[3]);
  eTanh<<<64, 256, 0, s>>>(a, o[4]);
  eLog<<<64, 256, 0, s>>>(a, o[5]);
  eSin<<<64, 256, 0, s>>>(a, o[6]);
  ePow<<<64, 256, 0, s>>>(a, o[7]);
  eSqrt<<<64, 256, 0, s>>>(a, o[8]);
  eSig<<<64, 256, 0, s>>>(a, o[9]);
  eCbrt<<<64, 256, 0, s>>>(a, o[10]);
  eRcp<<<64, 256, 0, s>>>(a, o[11]);
  eLg<<<64, 256, 0, s>>>(a, o[12]);
  eGam<<<64, 256, 0, s>>>(a, o[13]);
  sm<<<64, 256, 0, s>>>(a, o[14]);
}
