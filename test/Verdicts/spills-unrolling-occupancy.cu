// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spills, unrolled loops and occupancy, which machine code alone tells.
//
// VERDICTS arch=sm_90a entry=run read=sass

#include <cuda_runtime.h>

// EXPECT spillMuch: local_spills present: 96 live sums under 40 registers
__global__ void __maxnreg__(40)
    spillMuch(const float *__restrict__ a, const float *__restrict__ b, float *o, int k) {
  float s[64];
#pragma unroll
  for (int j = 0; j < 64; ++j)
    s[j] = b[j];
  for (int i = 0; i < k; ++i) {
    float x = a[i * 256 + threadIdx.x];
#pragma unroll
    for (int j = 0; j < 64; ++j)
      s[j] = fmaf(s[j], x, s[(j * 7 + 3) % 64]);
  }
#pragma unroll
  for (int j = 0; j < 64; ++j)
    o[(blockIdx.x * 64 + j) * 256 + threadIdx.x] = s[j];
}

// EXPECT localArray: local_spills absent:
//   an array indexed at run time lives in local memory; nothing is spilled
__global__ void localArray(const int *__restrict__ a, int *o, int k) {
  int h[32];
  for (int j = 0; j < 32; ++j)
    h[j] = 0;
  for (int i = 0; i < k; ++i)
    h[a[i * 256 + threadIdx.x] & 31] += i;
  int s = 0;
  for (int j = 0; j < 32; ++j)
    s ^= h[(j * 5) & 31] * j;
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT unroll4: loop_unrolling present factor=4: pragma unroll 4 over a run-time count
__global__ void unroll4(const float *__restrict__ a, float *o, int k) {
  float s = 0;
#pragma unroll 4
  for (int i = 0; i < k; ++i)
    s += a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT unroll1: loop_unrolling absent: pragma unroll 1
__global__ void unroll1(const float *__restrict__ a, float *o, int k) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < k; ++i)
    s += a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT byHand4: loop_unrolling absent:
//   the source itself steps by 4, four loads a step; the compiler does not unroll more
__global__ void byHand4(const float *__restrict__ a, float *o, int k) {
  float s = 0, t = 0, u = 0, v = 0;
#pragma unroll 1
  for (int i = 0; i < k; i += 4) {
    const float *p = a + (size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x;
    s += p[0];
    t += p[1024];
    u += p[2048];
    v += p[3072];
  }
  o[blockIdx.x * 256 + threadIdx.x] = s + t + u + v;
}

// EXPECT unroll8g: loop_unrolling present factor=8: grid-stride loop with pragma unroll 8
__global__ void unroll8g(const float *__restrict__ a, float *__restrict__ o, int n) {
#pragma unroll 8
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    o[i] = a[i] * 2.f;
}

// EXPECT occThreads: occupancy present blocks=2 limiter=threads:
//   1024 threads, few registers: 2048 / 1024
__global__ void occThreads(const float *a, float *o) {
  int i = blockIdx.x * 1024 + threadIdx.x;
  o[i] = a[i];
}

// EXPECT occShared: occupancy present blocks=2 limiter=shared:
//   100 KiB of dynamic shared memory: 227 / 101
__global__ void occShared(const float *a, float *o) {
  extern __shared__ float d[];
  int i = blockIdx.x * 128 + threadIdx.x;
  d[threadIdx.x] = a[i];
  __syncthreads();
  o[i] = d[127 - threadIdx.x];
}

// EXPECT occBlocks: occupancy present blocks=32 limiter=blocks: 32 threads: 32 blocks at most
__global__ void occBlocks(const float *a, float *o) {
  int i = blockIdx.x * 32 + threadIdx.x;
  o[i] = a[i] + 1.f;
}

// EXPECT unroll4b: loop_unrolling present factor=4: body on lines of its own
__global__ void unroll4b(const float *__restrict__ a, float *o, int k) {
  float s = 0;
#pragma unroll 4
  for (int i = 0; i < k; ++i) {
    float x = a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
    s += x * x;
  }
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT unroll1b: loop_unrolling absent: pragma unroll 1
__global__ void unroll1b(const float *__restrict__ a, float *o, int k) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < k; ++i) {
    float x = a[(size_t)i * 1024 + blockIdx.x * 256 + threadIdx.x];
    s += x * x;
  }
  o[blockIdx.x * 256 + threadIdx.x] = s;
}

// EXPECT unroll8s: loop_unrolling present factor=8:
//   loop over shared memory with pragma unroll 8, run-time count
__global__ void __launch_bounds__(256) unroll8s(const float *__restrict__ a, float *o, int k) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < k; i += 256)
    s[i] = a[i];
  __syncthreads();
  float v = 0;
#pragma unroll 8
  for (int i = 0; i < k; ++i)
    v = fmaf(v, 0.5f, s[i]);
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT unrollLie: loop_unrolling absent:
//   pragma unroll 8 on a loop that cannot be unrolled: a while over a linked list in memory, exits
//   by data
__global__ void unrollLie(const int *__restrict__ next, int *o) {
  int i = threadIdx.x, n = 0;
#pragma unroll 1
  while (i >= 0) {
    i = next[i];
    ++n;
  }
  o[threadIdx.x] = n;
}

// EXPECT lbNone: launch_bounds absent: no bounds
__global__ void lbNone(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = a[i] * 7.f;
}

// EXPECT lbTwo: launch_bounds present threads=256 min_blocks=4: __launch_bounds__ with both numbers
__global__ void __launch_bounds__(256, 4) lbTwo(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = a[i] * 8.f;
}

// EXPECT lbReg: launch_bounds present max_registers=40: __maxnreg__
__global__ void __maxnreg__(40) lbReg(const float *a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = a[i] * 9.f;
}

static void runPart1(float *a, float *b, float **o, cudaStream_t s) {
  spillMuch<<<64, 256, 0, s>>>(a, b, o[0], 4096);
  localArray<<<64, 256, 0, s>>>((int *)a, (int *)o[1], 4096);
  unroll4<<<4, 256, 0, s>>>(a, o[2], 4096);
  unroll1<<<4, 256, 0, s>>>(a, o[3], 4096);
  byHand4<<<4, 256, 0, s>>>(a, o[4], 4096);
  unroll8g<<<132, 256, 0, s>>>(a, o[5], 1 << 24);
  occThreads<<<64, 1024, 0, s>>>(a, o[6]);
  cudaFuncSetAttribute(occShared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
  occShared<<<64, 128, 100 << 10, s>>>(a, o[7]);
  occBlocks<<<64, 32, 0, s>>>(a, o[8]);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  unroll4b<<<4, 256, 0, s>>>(a, o[9], 4096);
  unroll1b<<<4, 256, 0, s>>>(a, o[10], 4096);
  unroll8s<<<4, 256, 16384, s>>>(a, o[11], 4096);
  unrollLie<<<1, 256, 0, s>>>((int *)a, (int *)o[12]);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  lbNone<<<64, 256, 0, s>>>(a, o[13]);
  lbTwo<<<64, 256, 0, s>>>(a, o[14]);
  lbReg<<<64, 256, 0, s>>>(a, o[15]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, o, s);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
}
