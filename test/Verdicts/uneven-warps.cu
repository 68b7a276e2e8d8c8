// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps that do something besides, before or behind the others, without roles of their own, and
// roles that are named in roundabout ways.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

// EXPECT indexWarp: warp_specialization absent:
//   the first warp fetches indices at each step, but multiplies like all others
// EXPECT indexWarp: async_pipeline absent: rows are loaded by the step that uses them
// EXPECT indexWarp: smem_tiling absent: shared memory holds indices
__global__ void __launch_bounds__(128)
    indexWarp(const float *x, const int *rows, const float *w, float *o, int n) {
  __shared__ int index[32];
  float v = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 32)
      index[threadIdx.x] = rows[i * 32 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 32; ++j)
      v += x[(size_t)index[j] * 128 + threadIdx.x] * w[i * 32 + j];
    __syncthreads();
  }
  o[blockIdx.x * 128 + threadIdx.x] = v;
}

// EXPECT lastWarpSums: warp_specialization absent:
//   one warp adds up what all have made, behind the loop
// EXPECT lastWarpSums: smem_tiling absent: partial sums only
// EXPECT lastWarpSums: register_tiling absent: one sum a thread
__global__ void __launch_bounds__(256)
    lastWarpSums(const float *a, const float *b, float *o, int n) {
  __shared__ float part[256];
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 256)
    v += a[(size_t)blockIdx.x * n + i] * b[i];
  part[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x >= 224) {
    int l = threadIdx.x - 224;
    v = 0;
    for (int i = l; i < 256; i += 32)
      v += part[i];
    for (int d = 16; d; d /= 2)
      v += __shfl_xor_sync(~0u, v, d);
    if (l == 0)
      o[blockIdx.x] = v;
  }
}

// EXPECT twoProducts: warp_specialization not-present:
//   two halves of the block make products of different matrices, and hand nothing over
__global__ void __launch_bounds__(256)
    twoProducts(const float *a, const float *b, const float *c, float *o, float *p, int n) {
  int t = threadIdx.x & 127;
  float v = 0;
  if (threadIdx.x < 128) {
    for (int i = 0; i < n; ++i)
      v += a[(size_t)blockIdx.x * n + i] * b[i * 128 + t];
    o[blockIdx.x * 128 + t] = v;
  } else {
    for (int i = 0; i < n; ++i)
      v += a[(size_t)blockIdx.x * n + i] * c[i * 128 + t];
    p[blockIdx.x * 128 + t] = v;
  }
}

// EXPECT swapped: warp_specialization absent:
//   the halves change places at each step, so that every warp both copies and multiplies
__global__ void __launch_bounds__(256) swapped(const float *a, const float *b, float *o, int n) {
  __shared__ float s[2][128];
  int half = threadIdx.x >> 7, t = threadIdx.x & 127;
  float v = 0;
  for (int i = 0; i < n; ++i) {
    if (half == (i & 1))
      s[i & 1][t] = a[(size_t)i * 128 + t];
    __syncthreads();
    if (half != (i & 1))
      for (int j = 0; j < 128; ++j)
        v += s[i & 1][j] * b[(size_t)j * 128 + t];
    __syncthreads();
  }
  atomicAdd(&o[blockIdx.x * 128 + t], v);
}

// EXPECT byMask: warp_specialization present roles=compute+copy:
//   three warps of four multiply, the fourth copies; two named barriers a slot
__global__ void __launch_bounds__(128) byMask(const float *a, const float *b, float *o, int n) {
  __shared__ float s[2][96];
  int copies = 0x8 >> (threadIdx.x / 32) & 1, l = threadIdx.x % 32;
  if (copies) {
    for (int i = 0; i < n; ++i) {
      asm volatile("bar.sync %0, 128;" ::"r"(1 + (i & 1)) : "memory");
      for (int j = 0; j < 3; ++j)
        s[i & 1][j * 32 + l] = a[(size_t)i * 96 + j * 32 + l];
      asm volatile("bar.arrive %0, 128;" ::"r"(3 + (i & 1)) : "memory");
    }
  } else {
    float v = 0;
    asm volatile("bar.arrive 1, 128;" ::: "memory");
    asm volatile("bar.arrive 2, 128;" ::: "memory");
    for (int i = 0; i < n; ++i) {
      asm volatile("bar.sync %0, 128;" ::"r"(3 + (i & 1)) : "memory");
      for (int j = 0; j < 96; ++j)
        v += s[i & 1][j] * b[(size_t)(i * 96 + j) * 96 + threadIdx.x];
      if (i + 2 < n)
        asm volatile("bar.arrive %0, 128;" ::"r"(1 + (i & 1)) : "memory");
    }
    o[blockIdx.x * 96 + threadIdx.x] = v;
  }
}

// EXPECT spareWarp: warp_specialization absent:
//   the other warp waits at the barriers and does nothing
// EXPECT spareWarp: register_reallocation absent: no setmaxnreg
__global__ void __launch_bounds__(160) spareWarp(const float *a, const float *b, float *o, int n) {
  __shared__ float s[128];
  float v = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 128)
      s[threadIdx.x] = a[(size_t)i * 128 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 128)
      for (int j = 0; j < 128; ++j)
        v += s[j] * b[(size_t)j * 128 + threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < 128)
    o[blockIdx.x * 128 + threadIdx.x] = v;
}

// EXPECT clearing: warp_specialization absent:
//   the second group writes zeros to memory that nobody reads
__global__ void __launch_bounds__(256) clearing(const float *a, const float *b, float *o, int n) {
  __shared__ float s[128], dust[128];
  float v = 0;
  for (int i = 0; i < n; ++i) {
    if (threadIdx.x < 128)
      s[threadIdx.x] = a[(size_t)i * 128 + threadIdx.x];
    else
      ((volatile float *)dust)[threadIdx.x - 128] = 0;
    __syncthreads();
    if (threadIdx.x < 128)
      for (int j = 0; j < 128; ++j)
        v += s[j] * b[(size_t)j * 128 + threadIdx.x];
    __syncthreads();
  }
  if (threadIdx.x < 128)
    o[blockIdx.x * 128 + threadIdx.x] = v;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  indexWarp<<<64, 128, 0, s>>>(a, (int *)b, b, o[0], 64);
  lastWarpSums<<<64, 256, 0, s>>>(a, b, o[1], 4096);
  twoProducts<<<64, 256, 0, s>>>(a, b, b, o[2], o[3], 1024);
  swapped<<<64, 256, 0, s>>>(a, b, o[4], 64);
  byMask<<<64, 128, 0, s>>>(a, b, o[5], 64);
  spareWarp<<<64, 160, 0, s>>>(a, b, o[6], 64);
  clearing<<<64, 256, 0, s>>>(a, b, o[7], 64);
}
