// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of floats by 256 threads in tiles of 64 x 64 x 16, both operands K-major, whose
// copies into shared memory are up to the kernel.

#pragma once
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

constexpr int BK = 16;

// The place of a thread in the tile and in a copy, and its sums.
#define AT                                                                \
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, r = threadIdx.x / 16, \
      q = threadIdx.x % 16 * 4;                                           \
  float acc[4][4] = {};

// The products of one step.
__device__ __forceinline__ void fm(const float (*A)[64], const float (*B)[64], float (&acc)[4][4],
                                   int ty, int tx) {
#pragma unroll
  for (int k = 0; k < BK; ++k) {
    float a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = A[k][ty * 4 + i];
      b[i] = B[k][tx * 4 + i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        acc[i][j] += a[i] * b[j];
  }
}

// Stores the sums.
__device__ __forceinline__ void put(float *c, const float (&acc)[4][4], int n, int ty, int tx) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *(float4 *)(c + (size_t)(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4) =
        make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

// Asks for this thread's part of both tiles at `k`, without a commit.
__device__ __forceinline__ void ask(float (*A)[64], float (*B)[64], const float *a, const float *b,
                                    int n, int k) {
  int r = threadIdx.x / 16, c = threadIdx.x % 16 * 4;
  __pipeline_memcpy_async(&A[r][c], a + (size_t)(k + r) * n + blockIdx.y * 64 + c, 16);
  __pipeline_memcpy_async(&B[r][c], b + (size_t)(k + r) * n + blockIdx.x * 64 + c, 16);
}
