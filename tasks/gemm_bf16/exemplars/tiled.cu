// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16 on the CUDA cores: a 128x128 block tile staged through shared
// memory in slices of 32 along K, an 8x8 register tile per thread, and 16-byte
// global loads and stores. No tensor cores and no asynchronous copies: it
// shows what data reuse alone buys over naive.cu. Runs on sm_80 and later.
// Constraints: K and N are multiples of 8 (16 bytes of bf16); M is free.
// Measured on H200: docs/measurements/gemm_bf16-exemplars.md.

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

constexpr int kTileM = 128;
constexpr int kTileN = 128;
constexpr int kTileK = 32;

// 16 x 16 threads; each makes 8 rows x 8 adjacent columns.
constexpr int kThreadsX = 16;
constexpr int kThreads = 256;
constexpr int kThreadM = 8;
constexpr int kThreadN = 8;

// One row of a staged slice takes 36 elements, 4 more than it holds. 72 bytes
// are 18 banks, so the 16 rows that half a warp reads (8 bytes each) start at
// 16 different even banks: no conflict. 64 bytes would give 8-way conflicts.
constexpr int kRowStride = kTileK + 4;

// A thread reads 16-byte vectors: 4 to a row of the slice, 64 rows at a time.
constexpr int kVector = 8;
constexpr int kVectorsPerRow = kTileK / kVector;
constexpr int kRowsPerPass = kThreads / kVectorsPerRow;
constexpr int kPasses = kTileM / kRowsPerPass;
static_assert(kTileM == kTileN && kTileM % kRowsPerPass == 0);

/// The slot at which row `n` of the W slice is kept. A thread owns 8 adjacent
/// columns of D (so that it can store 16 bytes), that is rows 8 * x + j of W.
/// Keeping equal j together makes the lanes of a warp read adjacent slots.
__device__ __forceinline__ int slotOfColumn(int n) {
  return (n % kThreadN) * kThreadsX + n / kThreadN;
}

/// The start of `row`, or of the last row when there is no such row: what is
/// read there reaches only outputs that are never stored.
__device__ __forceinline__ const __nv_bfloat16 *
rowPointer(const __nv_bfloat16 *base, int64_t row, int64_t rows, int64_t K) {
  return base + (row < rows ? row : rows - 1) * K;
}

/// Stages 8 elements as two 8-byte halves: a 72-byte row stride keeps only
/// 8-byte alignment.
__device__ __forceinline__ void stageVector(__nv_bfloat16 *slot, ulonglong2 v) {
  reinterpret_cast<unsigned long long *>(slot)[0] = v.x;
  reinterpret_cast<unsigned long long *>(slot)[1] = v.y;
}

/// One 16-byte store. In PTX, because nvcc 13.0 turns the assignment of a uint4
/// here into four 4-byte stores, which use a quarter of each sector.
__device__ __forceinline__ void storeVector(__nv_bfloat16 *to, uint4 v) {
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};\n" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

/// Reads 4 staged elements and widens them to fp32.
__device__ __forceinline__ void readFour(float (&out)[4],
                                         const __nv_bfloat16 *slot) {
  uint2 raw = *reinterpret_cast<const uint2 *>(slot);
  // bf16 is the upper half of an fp32: widening is a shift or a mask.
  out[0] = __uint_as_float(raw.x << 16);
  out[1] = __uint_as_float(raw.x & 0xffff0000u);
  out[2] = __uint_as_float(raw.y << 16);
  out[3] = __uint_as_float(raw.y & 0xffff0000u);
}

// Two blocks per SM: while one waits at its barrier for global memory, the
// other computes. This is the only overlap that the design has.
__global__ void __launch_bounds__(kThreads, 2)
    gemmBf16Tiled(const __nv_bfloat16 *__restrict__ X,
                  const __nv_bfloat16 *__restrict__ W,
                  const __nv_bfloat16 *__restrict__ R,
                  __nv_bfloat16 *__restrict__ D, int64_t M, int64_t N,
                  int64_t K) {
  __shared__ alignas(16) __nv_bfloat16 sliceX[kTileM * kRowStride];
  __shared__ alignas(16) __nv_bfloat16 sliceW[kTileN * kRowStride];

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

namespace {
/// The tensors of the arguments, typed.
struct Tensors {
  explicit Tensors(const d2k_gemm_bf16_args &args)
      : x(reinterpret_cast<const __nv_bfloat16 *>(args.X)),
        w(reinterpret_cast<const __nv_bfloat16 *>(args.W)),
        r(reinterpret_cast<const __nv_bfloat16 *>(args.R)),
        d(reinterpret_cast<__nv_bfloat16 *>(args.D)) {}
  const __nv_bfloat16 *x, *w, *r;
  __nv_bfloat16 *d;
};
} // namespace

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
  gemmBf16Tiled<<<dim3(unsigned(gridX), unsigned(gridY)), kThreads, 0,
                  stream>>>(t.x, t.w, t.r, t.d, args->M, args->N, args->K);
  return cudaGetLastError();
}
