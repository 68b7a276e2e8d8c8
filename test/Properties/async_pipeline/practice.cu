// The forms in which pipelines are written: CUDA's own pipeline objects, swapped
// pointers, loops that the compiler unrolls, registers. In machine code only
// those are asked for that do not depend on how ptxas schedules: it may move a
// load into registers behind the products, which ends the prefetch.
// REQUIRES: nvcc, nvdisasm
// RUN: d2k-analyze --arch sm_90a --tiers ptx --explain async_pipeline %s | FileCheck %s
// RUN: d2k-analyze --arch sm_90a --tiers sass --explain async_pipeline %s | FileCheck %s --check-prefix=SASS
// RUN: d2k-analyze --arch sm_90a --tiers ptx --kernel hRoles --explain warp_specialization %s | FileCheck %s --check-prefix=ROLES

#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

constexpr int kTile = 128;

__device__ __forceinline__ float dot(const float *x, float sum) {
#pragma unroll
  for (int i = 0; i < 16; ++i)
    sum += x[i] * x[(i + threadIdx.x) % kTile];
  return sum;
}

// Two buffers whose pointers are swapped: the next tile is asked for when the
// current one is there.
// CHECK: aSwap(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async), main region, loop L0, read at ptx
__global__ void aSwap(const float *x, float *y, int n) {
  __shared__ float slots[2][kTile];
  float *now = slots[0], *next = slots[1], sum = 0;
  __pipeline_memcpy_async(&now[threadIdx.x], x + threadIdx.x, 4);
  __pipeline_commit();
  for (int i = 1; i <= n; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i < n)
      __pipeline_memcpy_async(&next[threadIdx.x], x + i * kTile + threadIdx.x,
                              4);
    __pipeline_commit();
    sum = dot(now, sum);
    float *other = now;
    now = next;
    next = other;
  }
  y[threadIdx.x] = sum;
}

// A ring of 4 that the compiler unrolls into clones with constant slots: three
// groups are asked for, the oldest one is waited for.
// CHECK: bUnrolled(
// CHECK-NEXT: holds: async_pipeline (depth 4, in_flight 3, mechanism cp_async), main region, loop L0, read at ptx
__global__ void bUnrolled(const float *x, float *y, int n) {
  __shared__ float slots[4][kTile];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    __pipeline_memcpy_async(&slots[i][threadIdx.x],
                            x + i * kTile + threadIdx.x, 4);
    __pipeline_commit();
  }
#pragma unroll 4
  for (int i = 0; i < n; ++i) {
    __pipeline_wait_prior(2);
    __syncthreads();
    __pipeline_memcpy_async(&slots[(i + 3) % 4][threadIdx.x],
                            x + (i + 3) * kTile + threadIdx.x, 4);
    __pipeline_commit();
    sum = dot(slots[i % 4], sum);
  }
  y[threadIdx.x] = sum;
}

// No loop is left: eight tiles, three slots, two groups in flight.
// SASS: cNoLoop(
// SASS-NEXT: holds: async_pipeline (depth 3, in_flight 2, mechanism cp_async), main region, read at sass
// CHECK: cNoLoop(
// CHECK-NEXT: holds: async_pipeline (depth 3, in_flight 2, mechanism cp_async), main region, read at ptx
__global__ void cNoLoop(const float *x, float *y) {
  __shared__ float slots[3][kTile];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&slots[i][threadIdx.x],
                            x + i * kTile + threadIdx.x, 4);
    __pipeline_commit();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (i + 2 < 8)
      __pipeline_memcpy_async(&slots[(i + 2) % 3][threadIdx.x],
                              x + (i + 2) * kTile + threadIdx.x, 4);
    __pipeline_commit();
    sum = dot(slots[i % 3], sum);
  }
  y[threadIdx.x] = sum;
}

// The next tile in registers while this one is used.
// CHECK: dRegisters(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism register_prefetch), main region, loop L0, read at ptx
__global__ void dRegisters(const float *__restrict__ x, float *y, int n) {
  __shared__ float slot[kTile];
  float sum = 0, next = x[threadIdx.x];
  for (int i = 1; i <= n; ++i) {
    slot[threadIdx.x] = next;
    __syncthreads();
    next = x[i * kTile + threadIdx.x];
    sum = dot(slot, sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// cuda::pipeline of one thread, with two stages.
// CHECK: ePipeline(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async), main region, loop L0, read at ptx
__global__ void ePipeline(const float *x, float *y, int n) {
  __shared__ float slots[2][kTile];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  float sum = 0;
  auto fetch = [&](int i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&slots[i % 2][threadIdx.x], x + i * kTile + threadIdx.x,
                       cuda::aligned_size_t<4>(4), pipe);
    pipe.producer_commit();
  };
  fetch(0);
  for (int i = 0; i < n; ++i) {
    fetch(i + 1);
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    sum = dot(slots[i % 2], sum);
    __syncthreads();
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}

// Loads, a store, a barrier: nothing is fetched ahead.
// CHECK: fPlain(
// CHECK-NEXT: absent:
__global__ void fPlain(const float *x, float *y, int n) {
  __shared__ float slot[kTile];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    slot[threadIdx.x] = x[i * kTile + threadIdx.x];
    __syncthreads();
    sum = dot(slot, sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// Waited for at once, in both tiers.
// SASS: gAtOnce(
// SASS-NEXT: nearly:
// SASS-NOT: holds:
// CHECK: gAtOnce(
// CHECK-NEXT: nearly:
// CHECK-NOT: holds:
__global__ void gAtOnce(const float *x, float *y, int n) {
  __shared__ float slots[2][kTile];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    __pipeline_memcpy_async(&slots[i % 2][threadIdx.x],
                            x + i * kTile + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sum = dot(slots[i % 2], sum);
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// cuda::pipeline of a block with roles: warps 0 to 3 copy, the others compute.
// The library numbers threads by all three dimensions; the block has one.
// ROLES: holds: warp_specialization (roles compute+copy)
// CHECK: hRoles(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async), main region, loop L{{[0-9]+}}, read at ptx
__global__ void __launch_bounds__(2 * kTile)
    hRoles(const float *x, float *y, int n) {
  __shared__ float slots[2][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cooperative_groups::this_thread_block();
  bool copies = threadIdx.x < kTile;
  auto pipe = cuda::make_pipeline(block, &state,
                                  copies ? cuda::pipeline_role::producer
                                         : cuda::pipeline_role::consumer);
  if (copies) {
    for (int i = 0; i < n; ++i) {
      pipe.producer_acquire();
      cuda::memcpy_async(&slots[i % 2][threadIdx.x],
                         x + i * kTile + threadIdx.x,
                         cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    }
    return;
  }
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    pipe.consumer_wait();
    sum = dot(slots[i % 2], sum);
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}

// A register that is loaded only where there is a next tile, and kept where
// there is none: one set all the same.
// CHECK: iGuardedRegister(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism register_prefetch), main region, loop L0, read at ptx
__global__ void iGuardedRegister(const float *__restrict__ x, float *y, int n) {
  __shared__ float slots[2][kTile];
  float sum = 0, next = 0;
  slots[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int i = 1; i <= n; ++i) {
    if (i < n)
      next = x[i * kTile + threadIdx.x];
    sum = dot(slots[(i - 1) & 1], sum);
    if (i < n)
      slots[i & 1][threadIdx.x] = next;
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// cuda::pipeline chooses how many groups may stay by the number of its stages:
// one, from the second iteration on.
// CHECK: jChosenWait(
// CHECK-NEXT: holds: async_pipeline (depth 2, in_flight 1, mechanism cp_async), main region, loop L0, read at ptx
__global__ void jChosenWait(const float *x, float *y, int n) {
  __shared__ float slots[2][kTile];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  float sum = 0;
  auto fetch = [&](int i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&slots[i & 1][threadIdx.x], x + i * kTile + threadIdx.x,
                       sizeof(float), pipe);
    pipe.producer_commit();
  };
  fetch(0);
  for (int i = 1; i < n; ++i) {
    fetch(i);
    pipe.consumer_wait();
    __syncthreads();
    sum = dot(slots[(i - 1) & 1], sum);
    pipe.consumer_release();
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
