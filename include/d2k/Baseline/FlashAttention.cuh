// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with an online softmax on mma.sync, for baselines where no library
// does the task: a block takes 128 query rows of a head and walks along the
// keys, 64 at a time. K of the next step is on its way while the softmax and
// the product with V of this step run, V of this step while its scores are
// computed (Dao, "FlashAttention-2", 2023).

#ifndef D2K_BASELINE_FLASHATTENTION_CUH
#define D2K_BASELINE_FLASHATTENTION_CUH

#include "d2k/Baseline/Attention.cuh"
#include "d2k/Baseline/Device.h"

namespace d2k::baseline {

constexpr int kAttentionKeys = 64;

/// The sizes of a block for heads of \p kWidth elements.
template <int kWidth>
struct AttentionShape {
  /// Tiles of 16 rows a warp. Two share what is loaded of K and V, but two
  /// accumulators of 256 columns do not fit into registers.
  static constexpr int kTiles = kWidth > 128 ? 1 : 2;
  static constexpr int kThreads = kAttentionRows / (16 * kTiles) * 32;
  static constexpr int kBytes =
      (kAttentionRows + 2 * kAttentionKeys) * kWidth * int(sizeof(Bf16));
};

template <int kWidth, bool kIsListed>
__global__ void __launch_bounds__(AttentionShape<kWidth>::kThreads)
    attend(AttentionProblem p) {
  using Shape = AttentionShape<kWidth>;
  constexpr int kTiles = Shape::kTiles, kThreads = Shape::kThreads;
  constexpr int kRows = kAttentionRows, kKeys = kAttentionKeys;
  // The last rows have most keys, and start first.
  AttentionTile<kKeys, kIsListed> tile(p, int(blockIdx.z), int(blockIdx.y),
                                       int(gridDim.x - 1 - blockIdx.x));
  if (tile.rows == 0)
    return;
  int rows = tile.rows, steps = tile.steps;

  extern __shared__ __align__(128) unsigned char sharedMemory[];
  SharedMatrix<kWidth> sharedQ = {reinterpret_cast<Bf16 *>(sharedMemory)};
  SharedMatrix<kWidth> sharedK = {sharedQ.data + kRows * kWidth};
  SharedMatrix<kWidth> sharedV = {sharedK.data + kKeys * kWidth};
  int64_t strideQ = int64_t(p.headsQ) * kWidth;
  int64_t strideK = int64_t(p.headsK) * kWidth;
  const Bf16 *keys = p.k + tile.beginK * strideK + tile.headK * kWidth;
  const Bf16 *values = p.v + tile.beginK * strideK + tile.headK * kWidth;
  int64_t offsetQ = tile.firstRow * strideQ + tile.head * kWidth;
  sharedQ.template copyFrom<kRows, kThreads>(p.q + offsetQ, strideQ, rows);
  int key0 = steps > 0 ? tile.getKey(0) : 0;
  if (steps > 0)
    sharedK.template copyFrom<kKeys, kThreads>(keys + key0 * strideK, strideK,
                                               tile.lengthK - key0);

  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int warpRow = warp * 16 * kTiles;
  // Element [t][n] has rows lane / 4 (0, 1) and lane / 4 + 8 (2, 3) of tile t.
  float o[kTiles][kWidth / 8][4] = {};
  SoftmaxRow softmax[kTiles][2];
  float scale2 = p.scale * kLog2e;
  uint32_t laneQ = sharedQ.getLaneA(warpRow);
  uint32_t laneK = sharedK.getLaneB(0);
  uint32_t laneV = sharedV.getLaneTransposedB(0);

  for (int step = 0; step < steps; ++step) {
    waitForCopies();
    __syncthreads(); // K is there, and nobody reads the last V any more.
    sharedV.template copyFrom<kKeys, kThreads>(values + key0 * strideK, strideK,
                                               tile.lengthK - key0);

    float s[kTiles][kKeys / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
        sharedQ.loadA(a[t], laneQ, 16 * t, k);
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        uint32_t b[4];
        sharedK.loadB(b, laneK, 16 * n, k);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          multiply(s[t][2 * n], a[t], b[0], b[1]);
          multiply(s[t][2 * n + 1], a[t], b[2], b[3]);
        }
      }
    }
    waitForCopies();
    __syncthreads(); // V is there, and nobody reads this K any more.
    int thisKey = key0;
    if (step + 1 < steps) {
      key0 = tile.getKey(step + 1);
      sharedK.template copyFrom<kKeys, kThreads>(keys + key0 * strideK, strideK,
                                                 tile.lengthK - key0);
    }

    bool isPartial = tile.isPartial(p, thisKey);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (isPartial)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          int2 visible =
              tile.getVisible(p, warpRow + 16 * t + lane / 4 + 8 * half);
#pragma unroll
          for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
              int key = thisKey + 8 * n + lane % 4 * 2 + i % 2;
              if (key < visible.x || key >= visible.y)
                s[t][n][i] = -INFINITY;
            }
        }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float largest = -INFINITY, base;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
          largest =
              fmaxf(largest, fmaxf(s[t][n][2 * half], s[t][n][2 * half + 1]));
        float kept =
            softmax[t][half].raise(maximumOfRow(largest), scale2, base);
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            s[t][n][i] = exp2Fast(fmaf(s[t][n][i], scale2, -base));
            softmax[t][half].sum += s[t][n][i];
          }
#pragma unroll
        for (int n = 0; n < kWidth / 8; ++n) {
          o[t][n][2 * half] *= kept;
          o[t][n][2 * half + 1] *= kept;
        }
      }
    }

#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      uint32_t a[kTiles][4];
#pragma unroll
      for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float *pair = &s[t][2 * k + i / 2][i % 2 * 2];
          a[t][i] = packBf16(pair[0], pair[1]);
        }
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        uint32_t b[4];
        sharedV.loadTransposedB(b, laneV, 16 * k, n);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          multiply(o[t][2 * n], a[t], b[0], b[1]);
          multiply(o[t][2 * n + 1], a[t], b[2], b[3]);
        }
      }
    }
  }
  waitForCopies();
  __syncthreads(); // Q is there even when there was no step.

  // Through shared memory, where each warp has the rows of Q to itself, so that
  // 16 bytes are written at once.
  float sink = p.sinks ? p.sinks[tile.head] : -INFINITY;
#pragma unroll
  for (int t = 0; t < kTiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = warpRow + 16 * t + lane / 4 + 8 * half;
      float lse;
      float factor = softmax[t][half].finish(p.scale, sink, lse);
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n)
        *reinterpret_cast<uint32_t *>(sharedQ.at(row, n) + lane % 4 * 2) =
            packBf16(o[t][n][2 * half] * factor,
                     o[t][n][2 * half + 1] * factor);
      if (p.lse && lane % 4 == 0 && row < rows)
        p.lse[tile.head * p.tokensQ + tile.firstRow + row] = lse;
    }
  __syncwarp();
  constexpr int kChunks = kWidth / kChunk;
#pragma unroll 4
  for (int i = lane; i < 16 * kTiles * kChunks; i += 32) {
    int row = warpRow + i / kChunks;
    if (row < rows)
      *reinterpret_cast<uint4 *>(p.o + offsetQ + row * strideQ +
                                 i % kChunks * kChunk) =
          *reinterpret_cast<const uint4 *>(sharedQ.at(row, i % kChunks));
  }
}

template <int kWidth, bool kIsListed>
int launchAttend(const AttentionProblem &p, cudaStream_t stream) {
  using Shape = AttentionShape<kWidth>;
  auto *kernel = attend<kWidth, kIsListed>;
  if (int error = allowShared(kernel, Shape::kBytes))
    return error;
  dim3 grid(unsigned((p.maxQ + kAttentionRows - 1) / kAttentionRows),
            unsigned(p.headsQ), unsigned(p.sequences));
  kernel<<<grid, Shape::kThreads, Shape::kBytes, stream>>>(p);
  return cudaGetLastError();
}

/// Enqueues the attention of \p p; widths are 64, 128 and 256, with a block
/// list 128. Returns a cudaError.
inline int enqueueAttention(const AttentionProblem &p, cudaStream_t stream) {
  if (p.headsQ > 65535 || p.sequences > 65535 || p.maxQ > INT32_MAX / 2)
    return cudaErrorInvalidValue;
  if (p.rowStarts)
    return p.width == 128 ? launchAttend<128, true>(p, stream)
                          : int(cudaErrorInvalidValue);
  switch (p.width) {
  case 64:
    return launchAttend<64, false>(p, stream);
  case 128:
    return launchAttend<128, false>(p, stream);
  case 256:
    return launchAttend<256, false>(p, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_FLASHATTENTION_CUH
