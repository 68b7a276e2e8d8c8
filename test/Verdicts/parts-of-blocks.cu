// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers at which a part of a block meets, that some steps leave out, or that nobody waits at:
// where those who copy and those who read meet, and where they do not.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_pipeline.h>

// A double buffer of 1024 floats, copies asked for one step ahead; `WAIT` makes the tile that step
// `i` reads visible, `LEAVE` ends the step.
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
// What all threads have copied; what the own 128, or the own 64, have.
#define ALL                    \
  for (int j = 0; j < 16; ++j) \
  v += s[i & 1][(t * 37 + j * 64) & 1023] * b[j]
#define HALF                   \
  for (int j = 0; j < 16; ++j) \
  v += s[i & 1][(t & 128) * 4 + ((t * 37 + j * 64) & 511)] * b[j]
#define QUARTER                \
  for (int j = 0; j < 16; ++j) \
  v += s[i & 1][(t & 192) * 4 + ((t * 37 + j * 64) & 255)] * b[j]
#define BAR(kind, id, count) \
  asm volatile("bar." kind " %0, " count ";" ::"r"(id) : "memory")

// EXPECT ownHalf: async_pipeline present mechanism=cp_async depth=2:
//   each half meets by itself, and reads what it has copied
// EXPECT ownHalf: smem_tiling present: each element is read by 8 threads
__global__ void __launch_bounds__(256) ownHalf(ARGS) {
  RING(HALF, __pipeline_wait_prior(1); BAR("sync", 1 + (t >> 7), "128"),
                                       BAR("sync", 3 + (t >> 7), "128"));
}

// EXPECT ownQuarter: async_pipeline present mechanism=cp_async depth=2:
//   two warps meet, and read what they have copied
__global__ void __launch_bounds__(256) ownQuarter(ARGS) {
  RING(QUARTER, __pipeline_wait_prior(1); BAR("sync", 1 + (t / 64), "64"),
                                          BAR("sync", 5 + (t / 64), "64"));
}

// EXPECT otherQuarter: async_pipeline not-present:
//   two warps meet, and read what four have copied
// EXPECT otherQuarter: smem_tiling absent: the other warps' copies may not be there
__global__ void __launch_bounds__(256) otherQuarter(ARGS) {
  RING(HALF, __pipeline_wait_prior(1); BAR("sync", 1 + (t / 64), "64"), __syncthreads());
}

// EXPECT halfCount: async_pipeline not-present:
//   128 of 256 threads let each other go, and it may be any of them
// EXPECT halfCount: smem_tiling absent: other threads' copies may not be there
__global__ void __launch_bounds__(256) halfCount(ARGS) {
  RING(ALL, __pipeline_wait_prior(1); BAR("sync", 5, "128"), __syncthreads());
}

// EXPECT firstHalf: async_pipeline not-present: the second half of the block does not meet
// EXPECT firstHalf: smem_tiling absent: the second half's copies may not be there
__global__ void __launch_bounds__(256) firstHalf(ARGS) {
  RING(
      ALL, __pipeline_wait_prior(1); if (t < 128) BAR("sync", 1, "128"), __syncthreads());
}

// EXPECT twoPlaces: async_pipeline present mechanism=cp_async depth=2:
//   the halves come to one barrier at two places
__global__ void __launch_bounds__(256) twoPlaces(ARGS) {
  RING(
      ALL, __pipeline_wait_prior(1); if (t < 128) {
        BAR("sync", 1, "256");
        v += 1;
      } else {
        BAR("sync", 1, "256");
        v += 2;
      },
      __syncthreads());
}

// EXPECT eitherBarrier: async_pipeline present mechanism=cp_async depth=2:
//   two barriers in turn, one in each step
__global__ void __launch_bounds__(256) eitherBarrier(ARGS) {
  RING(
      ALL, __pipeline_wait_prior(1);
      if (i & 1) BAR("sync", 1, "256"); else BAR("sync", 2, "256"), __syncthreads());
}

// EXPECT everyFourth: async_pipeline not-present: three of four steps have no barrier
// EXPECT everyFourth: smem_tiling absent: in these other threads' copies may not be there
__global__ void __launch_bounds__(256) everyFourth(ARGS) {
  RING(ALL, __pipeline_wait_prior(1); if ((i & 3) == 0) __syncthreads(), __threadfence_block());
}

// EXPECT dataDecides: async_pipeline not-present: data says whether there is a barrier
// EXPECT dataDecides: smem_tiling not-present: data says whether there is a barrier
__global__ void __launch_bounds__(256) dataDecides(ARGS) {
  RING(ALL, __pipeline_wait_prior(1); if (b[16 + i] > 0) __syncthreads(), __threadfence_block());
}

// EXPECT signalOnly: async_pipeline not-present: arrives at an mbarrier at which nobody waits
// EXPECT signalOnly: smem_tiling absent: other threads' copies may not be there
__global__ void __launch_bounds__(256) signalOnly(ARGS) {
  __shared__ uint64_t met;
  if (threadIdx.x == 0)
    mbInit(&met, 256);
  __syncthreads();
  RING(ALL, __pipeline_wait_prior(1); mbArrive(&met), __syncthreads());
}

// EXPECT meetThenWait: async_pipeline not-present:
//   all meet at an mbarrier, and each waits for its copies behind it
// EXPECT meetThenWait: smem_tiling absent: other threads' copies may not be there
__global__ void __launch_bounds__(256) meetThenWait(ARGS) {
  __shared__ uint64_t met;
  if (threadIdx.x == 0)
    mbInit(&met, 256);
  __syncthreads();
  RING(ALL, mbArrive(&met); MBWAIT(&met, i & 1); __pipeline_wait_prior(1), __syncthreads());
}

// EXPECT storedHalf: smem_tiling absent:
//   stores of all, a barrier of the halves, reads of what the other half has stored
__global__ void __launch_bounds__(256) storedHalf(ARGS) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  float v = 0;
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < 4; ++j)
      s[j * 256 + t] = a[(size_t)i * 1024 + j * 256 + t];
    BAR("sync", 1 + (t >> 7), "128");
    for (int j = 0; j < 16; ++j)
      v += s[(t * 37 + j * 64) & 1023] * b[j];
    __syncthreads();
  }
  o[blockIdx.x * 256 + t] = v;
}

// EXPECT storedOwn: smem_tiling present:
//   stores of all, a barrier of the halves, reads of what the own half has stored
__global__ void __launch_bounds__(256) storedOwn(ARGS) {
  __shared__ float s[1024];
  int t = threadIdx.x, h = t & 128;
  float v = 0;
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < 4; ++j)
      s[h * 4 + j * 128 + (t & 127)] = a[(size_t)i * 1024 + h * 4 + j * 128 + (t & 127)];
    BAR("sync", 1 + (t >> 7), "128");
    for (int j = 0; j < 16; ++j)
      v += s[h * 4 + ((t * 37 + j * 64) & 511)] * b[j];
    BAR("sync", 1 + (t >> 7), "128");
  }
  o[blockIdx.x * 256 + t] = v;
}

// EXPECT handedOver: smem_tiling present:
//   half of the block copies and arrives, the other half waits and reads
__global__ void __launch_bounds__(256) handedOver(ARGS) {
  __shared__ alignas(16) float s[2][512];
  int t = threadIdx.x;
  if (t >= 128) {
    for (int i = 0; i < k; ++i) {
      if (i > 1)
        BAR("sync", 3 + (i & 1), "256");
      __pipeline_memcpy_async(&s[i & 1][(t - 128) * 4], a + (size_t)i * 512 + (t - 128) * 4, 16);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      __threadfence_block();
      BAR("arrive", 1 + (i & 1), "256");
    }
    return;
  }
  float v = 0;
  for (int i = 0; i < k; ++i) {
    BAR("sync", 1 + (i & 1), "256");
    for (int j = 0; j < 16; ++j)
      v += s[i & 1][(t * 37 + j * 64) & 511] * b[j];
    if (i + 2 < k)
      BAR("arrive", 3 + (i & 1), "256");
  }
  o[blockIdx.x * 128 + t] = v;
}

// EXPECT ofThree: async_pipeline present mechanism=cp_async depth=2:
//   two groups of 128 copy, meet and read together; a third one works alone
__global__ void __launch_bounds__(384) ofThree(ARGS) {
  if (threadIdx.x >= 256) {
    o[(size_t)gridDim.x * 256 + blockIdx.x * 128 + threadIdx.x - 256] =
        b[blockIdx.x * 128 + threadIdx.x - 256] + 1;
    return;
  }
  RING(ALL, __pipeline_wait_prior(1); BAR("sync", 1, "256"), BAR("sync", 2, "256"));
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  ownHalf<<<64, 256, 0, s>>>(a, b, o[0], 64);
  ownQuarter<<<64, 256, 0, s>>>(a, b, o[1], 64);
  otherQuarter<<<64, 256, 0, s>>>(a, b, o[2], 64);
  halfCount<<<64, 256, 0, s>>>(a, b, o[3], 64);
  firstHalf<<<64, 256, 0, s>>>(a, b, o[4], 64);
  twoPlaces<<<64, 256, 0, s>>>(a, b, o[5], 64);
  eitherBarrier<<<64, 256, 0, s>>>(a, b, o[6], 64);
  everyFourth<<<64, 256, 0, s>>>(a, b, o[7], 64);
  dataDecides<<<64, 256, 0, s>>>(a, b, o[8], 64);
  signalOnly<<<64, 256, 0, s>>>(a, b, o[9], 64);
  meetThenWait<<<64, 256, 0, s>>>(a, b, o[10], 64);
  storedHalf<<<64, 256, 0, s>>>(a, b, o[11], 64);
  storedOwn<<<64, 256, 0, s>>>(a, b, o[12], 64);
  handedOver<<<64, 256, 0, s>>>(a, b, o[13], 64);
  ofThree<<<64, 384, 0, s>>>(a, b, o[14], 64);
}
