// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16 on the tensor cores of sm_80: a 128x128 block tile, four warps of
// 64x64, mma.sync m16n8k16. A ring of three shared-memory stages is filled by
// 16-byte cp.async, swizzled by exclusive-or so that neither the copies nor
// ldmatrix meet bank conflicts; tiles are walked in groups that share rows of W
// in L2; the epilogue adds R in fp32 and stores 16 bytes a lane.
// Runs on sm_80 and later. Constraints: K and N are multiples of 8; M is free.
// Measured on H200: docs/measurements/gemm_bf16-exemplars.md.

#include "d2k_gemm_bf16.h"

#include <cuda_bf16.h>

constexpr int kTileM = 128;
constexpr int kTileN = 128;
constexpr int kTileK = 32;
constexpr int kStages = 3;

// Two by two warps, each with a 64x64 part: every fragment of X meets 8 of W
// and every fragment of W meets 4 of X, so shared memory is read only half as
// often as with 32x32 parts.
constexpr int kWarpsN = 2;
constexpr int kThreads = 128;
constexpr int kWarpM = 64;
constexpr int kWarpN = 64;
constexpr int kFragmentsM = kWarpM / 16;
constexpr int kFragmentsN = kWarpN / 8;

// A chunk is 16 bytes, the unit of cp.async, of ldmatrix rows and of swizzle.
constexpr int kChunk = 8;
constexpr int kChunksPerRow = kTileK / kChunk;
constexpr int kRowsPerPass = kThreads / kChunksPerRow;
constexpr int kPasses = kTileM / kRowsPerPass;
static_assert(kTileM == kTileN && kTileM % kRowsPerPass == 0);

constexpr int kOperandBytes = kTileM * kTileK * 2;
constexpr int kStageBytes = 2 * kOperandBytes;
constexpr int kSharedBytes = kStages * kStageBytes;

// Block tiles of this many rows of tiles are visited together, column by
// column, so that the blocks in flight reuse each other's X and W in L2.
constexpr int kGroupRows = 16;

/// Byte offset of (row, chunk) in one staged operand. Rows are 64 bytes, so two
/// rows cover all 32 banks; the exclusive-or with row / 2 moves each following
/// pair to other banks. Eight lanes that read one chunk column of 8 rows
/// (ldmatrix), or write two whole rows (cp.async), touch 32 different banks.
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return row * (kTileK * 2) + ((chunk ^ ((row >> 1) & 3)) << 4);
}

/// Copies 16 bytes from global to shared memory past L1 and the registers.
/// Writes zeros and reads nothing when `inside` is false.
__device__ __forceinline__ void copyAsync(uint32_t to, const void *from,
                                          bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to),
               "l"(from), "r"(inside ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void commitCopies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

template <int kLeftInFlight>
__device__ __forceinline__ void waitForCopies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeftInFlight) : "memory");
}

/// Loads four 8x8 matrices; lane l gives the address of row l % 8 of matrix
/// l / 8 and receives elements (l / 4, 2 * (l % 4)) and the next of each.
__device__ __forceinline__ void loadMatrices(uint32_t (&out)[4],
                                             uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(from)
               : "memory");
}

/// acc[16x8] += a[16x16] . b[8x16]^T.
__device__ __forceinline__ void
multiply(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
               : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Transposes a 4x4 array of float pairs over the 4 lanes of a quad: lane t
/// comes with the t-th pair of four 8-wide rows and leaves with all four pairs
/// of row t, which is 8 adjacent outputs. Two exchange steps, over lane bits.
__device__ __forceinline__ void transposeQuad(float2 (&v)[4], int quadLane) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit <<= 1) {
    bool upper = quadLane & bit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit)
        continue;
      // Keep the element whose index agrees with the own lane, send the other.
      float2 send = upper ? v[i] : v[i | bit];
      send.x = __shfl_xor_sync(0xffffffffu, send.x, bit);
      send.y = __shfl_xor_sync(0xffffffffu, send.y, bit);
      if (upper)
        v[i] = send;
      else
        v[i | bit] = send;
    }
  }
}

/// bf16(acc + residual) for two adjacent elements, rounded once.
__device__ __forceinline__ uint32_t addAndRound(float2 acc, uint32_t residual) {
  __nv_bfloat162 pair =
      __floats2bfloat162_rn(acc.x + __uint_as_float(residual << 16),
                            acc.y + __uint_as_float(residual & 0xffff0000u));
  return *reinterpret_cast<const uint32_t *>(&pair);
}

/// One 16-byte store. In PTX, because nvcc 13.0 turns the assignment of a uint4
/// here into four 4-byte stores, which use a quarter of each sector.
__device__ __forceinline__ void storeVector(__nv_bfloat16 *to, uint4 v) {
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};\n" ::"l"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__global__ void __launch_bounds__(kThreads, 2)
    gemmBf16MmaSync(const __nv_bfloat16 *__restrict__ X,
                    const __nv_bfloat16 *__restrict__ W,
                    const __nv_bfloat16 *__restrict__ R,
                    __nv_bfloat16 *__restrict__ D, int64_t M, int64_t N,
                    int64_t K, int tilesM, int tilesN) {
  extern __shared__ __align__(128) uint8_t ring[];
  uint32_t ringBase = uint32_t(__cvta_generic_to_shared(ring));

  int tid = threadIdx.x;
  int lane = tid % 32;
  int warpM = (tid / 32) / kWarpsN * kWarpM;
  int warpN = (tid / 32) % kWarpsN * kWarpN;

  // Grouped order: all columns of kGroupRows rows of tiles, then the next rows.
  int perGroup = kGroupRows * tilesN;
  int firstRow = int(blockIdx.x) / perGroup * kGroupRows;
  int rowsHere = min(kGroupRows, tilesM - firstRow);
  int inGroup = int(blockIdx.x) % perGroup;
  int64_t tileM = int64_t(firstRow + inGroup % rowsHere) * kTileM;
  int64_t tileN = int64_t(inGroup / rowsHere) * kTileN;

  // Four neighbouring lanes copy the 64 bytes of one row: two full sectors.
  int copyRow = tid / kChunksPerRow;
  int copyChunk = tid % kChunksPerRow;
  auto copyStage = [&](int slice) {
    uint32_t stage = ringBase + (slice % kStages) * kStageBytes;
    int64_t k = int64_t(slice) * kTileK + copyChunk * kChunk;
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      int row = copyRow + p * kRowsPerPass;
      uint32_t to = stage + swizzled(row, copyChunk);
      bool insideX = tileM + row < M && k < K;
      bool insideW = tileN + row < N && k < K;
      // An address is formed only inside the matrix; outside, any will do.
      copyAsync(to, insideX ? X + (tileM + row) * K + k : X, insideX);
      copyAsync(to + kOperandBytes, insideW ? W + (tileN + row) * K + k : W,
                insideW);
    }
  };

  float acc[kFragmentsM][kFragmentsN][4] = {};

  int slices = int((K + kTileK - 1) / kTileK);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < slices)
      copyStage(s);
    // A group is committed even when empty: the count of groups left in flight
    // then means the same in every iteration.
    commitCopies();
  }

  for (int slice = 0; slice < slices; ++slice) {
    // All but the newest group have landed: this slice's has. The barrier makes
    // every thread's share visible, and tells that the stage used one iteration
    // ago, which the next copy overwrites, is no longer read.
    waitForCopies<kStages - 2>();
    __syncthreads();
    if (slice + kStages - 1 < slices)
      copyStage(slice + kStages - 1);
    commitCopies();

    uint32_t stageX = ringBase + (slice % kStages) * kStageBytes;
    uint32_t stageW = stageX + kOperandBytes;
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      // A fragment of X is 16 rows x 16 of K: four 8x8 matrices, rows first.
      uint32_t x[kFragmentsM][4];
#pragma unroll
      for (int i = 0; i < kFragmentsM; ++i)
        loadMatrices(x[i], stageX + swizzled(warpM + i * 16 + lane % 16,
                                             k * 2 + lane / 16));
      // A fragment of W is 8 rows x 16 of K: one load serves two of them.
#pragma unroll
      for (int j = 0; j < kFragmentsN; j += 2) {
        uint32_t w[4];
        loadMatrices(w, stageW +
                            swizzled(warpN + j * 8 + lane % 8 + (lane / 16) * 8,
                                     k * 2 + (lane / 8) % 2));
#pragma unroll
        for (int i = 0; i < kFragmentsM; ++i) {
          multiply(acc[i][j], x[i], w[0], w[1]);
          multiply(acc[i][j + 1], x[i], w[2], w[3]);
        }
      }
    }
  }

  // A lane holds pairs of adjacent outputs, 4 bytes after rounding. Exchanging
  // four of them in each quad gives it 8 adjacent outputs, 16 bytes, and the
  // quad 64 bytes of one row.
  int quadLane = lane % 4;
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int64_t m = tileM + warpM + i * 16 + half * 8 + lane / 4;
#pragma unroll
      for (int j = 0; j < kFragmentsN; j += 4) {
        float2 v[4];
#pragma unroll
        for (int q = 0; q < 4; ++q)
          v[q] =
              make_float2(acc[i][j + q][half * 2], acc[i][j + q][half * 2 + 1]);
        transposeQuad(v, quadLane);

        int64_t n = tileN + warpN + (j + quadLane) * 8;
        // N is a multiple of 8: the 8 columns are inside or outside together.
        if (m < M && n < N) {
          uint4 r = *reinterpret_cast<const uint4 *>(R + m * N + n);
          uint4 d = make_uint4(addAndRound(v[0], r.x), addAndRound(v[1], r.y),
                               addAndRound(v[2], r.z), addAndRound(v[3], r.w));
          storeVector(D + m * N + n, d);
        }
      }
    }
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
  int64_t tilesM = (args->M + kTileM - 1) / kTileM;
  int64_t tilesN = (args->N + kTileN - 1) / kTileN;
  if (args->K < 0 || args->K % kChunk || args->N % kChunk ||
      tilesM * tilesN > INT32_MAX / kGroupRows)
    return cudaErrorInvalidValue;

  Tensors t(*args);
  gemmBf16MmaSync<<<unsigned(tilesM * tilesN), kThreads, kSharedBytes,
                    stream>>>(t.x, t.w, t.r, t.d, args->M, args->N, args->K,
                              int(tilesM), int(tilesN));
  return cudaGetLastError();
}
