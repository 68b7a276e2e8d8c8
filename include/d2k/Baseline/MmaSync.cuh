// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warp-wide matrix products on bf16 and what feeds them, for the hand-written
// kernels of baselines: the instructions of sm_80, which every later chip has.
// Names of fragments are those of the PTX ISA, "Matrix Fragments for
// mma.m16n8k16".

#ifndef D2K_BASELINE_MMASYNC_CUH
#define D2K_BASELINE_MMASYNC_CUH

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>

namespace d2k::baseline {

using Bf16 = __nv_bfloat16;

/// Elements and bytes of a chunk: what a thread copies at once, and what
/// ldmatrix takes as a row.
constexpr int kChunk = 8;
constexpr int kChunkBytes = 16;

__device__ inline uint32_t getSharedAddress(const void *pointer) {
  return uint32_t(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes from global to shared memory, asynchronously, or writes
/// zeros when \p isThere is false.
__device__ inline void copyAsync(void *to, const void *from, bool isThere) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   getSharedAddress(to)),
               "l"(from), "r"(isThere ? kChunkBytes : 0)
               : "memory");
}

/// Waits for all copies that this thread has started.
__device__ inline void waitForCopies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Ends a group of copies.
__device__ inline void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until all but the last \p kPending groups of this thread are there.
template <int kPending>
__device__ inline void waitForCopiesBut() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four 8x8 matrices; lane i gives the shared address of row i % 8 of matrix
/// i / 8.
__device__ inline void loadMatrices(uint32_t (&out)[4], uint32_t row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
      : "r"(row)
      : "memory");
}

/// The same, each matrix transposed.
__device__ inline void loadTransposed(uint32_t (&out)[4], uint32_t row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
      : "r"(row)
      : "memory");
}

/// c += a b: a is 16x16, b 16x8, c 16x8 in fp32.
__device__ inline void multiply(float (&c)[4], const uint32_t (&a)[4],
                                uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two numbers rounded to bf16, the first in the lower half.
__device__ inline uint32_t packBf16(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

/// The two numbers of packBf16.
__device__ inline float2 unpackBf16(uint32_t bits) {
  __nv_bfloat162 pair;
  memcpy(&pair, &bits, sizeof(pair));
  return __bfloat1622float2(pair);
}

/// Stores two numbers of packBf16 at an even element, in one access: the
/// compiler makes four of memcpy to where it cannot see the alignment.
__device__ inline void storePair(Bf16 *to, uint32_t bits) {
  *reinterpret_cast<uint32_t *>(to) = bits;
}

/// Transposes a 4x4 array of pairs over the 4 lanes of a quad: lane t comes
/// with the t-th pair of four groups of 8 columns and leaves with all four
/// pairs of group t, which are 8 adjacent outputs.
__device__ inline void transposeQuad(uint32_t (&v)[4]) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit <<= 1) {
    bool isUpper = threadIdx.x & unsigned(bit);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit)
        continue;
      // Keep the pair whose number agrees with the own lane, send the other.
      uint32_t other =
          __shfl_xor_sync(0xffffffffu, isUpper ? v[i] : v[i | bit], bit);
      if (isUpper)
        v[i] = other;
      else
        v[i | bit] = other;
    }
  }
}

/// 2^x by the special function unit, 0 where the result is subnormal.
__device__ inline float exp2Fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A matrix of bf16 in shared memory, aligned to 128 bytes, with rows of
/// \p kColumns elements, a multiple of 64. Chunk c of row r lies where chunk c
/// ^ (r % 8) would be, so that the eight rows that ldmatrix reads at once are
/// in different banks.
template <int kColumns>
struct SharedMatrix {
  static_assert(kColumns % 64 == 0, "eight chunks are a period of the banks");

  Bf16 *data;

  /// The address of chunk \p chunk of row \p row.
  __device__ Bf16 *at(int row, int chunk) const {
    return data + row * kColumns + (chunk ^ (row % 8)) * kChunk;
  }

  /// Starts copies of \p kRows rows, of which those from \p valid on become
  /// zeros; row r is at from + r * stride. All threads of the block call it, or
  /// \p kThreads of them with their place among these as \p thread.
  template <int kRows, int kThreads>
  __device__ void copyFrom(const Bf16 *from, int64_t stride, int valid,
                           int thread = int(threadIdx.x)) const {
    constexpr int kChunks = kColumns / kChunk, kStep = kThreads / kChunks;
    static_assert(kThreads % kChunks == 0 && kRows % kStep == 0,
                  "all threads copy alike");
    int row = thread / kChunks, chunk = thread % kChunks;
    from += row * stride + chunk * kChunk;
    for (int step = 0; step < kRows / kStep; ++step) {
      // Of a row that is not there nothing is read, wherever it would be.
      copyAsync(at(row, chunk), from, row < valid);
      row += kStep;
      from += kStep * stride;
    }
  }

  /// Where this lane's row of ldmatrix is for the fragments a, or b, of the
  /// rows from \p row on and the first columns. The functions below take it, so
  /// that the rest of their addresses are constants.
  __device__ uint32_t getLaneA(int row) const {
    int lane = int(threadIdx.x) % 32;
    return getSharedAddress(at(row + lane % 16, lane / 16));
  }
  __device__ uint32_t getLaneB(int row) const {
    int lane = int(threadIdx.x) % 32, matrix = lane / 8;
    return getSharedAddress(at(row + matrix / 2 * 8 + lane % 8, matrix % 2));
  }
  __device__ uint32_t getLaneTransposedB(int row) const {
    int lane = int(threadIdx.x) % 32, matrix = lane / 8;
    return getSharedAddress(at(row + matrix % 2 * 8 + lane % 8, matrix / 2));
  }

  /// Fragment a: rows \p row.. after the lane's, columns 16 k..
  static __device__ void loadA(uint32_t (&a)[4], uint32_t lane, int row,
                               int k) {
    loadMatrices(a, getAddress(lane, row, k));
  }

  /// Fragments b of two products whose columns are the rows row.. and row + 8..
  /// of this matrix, over its columns 16 k..: b[0], b[1] and b[2], b[3].
  static __device__ void loadB(uint32_t (&b)[4], uint32_t lane, int row,
                               int k) {
    loadMatrices(b, getAddress(lane, row, k));
  }

  /// Fragments b of two products whose columns are the columns 16 n.. and
  /// 16 n + 8.. of this matrix, over its rows row..
  static __device__ void loadTransposedB(uint32_t (&b)[4], uint32_t lane,
                                         int row, int n) {
    loadTransposed(b, getAddress(lane, row, n));
  }

  /// Fragment a whose rows are the columns 16 n.. of this matrix and whose
  /// columns are its rows row..; \p lane is that of getLaneB.
  static __device__ void loadTransposedA(uint32_t (&a)[4], uint32_t lane,
                                         int row, int n) {
    loadTransposed(a, getAddress(lane, row, n));
  }

private:
  /// From the address of chunk c < 2 of a row to that of chunk 2 k + c of the
  /// row \p row, a multiple of 8, below it.
  static __device__ uint32_t getAddress(uint32_t lane, int row, int k) {
    return (lane ^ uint32_t(k % 4 * 2 * kChunkBytes)) +
           uint32_t(k / 4 * 8 * kChunkBytes + row * kColumns * 2);
  }
};

} // namespace d2k::baseline

#endif // D2K_BASELINE_MMASYNC_CUH
