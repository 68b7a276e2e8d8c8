// Decoy of tiled.cu: the slot that a thread writes is permuted by row bits as
// in a swizzle, but so is what it loads: the tile lies in plain rows and is
// read so. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

// Constants and helpers of the honest kernel.
namespace honest {
#define d2k_gemm_bf16 multiplyHonestly
#include "tiled.cu"
#undef d2k_gemm_bf16
} // namespace honest

using namespace honest;

// Two blocks per SM: while one waits at its barrier for global memory, the
// other computes. This is the only overlap that the design has.
__global__ void __launch_bounds__(kThreads, 2)
    gemm(const __nv_bfloat16 *__restrict__ X,
         const __nv_bfloat16 *__restrict__ W,
         const __nv_bfloat16 *__restrict__ R, __nv_bfloat16 *__restrict__ D,
         int64_t M, int64_t N, int64_t K) {
  __shared__ alignas(16) __nv_bfloat16 sliceX[kTileM * kRowStride];
  __shared__ alignas(16) __nv_bfloat16 sliceW[kTileN * kRowStride];

  int tid = threadIdx.x;
  int x = tid % kThreadsX;
  int y = tid / kThreadsX;
  int64_t tileM = int64_t(blockIdx.y) * kTileM;
  int64_t tileN = int64_t(blockIdx.x) * kTileN;

  // Four neighbouring lanes read one row's 64 bytes: two full sectors.
  int loadRow = tid / kVectorsPerRow;
  // The slot within the row is permuted by row bits, and the columns that are
  // loaded are too: each value lands where it would have without.
  int loadK = ((tid % kVectorsPerRow) ^ ((loadRow >> 1) & 3)) * kVector;

  const __nv_bfloat16 *nextX[kPasses], *nextW[kPasses];
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    int row = loadRow + p * kRowsPerPass;
    nextX[p] = rowPointer(X, tileM + row, M, K) + loadK;
    nextW[p] = rowPointer(W, tileN + row, N, K) + loadK;
  }

  float acc[kThreadM][kThreadN] = {};

  for (int64_t k0 = 0; k0 < K; k0 += kTileK) {
    // All loads of the slice are requested before the first is used. K is a
    // multiple of 8: a vector lies inside as a whole or is all padding, and
    // padding along K must be zero.
    ulonglong2 fromX[kPasses] = {}, fromW[kPasses] = {};
    if (k0 + loadK < K) {
#pragma unroll
      for (int p = 0; p < kPasses; ++p) {
        fromX[p] = *reinterpret_cast<const ulonglong2 *>(nextX[p]);
        fromW[p] = *reinterpret_cast<const ulonglong2 *>(nextW[p]);
        nextX[p] += kTileK;
        nextW[p] += kTileK;
      }
    }
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      int row = loadRow + p * kRowsPerPass;
      stageVector(&sliceX[row * kRowStride + loadK], fromX[p]);
      stageVector(&sliceW[slotOfColumn(row) * kRowStride + loadK], fromW[p]);
    }
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
