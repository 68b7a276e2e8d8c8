// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands between the wait for copies and the reads of them: barriers of every kind, where they
// are enough and where they are not.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_pipeline.h>

// A double buffer of 256 floats, four copies a step asked for one ahead; `WAIT` makes the tile
// that step `i` reads visible, `LEAVE` ends the step.
#define RING(READ, WAIT, LEAVE)                                                                \
  __shared__ alignas(16) float s[2][1024];                                                     \
  int t = threadIdx.x;                                                                         \
  float v = 0;                                                                                 \
  __pipeline_memcpy_async(&s[0][t * 4], a + t * 4, 16);                                        \
  __pipeline_commit();                                                                         \
  for (int i = 0; i < k; ++i) {                                                                \
    if (i + 1 < k)                                                                             \
      __pipeline_memcpy_async(&s[(i + 1) & 1][t * 4], a + (size_t)(i + 1) * 1024 + t * 4, 16); \
    __pipeline_commit();                                                                       \
    WAIT;                                                                                      \
    READ;                                                                                      \
    LEAVE;                                                                                     \
  }                                                                                            \
  o[blockIdx.x * 256 + t] = v
#define ARGS const float *a, const float *b, float *o, int k
#define OTHERS                 \
  for (int j = 0; j < 16; ++j) \
  v += s[i & 1][(t * 37 + j * 64) & 1023] * b[j]
#define OWN                   \
  for (int j = 0; j < 4; ++j) \
  v += s[i & 1][t * 4 + j] * b[i * 4 + j]

// EXPECT blockBarrier: async_pipeline present mechanism=cp_async depth=2:
//   wait, then all threads meet
__global__ void __launch_bounds__(256) blockBarrier(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); __syncthreads(), __syncthreads());
}

// EXPECT namedBarrier: async_pipeline present mechanism=cp_async depth=2:
//   a named barrier of all threads
__global__ void __launch_bounds__(256) namedBarrier(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); asm volatile("bar.sync 3, 256;" :: : "memory"),
                                         asm volatile("bar.sync 4, 256;" :: : "memory"));
}

// EXPECT reducingBarrier: async_pipeline present mechanism=cp_async depth=2:
//   a barrier that also counts
__global__ void __launch_bounds__(256) reducingBarrier(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); v += __syncthreads_count(t & 1), __syncthreads());
}

// EXPECT splitBarrier: async_pipeline present mechanism=cp_async depth=2:
//   arrives behind the wait and waits for all others at an mbarrier
__global__ void __launch_bounds__(256) splitBarrier(ARGS) {
  __shared__ uint64_t met;
  if (threadIdx.x == 0)
    mbInit(&met, 256);
  __syncthreads();
  RING(OTHERS, __pipeline_wait_prior(1); mbArrive(&met); MBWAIT(&met, i & 1), __syncthreads());
}

// EXPECT ownCopies: async_pipeline present mechanism=cp_async depth=2:
//   every thread reads what it copied itself: no barrier is needed
// EXPECT ownCopies: smem_tiling absent: nothing is read by another thread
__global__ void __launch_bounds__(256) ownCopies(ARGS) {
  RING(OWN, __pipeline_wait_prior(1), (void)0);
}

// EXPECT warpOnly: async_pipeline not-present:
//   the warps meet each by itself, and read each other's copies
// EXPECT warpOnly: smem_tiling absent: other warps' copies may not be there
__global__ void __launch_bounds__(256) warpOnly(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); __syncwarp(), __syncthreads());
}

// EXPECT halfBarrier: async_pipeline not-present:
//   each half of the block meets by itself, and reads the other's copies
// EXPECT halfBarrier: smem_tiling absent: the other half's copies may not be there
__global__ void __launch_bounds__(256) halfBarrier(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1);
       asm volatile("bar.sync %0, 128;" ::"r"(1 + (t >> 7)) : "memory"), __syncthreads());
}

// EXPECT fenceOnly: async_pipeline not-present:
//   a fence orders the own accesses, it waits for nobody
// EXPECT fenceOnly: smem_tiling absent: other threads' copies may not be there
__global__ void __launch_bounds__(256) fenceOnly(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); __threadfence_block(), __syncthreads());
}

// EXPECT arriveOnly: async_pipeline not-present: arrives at a barrier and does not wait at it
// EXPECT arriveOnly: smem_tiling absent: other threads' copies may not be there
__global__ void __launch_bounds__(256) arriveOnly(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); asm volatile("bar.arrive 3, 256;" :: : "memory"),
                                         asm volatile("bar.sync 3, 256;" :: : "memory"));
}

// EXPECT someBarrier: async_pipeline not-present: only every second step has the barrier
__global__ void __launch_bounds__(256) someBarrier(ARGS) {
  RING(OTHERS, __pipeline_wait_prior(1); if (i & 1) __syncthreads(), (void)0);
}

// EXPECT waitAtEnd: async_pipeline present mechanism=cp_async depth=2:
//   the wait and the barrier for the next tile end the step
__global__ void __launch_bounds__(256) waitAtEnd(ARGS) {
  __shared__ alignas(16) float s[2][1024];
  int t = threadIdx.x;
  float v = 0;
  __pipeline_memcpy_async(&s[0][t * 4], a + t * 4, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < k; ++i) {
    if (i + 1 < k)
      __pipeline_memcpy_async(&s[(i + 1) & 1][t * 4], a + (size_t)(i + 1) * 1024 + t * 4, 16);
    __pipeline_commit();
    OTHERS;
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  o[blockIdx.x * 256 + t] = v;
}

// EXPECT ownWarp: async_pipeline present mechanism=cp_async depth=2:
//   a warp copies, meets and reads its own part
// EXPECT ownWarp: smem_tiling present: each element is read by many lanes of the warp
__global__ void __launch_bounds__(256) ownWarp(ARGS) {
  __shared__ alignas(16) float s[8][2][128];
  int w = threadIdx.x / 32, l = threadIdx.x % 32;
  const float *from = a + (size_t)(blockIdx.x * 8 + w) * k * 128 + l * 4;
  float v = 0;
  __pipeline_memcpy_async(&s[w][0][l * 4], from, 16);
  __pipeline_commit();
  for (int i = 0; i < k; ++i) {
    if (i + 1 < k)
      __pipeline_memcpy_async(&s[w][(i + 1) & 1][l * 4], from + (size_t)(i + 1) * 128, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    for (int j = 0; j < 128; ++j)
      v += s[w][i & 1][j] * b[j * 32 + l];
    __syncwarp();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT ownDrained: async_pipeline not-present: as ownWarp, but all copies are
// waited for
__global__ void __launch_bounds__(256) ownDrained(ARGS) {
  __shared__ alignas(16) float s[8][2][128];
  int w = threadIdx.x / 32, l = threadIdx.x % 32;
  const float *from = a + (size_t)(blockIdx.x * 8 + w) * k * 128 + l * 4;
  float v = 0;
  for (int i = 0; i < k; ++i) {
    __pipeline_memcpy_async(&s[w][i & 1][l * 4], from + (size_t)i * 128, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    for (int j = 0; j < 128; ++j)
      v += s[w][i & 1][j] * b[j * 32 + l];
    __syncwarp();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT blockAhead: async_pipeline present mechanism=cp_async depth=2:
//   a row of the block's A is copied ahead, B comes from global memory
__global__ void __launch_bounds__(256) blockAhead(ARGS) {
  __shared__ alignas(16) float s[2][1024];
  int t = threadIdx.x;
  const float *from = a + (size_t)blockIdx.x * k * 1024 + t * 4;
  float v = 0;
  __pipeline_memcpy_async(&s[0][t * 4], from, 16);
  __pipeline_commit();
  for (int i = 0; i < k; ++i) {
    if (i + 1 < k)
      __pipeline_memcpy_async(&s[(i + 1) & 1][t * 4], from + (size_t)(i + 1) * 1024, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int j = 0; j < 1024; ++j)
      v += s[i & 1][j] * b[(size_t)j * 256 + t];
    __syncthreads();
  }
  o[blockIdx.x * 256 + t] = v;
}

// EXPECT blockSame: async_pipeline not-present:
//   the copy goes to the buffer that the products read, and is waited for at
//   once
__global__ void __launch_bounds__(256) blockSame(ARGS) {
  __shared__ alignas(16) float s[2][1024];
  int t = threadIdx.x;
  const float *from = a + (size_t)blockIdx.x * k * 1024 + t * 4;
  float v = 0;
  for (int i = 0; i < k; ++i) {
    __pipeline_memcpy_async(&s[0][t * 4], from + (size_t)i * 1024, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int j = 0; j < 1024; ++j)
      v += s[0][j] * b[(size_t)j * 256 + t];
    __syncthreads();
  }
  o[blockIdx.x * 256 + t] = v;
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  blockBarrier<<<64, 256, 0, s>>>(a, b, o[0], 64);
  namedBarrier<<<64, 256, 0, s>>>(a, b, o[1], 64);
  reducingBarrier<<<64, 256, 0, s>>>(a, b, o[2], 64);
  splitBarrier<<<64, 256, 0, s>>>(a, b, o[3], 64);
  ownCopies<<<64, 256, 0, s>>>(a, b, o[4], 64);
  warpOnly<<<64, 256, 0, s>>>(a, b, o[5], 64);
  halfBarrier<<<64, 256, 0, s>>>(a, b, o[6], 64);
  fenceOnly<<<64, 256, 0, s>>>(a, b, o[7], 64);
  arriveOnly<<<64, 256, 0, s>>>(a, b, o[8], 64);
  someBarrier<<<64, 256, 0, s>>>(a, b, o[9], 64);
  waitAtEnd<<<64, 256, 0, s>>>(a, b, o[10], 64);
  ownWarp<<<64, 256, 0, s>>>(a, b, o[11], 64);
  ownDrained<<<64, 256, 0, s>>>(a, b, o[12], 64);
  blockAhead<<<64, 256, 0, s>>>(a, b, o[13], 64);
  blockSame<<<64, 256, 0, s>>>(a, b, o[14], 64);
}
