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
/// Variants of the kernel, of which each is the fastest somewhere.
constexpr int kFewRowsVariants = 8;

/// The lower halves of two words, and the upper ones.
__device__ inline uint32_t takeLow(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x5410);
}
__device__ inline uint32_t takeHigh(uint32_t first, uint32_t second) {
  return __byte_perm(first, second, 0x7632);
}

/// D = X * W^T for 8 * kColumns rows of X and 16 * kTiles rows of W: W is the
/// left operand of mma.sync, and the block's warps share the groups of k. With
/// \p kAhead a warp's next group is on its way while it multiplies; else there
/// are registers for more warps, which do the same for each other.
///
/// The order of k within a group is free as long as both operands have the
/// same. Lane t of four gets the columns 32 t .. 32 t + 31 of its rows of W,
/// which are 16 bytes, and the same columns of its row of X.
template <bool kAhead, int kWarps, int kTiles, int kColumns, typename Weights>
__global__ void
__launch_bounds__(kWarps * 32,
                  kTiles == 1 ? (kColumns == 1 ? 4 : 3)
                  : kWarps == 8 && (kAhead ? kTiles == 2 && kColumns <= 2
                                           : kTiles == 2 || kColumns == 1)
                      ? 2
                      : 1) multiplyFewRows(const Bf16 *x, Weights weights,
                                           Bf16 *d, int m, int n, int k) {
  constexpr int kRows = 16 * kTiles, kOutputs = kRows * 8 * kColumns;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int quad = lane / 4, t = lane % 4;
  int row0 = int(blockIdx.x) * kRows, m0 = int(blockIdx.y) * 8 * kColumns;
  int groups = k / kFewRowsGroup;
  float sums[kTiles][kColumns][4] = {};

  uint4 next[kTiles][2];
  typename Weights::Group nextScales[kTiles][2];
  auto load = [&](int group) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int64_t row = row0 + 16 * tile + 8 * half + quad;
        next[tile][half] = weights.load(row, group, t);
        nextScales[tile][half] = weights.loadGroup(row, group, t);
      }
  };
  if (kAhead && warp < groups)
    load(warp);
  for (int group = warp; group < groups; group += kWarps) {
    if (!kAhead)
      load(group);
    uint4 words[kTiles][2];
    typename Weights::Group scales[kTiles][2];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        words[tile][half] = next[tile][half];
        scales[tile][half] = nextScales[tile][half];
      }
    if (kAhead && group + kWarps < groups)
      load(group + kWarps);
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
  // do. With 16 warps half of them add what the others have first.
  constexpr int kParts = 8;
  __shared__ float partial[kParts][kOutputs];
  auto forAllSums = [&](auto use) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
      for (int column = 0; column < kColumns; ++column)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          int row = 16 * tile + quad + (i < 2 ? 0 : 8);
          int inColumn = 8 * column + 2 * t + i % 2;
          use(sums[tile][column][i], inColumn * kRows + row);
        }
  };
  if (kWarps > kParts) {
    if (warp >= kParts)
      forAllSums([&](float &sum, int at) { partial[warp - kParts][at] = sum; });
    __syncthreads();
    if (warp < kParts)
      forAllSums([&](float &sum, int at) { sum += partial[warp][at]; });
  }
  // Each warp has read what it writes now.
  if (warp < kParts)
    forAllSums([&](float &sum, int at) { partial[warp][at] = sum; });
  __syncthreads();
  for (int i = int(threadIdx.x); i < kOutputs; i += kWarps * 32) {
    float sum = 0;
#pragma unroll
    for (int from = 0; from < kParts; ++from)
      sum += partial[from][i];
    int row = m0 + i / kRows;
    if (row < m)
      d[int64_t(row) * n + row0 + i % kRows] =
          __float2bfloat16_rn(weights.finish(sum));
  }
}

template <bool kAhead, int kWarps, int kTiles, int kColumns, typename Weights>
int launchFewRows(const Bf16 *x, const Weights &weights, Bf16 *d, int m, int n,
                  int k, cudaStream_t stream) {
  dim3 grid(unsigned(n / (16 * kTiles)),
            unsigned((m + 8 * kColumns - 1) / (8 * kColumns)));
  multiplyFewRows<kAhead, kWarps, kTiles, kColumns>
      <<<grid, kWarps * 32, 0, stream>>>(x, weights, d, m, n, k);
  return cudaGetLastError();
}

/// D[m,n] = X[m,k] * W[n,k]^T; n is a multiple of 64 and k one of 128. Variant
/// 0 has 32 rows of W a block, 1 has 64, 2 has 32 and twice the warps, and all
/// load ahead; 3 and 4 are 0 and 1 with more blocks an SM in place of that; 5
/// and 6 have 16 rows, with and without loads ahead, and 7 has 64 and twice the
/// warps. All but 0 and 3 have few columns, for which registers suffice.
/// Returns a cudaError.
template <typename Weights>
int launchFewRows(int variant, const Bf16 *x, const Weights &weights, Bf16 *d,
                  int m, int n, int k, cudaStream_t stream) {
  auto launch = variant == 1   ? launchFewRows<true, 8, 4, 2, Weights>
                : variant == 2 ? launchFewRows<true, 16, 2, 2, Weights>
                : variant == 4 ? launchFewRows<false, 8, 4, 2, Weights>
                : variant == 5 ? launchFewRows<true, 8, 1, 2, Weights>
                : variant == 6 ? launchFewRows<false, 8, 1, 2, Weights>
                : variant == 7 ? launchFewRows<false, 16, 4, 2, Weights>
                : variant == 3 && m <= 16
                    ? launchFewRows<false, 8, 2, 2, Weights>
                : variant == 3 ? launchFewRows<false, 8, 2, 4, Weights>
                : m <= 16      ? launchFewRows<true, 8, 2, 2, Weights>
                : m <= 32      ? launchFewRows<true, 8, 2, 4, Weights>
                               : launchFewRows<true, 8, 2, 5, Weights>;
  if (m <= 8)
    launch = variant == 1   ? launchFewRows<true, 8, 4, 1, Weights>
             : variant == 2 ? launchFewRows<true, 16, 2, 1, Weights>
             : variant == 3 ? launchFewRows<false, 8, 2, 1, Weights>
             : variant == 4 ? launchFewRows<false, 8, 4, 1, Weights>
             : variant == 5 ? launchFewRows<true, 8, 1, 1, Weights>
             : variant == 6 ? launchFewRows<false, 8, 1, 1, Weights>
             : variant == 7 ? launchFewRows<false, 16, 4, 1, Weights>
                            : launchFewRows<true, 8, 2, 1, Weights>;
  return launch(x, weights, d, m, n, k, stream);
}

/// For the identity of a baseline.
inline const char *describeFewRows(int variant) {
  constexpr const char *kDescriptions[kFewRowsVariants] = {
      "32 rows of W and 8 warps a block, loads ahead",
      "64 rows of W and 8 warps a block, loads ahead",
      "32 rows of W and 16 warps a block, loads ahead",
      "32 rows of W and 8 warps a block",
      "64 rows of W and 8 warps a block",
      "16 rows of W and 8 warps a block, loads ahead",
      "16 rows of W and 8 warps a block",
      "64 rows of W and 16 warps a block"};
  return kDescriptions[variant];
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_FEWROWS_CUH
