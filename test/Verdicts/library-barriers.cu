// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles and pipelines by the barriers of libcu++: cuda::barrier and cuda::pipeline.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int ROW = 512;

// What a consumer makes of a row: a sum of its elements, or of products of two of them.
template <bool PRODUCTS>
__device__ __forceinline__ float fold(const float *row, int t) {
  float v = 0;
  for (int j = 0; j < ROW; ++j)
    v += PRODUCTS ? row[j] * row[(j + t) % ROW] : row[j] + row[(j + t) % ROW];
  return v;
}

// The last two warps copy rows into two buffers through registers, the others fold them.
template <bool PRODUCTS>
__device__ __forceinline__ void barrierRoles(const float *in, float *out, int rows) {
  __shared__ float row[2][ROW];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[2], empty[2];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 192);
    init(&empty[threadIdx.x], 192);
  }
  __syncthreads();
  const float *from = in + (size_t)blockIdx.x * rows * ROW;
  if (threadIdx.x >= 128) {
    for (int r = 0; r < rows; ++r) {
      empty[r & 1].arrive_and_wait();
      for (int j = threadIdx.x - 128; j < ROW; j += 64)
        row[r & 1][j] = from[(size_t)r * ROW + j];
      (void)full[r & 1].arrive();
    }
  } else {
    (void)empty[0].arrive();
    (void)empty[1].arrive();
    float v = 0;
    for (int r = 0; r < rows; ++r) {
      full[r & 1].arrive_and_wait();
      v += fold<PRODUCTS>(row[r & 1], threadIdx.x);
      (void)empty[r & 1].arrive();
    }
    out[blockIdx.x * 128 + threadIdx.x] = v;
  }
}

// EXPECT barrierSums: warp_specialization present roles=compute+copy:
//   two warps copy, four add up; the hand-over is by cuda::barrier
__global__ void __launch_bounds__(192) barrierSums(const float *in, float *out, int rows) {
  barrierRoles<false>(in, out, rows);
}

// EXPECT barrierProducts: warp_specialization present roles=compute+copy:
//   the same with products of two elements
// EXPECT barrierProducts: async_pipeline not-present:
//   the copies are of the other role's registers; no instruction runs by itself
__global__ void __launch_bounds__(192) barrierProducts(const float *in, float *out, int rows) {
  barrierRoles<true>(in, out, rows);
}

// Half of the block copies asynchronously, half folds; a pipeline of three stages.
template <bool PRODUCTS>
__device__ __forceinline__ void pipelineRoles(const float *in, float *out, int rows) {
  __shared__ alignas(16) float row[3][ROW];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
  auto block = cg::this_thread_block();
  bool copies = threadIdx.x < 128;
  auto pipe = cuda::make_pipeline(
      block, &state, copies ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const float *from = in + (size_t)blockIdx.x * rows * ROW + threadIdx.x * 4;
  if (copies) {
    for (int r = 0; r < rows; ++r) {
      pipe.producer_acquire();
      cuda::memcpy_async(&row[r % 3][threadIdx.x * 4], from + (size_t)r * ROW,
                         cuda::aligned_size_t<16>(16), pipe);
      pipe.producer_commit();
    }
  } else {
    float v = 0;
    for (int r = 0; r < rows; ++r) {
      pipe.consumer_wait();
      v += fold<PRODUCTS>(row[r % 3], threadIdx.x - 128);
      pipe.consumer_release();
    }
    out[blockIdx.x * 128 + threadIdx.x - 128] = v;
  }
}

// EXPECT pipelineSums: warp_specialization present roles=compute+copy: four warps copy, four add up
// EXPECT pipelineSums: async_pipeline present depth=3: three stages of cuda::pipeline
// EXPECT pipelineSums: async_copy present mechanism=cp_async: 16 bytes a thread
__global__ void __launch_bounds__(256) pipelineSums(const float *in, float *out, int rows) {
  pipelineRoles<false>(in, out, rows);
}

// EXPECT pipelineProducts: warp_specialization present roles=compute+copy:
//   four warps copy, four multiply
// EXPECT pipelineProducts: async_pipeline present depth=3: three stages of cuda::pipeline
__global__ void __launch_bounds__(256) pipelineProducts(const float *in, float *out, int rows) {
  pipelineRoles<true>(in, out, rows);
}

void run(const float *a, float **o, cudaStream_t s) {
  barrierSums<<<64, 192, 0, s>>>(a, o[0], 64);
  barrierProducts<<<64, 192, 0, s>>>(a, o[1], 64);
  pipelineSums<<<64, 256, 0, s>>>(a, o[2], 64);
  pipelineProducts<<<64, 256, 0, s>>>(a, o[3], 64);
}
