// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with packed 4-bit weights and few rows, for baselines: weights are
// widened in registers, in the order in which mma.sync wants them, so that they
// go from memory to the matrix units without shared memory.
//
// What the weights are is the task's:
//
//   struct Weights {
//     struct Group { ... }; // what 32 columns of a row need to be widened
//     // Columns 32 t .. of the 128 of group number `group` of a row: as
//     stored,
//     // and what goes with them.
//     __device__ uint4 load(int64_t row, int group, int t) const;
//     __device__ Group loadGroup(int64_t row, int group, int t) const;
//     // Columns i and i + 4 of the eight in word number `part` of the four.
//     static __device__ uint32_t widen(uint32_t word, int i, int part,
//                                      const Group &group);
//     // What becomes of a sum before it is rounded.
//     __device__ float finish(float sum) const;
//   };

#ifndef D2K_BASELINE_FEWROWS_CUH
#define D2K_BASELINE_FEWROWS_CUH

#include "d2k/Baseline/MmaSync.cuh"

#include <cuda_runtime_api.h>

namespace d2k::baseline {

/// Columns of a group.
constexpr int kFewRowsGroup = 128;
constexpr int kFewRowsWarps = 8;

/// The lower halves of two words, and the upper ones.
__device__ inline uint32_t takeLow(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x5410);
}
__device__ inline uint32_t takeHigh(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x7632);
}

/// D = X * W^T for 8 * kColumns rows of X and 16 * kTiles rows of W: W is the
/// left operand of mma.sync, and the block's warps share the groups of k.
///
/// The order of k within a group is free as long as both operands have the
/// same. Lane t of four gets the columns 32 t .. 32 t + 31 of its rows of W,
/// which are 16 bytes, and the same columns of its row of X.
template <int kTiles, int kColumns, typename Weights>
__global__ void __launch_bounds__(kFewRowsWarps * 32,
                                  kTiles == 4 && kColumns == 2 ? 1 : 2)
    multiplyFewRows(const Bf16 *x, Weights weights, Bf16 *d, int m, int n,
                    int k) {
  constexpr int kRows = 16 * kTiles, kOutputs = kRows * 8 * kColumns;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int quad = lane / 4, t = lane % 4;
  int row0 = int(blockIdx.x) * kRows, m0 = int(blockIdx.y) * 8 * kColumns;
  int groups = k / kFewRowsGroup;
  float sums[kTiles][kColumns][4] = {};

  for (int group = warp; group < groups; group += kFewRowsWarps) {
    uint4 words[kTiles][2];
    typename Weights::Group scales[kTiles][2];
    for (int tile = 0; tile < kTiles; ++tile)
      for (int half = 0; half < 2; ++half) {
        int64_t row = row0 + 16 * tile + 8 * half + quad;
        words[tile][half] = weights.load(row, group, t);
        scales[tile][half] = weights.loadGroup(row, group, t);
      }
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      // Eight columns of X, in the pairs that widen() makes.
      uint32_t b[kColumns][4];
      for (int column = 0; column < kColumns; ++column) {
        int row = m0 + 8 * column + quad;
        uint4 values = {};
        if (row < m)
          values = __ldg(reinterpret_cast<const uint4 *>(x + int64_t(row) * k +
                                                         group * kFewRowsGroup +
                                                         32 * t + 8 * part));
        b[column][0] = takeLow(values.x, values.z);
        b[column][1] = takeHigh(values.x, values.z);
        b[column][2] = takeLow(values.y, values.w);
        b[column][3] = takeHigh(values.y, values.w);
      }
      for (int tile = 0; tile < kTiles; ++tile) {
        uint32_t word[2];
        for (int half = 0; half < 2; ++half) {
          const uint4 &all = words[tile][half];
          word[half] = part == 0   ? all.x
                       : part == 1 ? all.y
                       : part == 2 ? all.z
                                   : all.w;
        }
        for (int step = 0; step < 2; ++step) {
          uint32_t a[4];
          for (int pair = 0; pair < 2; ++pair)
            for (int half = 0; half < 2; ++half)
              a[2 * pair + half] = Weights::widen(word[half], 2 * step + pair,
                                                  part, scales[tile][half]);
          for (int column = 0; column < kColumns; ++column)
            multiply(sums[tile][column], a, b[column][2 * step],
                     b[column][2 * step + 1]);
        }
      }
    }
  }

  // [column][row], so that threads that follow each other write outputs that
  // do.
  __shared__ float partial[kFewRowsWarps][kOutputs];
  for (int tile = 0; tile < kTiles; ++tile)
    for (int column = 0; column < kColumns; ++column)
      for (int i = 0; i < 4; ++i) {
        int row = 16 * tile + quad + (i < 2 ? 0 : 8);
        int inColumn = 8 * column + 2 * t + i % 2;
        partial[warp][inColumn * kRows + row] = sums[tile][column][i];
      }
  __syncthreads();
  for (int i = int(threadIdx.x); i < kOutputs; i += kFewRowsWarps * 32) {
    float sum = 0;
    for (int from = 0; from < kFewRowsWarps; ++from)
      sum += partial[from][i];
    int row = m0 + i / kRows;
    if (row < m)
      d[int64_t(row) * n + row0 + i % kRows] =
          __float2bfloat16_rn(weights.finish(sum));
  }
}

template <int kTiles, int kColumns, typename Weights>
int launchFewRows(const Bf16 *x, const Weights &weights, Bf16 *d, int m, int n,
                  int k, cudaStream_t stream) {
  dim3 grid(unsigned(n / (16 * kTiles)),
            unsigned((m + 8 * kColumns - 1) / (8 * kColumns)));
  multiplyFewRows<kTiles, kColumns>
      <<<grid, kFewRowsWarps * 32, 0, stream>>>(x, weights, d, m, n, k);
  return cudaGetLastError();
}

/// D[m,n] = X[m,k] * W[n,k]^T, with \p tiles of 16 rows of W a block, 2 or 4;
/// n is a multiple of 64 and k one of 128. Returns a cudaError.
template <typename Weights>
int launchFewRows(int tiles, const Bf16 *x, const Weights &weights, Bf16 *d,
                  int m, int n, int k, cudaStream_t stream) {
  if (m <= 8)
    return tiles == 4 ? launchFewRows<4, 1>(x, weights, d, m, n, k, stream)
                      : launchFewRows<2, 1>(x, weights, d, m, n, k, stream);
  if (m <= 16)
    return tiles == 4 ? launchFewRows<4, 2>(x, weights, d, m, n, k, stream)
                      : launchFewRows<2, 2>(x, weights, d, m, n, k, stream);
  return tiles == 4 ? launchFewRows<4, 2>(x, weights, d, m, n, k, stream)
                    : launchFewRows<2, 4>(x, weights, d, m, n, k, stream);
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_FEWROWS_CUH
