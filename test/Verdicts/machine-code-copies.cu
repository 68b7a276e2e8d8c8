// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and loads that ptxas moves: loops that are serial in the source.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include "Inputs/Sm90.h"
#include <cuda_pipeline.h>

// EXPECT serial1: async_pipeline absent: serial cp.async, 3 products a tile
__global__ void __launch_bounds__(256) serial1(const float *a, float *o, int k) {
  __shared__ float s[256];
  float v = 0;
  for (int i = 0; i < k; ++i) {
    __pipeline_memcpy_async(&s[threadIdx.x], a + (size_t)i * 256 + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    v += s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2] + s[threadIdx.x ^ 3] * s[threadIdx.x ^ 4];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT serialR: async_pipeline present mechanism=register_prefetch:
//   serial in the source, but ptxas unrolls the loop and moves the loads of the next iterations in
//   front: a prefetch of the machine code
__global__ void __launch_bounds__(256) serialR(const float *__restrict__ a, float *o, int k) {
  __shared__ float s[256];
  float v = 0;
  for (int i = 0; i < k; ++i) {
    s[threadIdx.x] = a[(size_t)i * 256 + threadIdx.x];
    __syncthreads();
    v += s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT dotLoop: async_pipeline absent:
//   plain dot product with loads and products in the same iteration (the compiler unrolls)
__global__ void dotLoop(const float *__restrict__ a, const float *__restrict__ b, float *o, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    s += a[(size_t)blockIdx.x * n + i] * b[i];
  atomicAdd(o + blockIdx.x, s);
}

// EXPECT naive: async_pipeline absent: loads and products of the same iteration
// EXPECT naive: register_tiling absent: one sum a thread
// EXPECT naive: smem_tiling absent: no shared memory
// EXPECT naive: vector_global_access absent direction=load: scalar loads
__global__ void naive(const float *__restrict__ a, const float *__restrict__ b, float *c, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float s = 0;
  for (int i = 0; i < n; ++i)
    s += a[(size_t)y * n + i] * b[(size_t)i * n + x];
  c[(size_t)y * n + x] = s;
}

// EXPECT conv3: async_pipeline absent: 1D convolution from global memory, 8 constant taps
// EXPECT conv3: register_tiling absent: one sum a thread
__global__ void conv3(const float *__restrict__ a, const float *__restrict__ w, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float s = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    s += a[i + k] * w[k];
  o[i] = s;
}

struct P {
  int mode, pad;
  const float *x;
  float *y;
};

// EXPECT zeroTrip: async_copy absent:
//   cp.async only in a loop of k / 4096 trips: k = 64 at the launch: none
__global__ void __launch_bounds__(256) zeroTrip(const float *a, float *o, int k) {
  __shared__ float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x];
  for (int i = 0; i < k / 4096; ++i) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sa(&s[threadIdx.x])),
                 "l"(a + i * 256 + threadIdx.x));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    v += s[threadIdx.x ^ 1] * s[threadIdx.x ^ 2];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

static void runPart1(float *a, float *b, float **o, cudaStream_t s) {
  serial1<<<64, 256, 0, s>>>(a, o[0], 64);
  serialR<<<64, 256, 0, s>>>(a, o[1], 64);
  dotLoop<<<64, 256, 0, s>>>(a, b, o[2], 4096);
  naive<<<dim3(64, 64), dim3(16, 16), 0, s>>>(a, b, o[3], 1024);
  conv3<<<64, 256, 0, s>>>(a, b, o[4]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  P p = {0, 0, a, o[5]};
  zeroTrip<<<64, 256, 0, s>>>(a, o[6], 64);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
}
