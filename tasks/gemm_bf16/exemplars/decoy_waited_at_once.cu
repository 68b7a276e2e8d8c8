// Decoy of tiled.cu: two buffers in turn, filled by cp.async, and each copy
// waited for as soon as it is issued: nothing is in flight while the loop
// computes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

// Constants and helpers of the honest kernel.
namespace honest {
#define d2k_gemm_bf16 multiplyHonestly
#include "tiled.cu"
#undef d2k_gemm_bf16
} // namespace honest

using namespace honest;

/// Copies 16 bytes to shared memory in two halves, because a row there keeps
/// 8-byte alignment only; writes zeros when `inside` is false.
__device__ __forceinline__ void
copyAsync(__nv_bfloat16 *slot, const __nv_bfloat16 *from, bool inside) {
  uint32_t to = uint32_t(__cvta_generic_to_shared(slot));
  int bytes = inside ? 8 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;\n"
               "cp.async.ca.shared.global [%3], [%4], 8, %2;\n" ::"r"(to),
               "l"(from), "r"(bytes), "r"(to + 8), "l"(from + 4)
               : "memory");
}

// Two blocks per SM: while one waits for its copies, the other computes. This
// is the only overlap that the design has.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __nv_bfloat16 *__restrict__ X,
         const __nv_bfloat16 *__restrict__ W,
         const __nv_bfloat16 *__restrict__ R, __nv_bfloat16 *__restrict__ D,
         int64_t M, int64_t N, int64_t K) {
  __shared__ alignas(16) __nv_bfloat16 ringX[2][kTileM * kRowStride];
  __shared__ alignas(16) __nv_bfloat16 ringW[2][kTileN * kRowStride];

  int tid = threadIdx.x;
  int x = tid % kThreadsX;
  int y = tid / kThreadsX;
  int64_t tileM = int64_t(blockIdx.y) * kTileM;
  int64_t tileN = int64_t(blockIdx.x) * kTileN;

  // Four neighbouring lanes read one row's 64 bytes: two full sectors.
  int loadRow = tid / kVectorsPerRow;
  int loadK = (tid % kVectorsPerRow) * kVector;

  const __nv_bfloat16 *nextX[kPasses], *nextW[kPasses];
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    int row = loadRow + p * kRowsPerPass;
    nextX[p] = rowPointer(X, tileM + row, M, K) + loadK;
    nextW[p] = rowPointer(W, tileN + row, N, K) + loadK;
  }

  float acc[kThreadM][kThreadN] = {};

  for (int64_t k0 = 0; k0 < K; k0 += kTileK) {
    __nv_bfloat16 *sliceX = ringX[k0 / kTileK % 2];
    __nv_bfloat16 *sliceW = ringW[k0 / kTileK % 2];
    // K is a multiple of 8: a vector lies inside as a whole or is all padding.
    bool inside = k0 + loadK < K;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      int row = loadRow + p * kRowsPerPass;
      copyAsync(&sliceX[row * kRowStride + loadK], nextX[p], inside);
      copyAsync(&sliceW[slotOfColumn(row) * kRowStride + loadK], nextW[p],
                inside);
      nextX[p] += kTileK;
      nextW[p] += kTileK;
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    // All copies, also those just issued: none is in flight below.
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();

    // 64 values read for 256 multiply-adds. Not unrolled: loads hoisted from
    // the next step would push accumulators out of the 128 registers.
#pragma unroll 1
    for (int k = 0; k < kTileK; k += 4) {
      float w[kThreadN][4];
#pragma unroll
      for (int j = 0; j < kThreadN; ++j)
        readFour(w[j], &sliceW[(j * kThreadsX + x) * kRowStride + k]);
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
        float a[4];
        readFour(a, &sliceX[(y * kThreadM + i) * kRowStride + k]);
#pragma unroll
        for (int j = 0; j < kThreadN; ++j)
#pragma unroll
          for (int kk = 0; kk < 4; ++kk)
            acc[i][j] = fmaf(a[kk], w[j][kk], acc[i][j]);
      }
    }
    // The next slice overwrites this one.
    __syncthreads();
  }

  // N is a multiple of 8: a thread's 8 columns are inside or outside together.
  int64_t n = tileN + x * kThreadN;
  if (n >= N)
    return;
#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    int64_t m = tileM + y * kThreadM + i;
    if (m >= M)
      break;
    uint4 residual = *reinterpret_cast<const uint4 *>(R + m * N + n);
    const uint32_t *r = reinterpret_cast<const uint32_t *>(&residual);
    uint4 packed;
    uint32_t *d = reinterpret_cast<uint32_t *>(&packed);
#pragma unroll
    for (int j = 0; j < kThreadN / 2; ++j) {
      float lo = acc[i][2 * j] + __uint_as_float(r[j] << 16);
      float hi = acc[i][2 * j + 1] + __uint_as_float(r[j] & 0xffff0000u);
      __nv_bfloat162 pair = __floats2bfloat162_rn(lo, hi);
      d[j] = *reinterpret_cast<const uint32_t *>(&pair);
    }
    storeVector(D + m * N + n, packed);
  }
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  int64_t gridX = (args->N + kTileN - 1) / kTileN;
  int64_t gridY = (args->M + kTileM - 1) / kTileM;
  if (args->K < 0 || args->K % kVector || args->N % kVector ||
      gridX > INT32_MAX || gridY > 65535)
    return cudaErrorInvalidValue;

  Tensors t(*args);
  gemm<<<dim3(unsigned(gridX), unsigned(gridY)), kThreads, 0, stream>>>(
      t.x, t.w, t.r, t.d, args->M, args->N, args->K);
  return cudaGetLastError();
}
