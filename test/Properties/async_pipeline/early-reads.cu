// What is read must have been waited for: a wait that leaves the group of the
// slot that is read outstanding is none, nor is a barrier. Each wrong ring stands
// behind the right one that differs in one number or one line.
// REQUIRES: nvcc, nvdisasm
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain async_pipeline %s | FileCheck %s
// RUN: d2k-analyze --arch sm_80 --tiers ptx --explain smem_tiling %s | FileCheck %s --check-prefix=TILE
// RUN: d2k-analyze --arch sm_80 --tiers sass --explain async_pipeline %s | FileCheck %s --check-prefix=SASS

#include <cuda_pipeline.h>

constexpr int kTile = 128;
using Slots = float[kTile];

__device__ __forceinline__ void fetch(float *slot, const float *x, int i) {
  __pipeline_memcpy_async(&slot[threadIdx.x], x + i * kTile + threadIdx.x, 4);
}

// Each thread reads 16 floats, those of others, too.
__device__ __forceinline__ float dot(const float *x, float sum) {
#pragma unroll
  for (int i = 0; i < 16; ++i)
    sum += x[i] * x[(i + threadIdx.x) % kTile];
  return sum;
}

// Two tiles ahead, three slots.
template <int kPending> __device__ __forceinline__ float
run(Slots *slots, const float *x, int n) {
  float sum = 0;
  fetch(slots[0], x, 0);
  __pipeline_commit();
  fetch(slots[1], x, 1);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    __pipeline_wait_prior(kPending);
    __syncthreads();
    if (i + 2 < n)
      fetch(slots[(i + 2) % 3], x, i + 2);
    __pipeline_commit();
    sum = dot(slots[i % 3], sum);
  }
  return sum;
}

// Before the copy of tile i + 2, the groups of tiles i and i + 1 are
// outstanding: with one left, tile i has arrived.
// CHECK: aAhead(
// CHECK-NEXT: holds: async_pipeline (depth 3, in_flight 2, mechanism cp_async)
// TILE: aAhead(
// TILE-NEXT: holds: smem_tiling
// SASS: aAhead(
// SASS: holds: async_pipeline (depth 3
__global__ void __launch_bounds__(kTile) aAhead(const float *x, float *y, int n) {
  __shared__ Slots slots[3];
  y[threadIdx.x] = run<1>(slots, x, n);
}

// CHECK: bAheadWithoutWait(
// CHECK-NEXT: nearly: {{.*}} is outstanding where early-reads.cu:22
// TILE: bAheadWithoutWait(
// TILE-NEXT: nearly: {{.*}} stages data that early-reads.cu:22 reads
// SASS: bAheadWithoutWait(
// SASS-NEXT: {{nearly|undecided|absent}}:
__global__ void __launch_bounds__(kTile) bAheadWithoutWait(const float *x, float *y, int n) {
  __shared__ Slots slots[3];
  y[threadIdx.x] = run<2>(slots, x, n);
}

// The slot that is asked for is the one that is read.
// CHECK: cSameIteration(
// CHECK-NEXT: nearly: {{.*}} is outstanding where early-reads.cu:22
// TILE: cSameIteration(
// TILE-NEXT: nearly:
// SASS: cSameIteration(
// SASS-NEXT: {{nearly|undecided|absent}}:
__global__ void __launch_bounds__(kTile) cSameIteration(const float *x, float *y, int n) {
  __shared__ Slots slots[3];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    fetch(slots[i % 3], x, i);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum = dot(slots[i % 3], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// Barriers alone.
// CHECK: dBarriersOnly(
// CHECK-NEXT: nearly: {{.*}} is outstanding where early-reads.cu:22
// TILE: dBarriersOnly(
// TILE-NEXT: nearly:
// SASS: dBarriersOnly(
// SASS-NEXT: {{nearly|undecided|absent}}:
__global__ void __launch_bounds__(kTile) dBarriersOnly(const float *x, float *y, int n) {
  __shared__ Slots slots[2];
  float sum = 0;
  fetch(slots[0], x, 0);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    if (i + 1 < n)
      fetch(slots[(i + 1) & 1], x, i + 1);
    __pipeline_commit();
    sum = dot(slots[i & 1], sum);
    __syncthreads();
  }
  __pipeline_wait_prior(0);
  y[threadIdx.x] = sum;
}

// A wait for groups, and no group.
// CHECK: eNoGroups(
// CHECK-NEXT: nearly: {{.*}} is outstanding where early-reads.cu:22
// TILE: eNoGroups(
// TILE-NEXT: nearly:
// SASS: eNoGroups(
// SASS-NEXT: {{nearly|undecided|absent}}:
__global__ void __launch_bounds__(kTile) eNoGroups(const float *x, float *y, int n) {
  __shared__ Slots slots[2];
  float sum = 0;
  fetch(slots[0], x, 0);
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n)
      fetch(slots[(i + 1) & 1], x, i + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    sum = dot(slots[i & 1], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// One way waits, the other does not: it depends on data.
// CHECK: fSomeWays(
// CHECK-NEXT: undecided: {{.*}} fills 2 slots in turn
// SASS: fSomeWays(
// SASS-NEXT: {{nearly|undecided|absent}}:
__global__ void __launch_bounds__(kTile) fSomeWays(const float *x, const int *flags, float *y, int n) {
  __shared__ Slots slots[2];
  float sum = 0;
  fetch(slots[0], x, 0);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n)
      fetch(slots[(i + 1) & 1], x, i + 1);
    __pipeline_commit();
    if (flags[i])
      __pipeline_wait_prior(1);
    __syncthreads();
    sum = dot(slots[i & 1], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// A wait is for the thread's own copies: what other warps have copied is there
// when a barrier follows their wait.
// CHECK: gBarrierThenWait(
// CHECK-NEXT: nearly: {{.*}} brings data that early-reads.cu:22 reads
// CHECK-NEXT: in threads of other warps, with no barrier behind the wait
// TILE: gBarrierThenWait(
// TILE-NEXT: nearly: {{.*}} stages data that early-reads.cu:22 reads
// TILE-NEXT: in threads of other warps, with no barrier behind the wait
// TILE: to make it hold: put __syncthreads() between the wait and the reads
// SASS: gBarrierThenWait(
// SASS-NEXT: {{nearly|undecided|absent}}:
template <bool kBarrier> __device__ __forceinline__ float
runDouble(Slots *slots, const float *x, int n) {
  float sum = 0;
  fetch(slots[0], x, 0);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    if (i + 1 < n)
      fetch(slots[(i + 1) & 1], x, i + 1);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    if (kBarrier)
      __syncthreads();
    sum = dot(slots[i & 1], sum);
  }
  return sum;
}
__global__ void __launch_bounds__(kTile) gBarrierThenWait(const float *x, float *y, int n) {
  __shared__ Slots slots[2];
  y[threadIdx.x] = runDouble<false>(slots, x, n);
}

// The same with a barrier behind the wait.
// CHECK: hBarrierBehindWait(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async)
// TILE: hBarrierBehindWait(
// TILE-NEXT: holds: smem_tiling
// SASS: hBarrierBehindWait(
// SASS: holds: async_pipeline (depth 2
__global__ void __launch_bounds__(kTile) hBarrierBehindWait(const float *x, float *y, int n) {
  __shared__ Slots slots[2];
  y[threadIdx.x] = runDouble<true>(slots, x, n);
}

// No barrier, and none is needed: each warp reads what it copied itself.
// CHECK: iOwnWarp(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async)
// TILE: iOwnWarp(
// TILE-NEXT: holds: smem_tiling
// SASS: iOwnWarp(
// SASS: holds: async_pipeline (depth 2
__global__ void __launch_bounds__(kTile) iOwnWarp(const float *x, float *y, int n) {
  __shared__ Slots slots[2];
  const int warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  float sum = 0;
  fetch(slots[0], x, 0);
  __pipeline_commit();
  for (int i = 0; i < n; ++i) {
    __syncwarp();
    if (i + 1 < n)
      fetch(slots[(i + 1) & 1], x, i + 1);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncwarp();
    const float *slot = slots[i & 1] + warp;
#pragma unroll
    for (int k = 0; k < 16; ++k)
      sum += slot[k] * slot[k ^ lane];
  }
  y[threadIdx.x] = sum;
}

// Barriers that are none for what is read: one at which nobody waits, one of
// the two warps of each half, and one that every second step leaves out.
#define DOUBLE_BUFFER(NAME, BARRIER)                                                 \
  __global__ void __launch_bounds__(kTile) NAME(const float *x, float *y, int n) { \
    __shared__ Slots slots[2];                                                     \
    float sum = 0;                                                                 \
    fetch(slots[0], x, 0);                                                         \
    __pipeline_commit();                                                           \
    for (int i = 0; i < n; ++i) {                                                  \
      if (i + 1 < n)                                                               \
        fetch(slots[(i + 1) & 1], x, i + 1);                                       \
      __pipeline_commit();                                                         \
      __pipeline_wait_prior(1);                                                    \
      BARRIER;                                                                     \
      sum = dot(slots[i & 1], sum);                                                \
      __syncthreads();                                                             \
    }                                                                              \
    y[threadIdx.x] = sum;                                                          \
  }

// CHECK: jArrives(
// CHECK-NEXT: nearly: {{.*}} brings data that early-reads.cu:22 reads
// CHECK-NEXT: in threads of other warps, with no barrier behind the wait
// TILE: jArrives(
// TILE-NEXT: nearly: {{.*}} stages data that early-reads.cu:22 reads
// TILE-NEXT: in threads of other warps, with no barrier behind the wait
// SASS: jArrives(
// SASS-NEXT: {{nearly|undecided|absent}}:
DOUBLE_BUFFER(jArrives, asm volatile("bar.arrive 3, 128;" ::: "memory"))
// CHECK: kHalves(
// CHECK-NEXT: nearly: {{.*}} brings data that early-reads.cu:22 reads
// CHECK-NEXT: in threads of other warps, with no barrier behind the wait
// TILE: kHalves(
// TILE-NEXT: nearly: {{.*}} stages data that early-reads.cu:22 reads
// TILE-NEXT: in threads of other warps, with no barrier behind the wait
// SASS: kHalves(
// SASS-NEXT: {{nearly|undecided|absent}}:
DOUBLE_BUFFER(kHalves, asm volatile("bar.sync %0, 64;" ::"r"(threadIdx.x / 64 + 1) : "memory"))
// CHECK: lEverySecond(
// CHECK-NEXT: nearly: {{.*}} brings data that early-reads.cu:22 reads
// CHECK-NEXT: in threads of other warps, with no barrier behind the wait
// TILE: lEverySecond(
// TILE-NEXT: nearly: {{.*}} stages data that early-reads.cu:22 reads
// TILE-NEXT: in threads of other warps, with no barrier behind the wait
// SASS: lEverySecond(
// SASS-NEXT: {{nearly|undecided|absent}}:
DOUBLE_BUFFER(lEverySecond, if (i & 1) __syncthreads())
