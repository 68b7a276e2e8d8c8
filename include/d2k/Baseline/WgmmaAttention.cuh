// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with an online softmax on wgmma, for baselines on sm_90a (Shah et
// al., "FlashAttention-3", 2024). Blocks are persistent and take tiles of 128
// query rows of a head. A producer warp feeds Q, and K and V in rings of
// stages, by tensor copies; two warpgroups have 64 rows each and keep scores
// and result in registers, where the probabilities are an operand of the second
// product. The softmax is hidden behind products with V of the step before, and
// behind those of the other warpgroup. (To make the two take turns in starting
// theirs, as the paper does, was no faster on an H200.) With 64 columns there
// are three blocks an SM, with tiles of 64 rows for one warpgroup, in place of
// that.

#ifndef D2K_BASELINE_WGMMAATTENTION_CUH
#define D2K_BASELINE_WGMMAATTENTION_CUH

#include "d2k/Baseline/FlashAttention.cuh"
#include "d2k/Baseline/TensorRing.cuh"

#include <algorithm>

namespace d2k::baseline {

/// The sizes of a block for heads of \p kWidth elements.
template <int kWidth>
struct WgmmaAttentionShape {
  /// Blocks of an SM. With 64 columns there are registers for three of one
  /// warpgroup each, which hide each other's softmax and the beginnings and
  /// ends of tiles.
  static constexpr int kBlocks = kWidth < 128 ? 3 : 1;
  static constexpr int kConsumers = kBlocks == 1 ? 2 : 1;
  static constexpr int kRows = 64 * kConsumers;
  /// Keys of a step. With 256 columns of the result there are no registers for
  /// more.
  static constexpr int kKeys = kWidth > 128 ? 80 : kWidth < 128 ? 64 : 128;
  static constexpr int kStages = kWidth < 128 ? 3 : 2;
  /// Of Q. Where tiles are short the next one's is on its way; with 128 columns
  /// that was no faster on an H200.
  static constexpr int kStagesQ = kWidth < 128 ? 2 : 1;
  /// A producer with a warpgroup of its own can give registers away. Else it is
  /// the last warp.
  static constexpr int kThreads = kConsumers * 128 + (kBlocks == 1 ? 128 : 32);
  /// A box of a tensor copy has 64 columns.
  static constexpr int kBoxes = kWidth / 64;
  static constexpr int kBoxQ = kRows * 128, kBoxK = kKeys * 128;
  static constexpr int kBytesQ = kBoxes * kBoxQ, kBytesK = kBoxes * kBoxK;
  static constexpr int kBarriers = 2 * kStagesQ + 4 * kStages;
  /// 1024 bytes to align, the period of the swizzle.
  static constexpr int kBytes =
      1024 + kStagesQ * kBytesQ + 2 * kStages * kBytesK + kBarriers * 8;
};

/// Sequences that a block can sort.
constexpr int kMostSortedSequences = 128;

/// The sequences by their numbers of tiles, and a walk along all tiles, those
/// with most keys first: the last tiles of all sequences that have so many,
/// then the ones before them. All heads of a tile follow each other.
struct AttentionOrder {
  int count;
  uint16_t sequences[kMostSortedSequences];
  int tiles[kMostSortedSequences];

  /// Tiles of \p kRows rows. All threads of the block call it.
  template <int kRows>
  __device__ void make(const AttentionProblem &p) {
    auto countTiles = [&](int sequence) {
      return (p.getLengthQ(sequence) + kRows - 1) / kRows;
    };
    int own = int(threadIdx.x);
    if (own == 0)
      count = int(p.sequences);
    if (own < p.sequences) {
      int ownTiles = countTiles(own), place = 0;
      for (int other = 0; other < p.sequences; ++other) {
        int tiles = countTiles(other);
        place += tiles > ownTiles || (tiles == ownTiles && other < own);
      }
      sequences[place] = uint16_t(own);
      tiles[place] = ownTiles;
    }
    __syncthreads();
  }

  /// Where a walk is. Tiles of the same number are a layer.
  struct Walk {
    const AttentionOrder &order;
    int tile, firstOfLayer = 0, inLayer = 0;
    int sequence = 0;

    __device__ explicit Walk(const AttentionOrder &order)
        : order(order), tile(order.tiles[0]) {}

    /// Goes on to the tile with number \p index among all, of one head. False
    /// when there are not so many.
    __device__ bool goTo(int index) {
      while (index >= firstOfLayer + inLayer) {
        firstOfLayer += inLayer;
        if (--tile < 0)
          return false;
        while (inLayer < order.count && order.tiles[inLayer] > tile)
          ++inLayer;
      }
      sequence = order.sequences[index - firstOfLayer];
      return true;
    }
  };
};

template <int kWidth, bool kIsListed>
__global__ void __launch_bounds__(WgmmaAttentionShape<kWidth>::kThreads,
                                  WgmmaAttentionShape<kWidth>::kBlocks)
    attendWide(const __grid_constant__ CUtensorMap mapQ,
               const __grid_constant__ CUtensorMap mapK,
               const __grid_constant__ CUtensorMap mapV,
               const __grid_constant__ AttentionProblem p) {
#if D2K_HAS_WGMMA
  using Shape = WgmmaAttentionShape<kWidth>;
  constexpr int kKeys = Shape::kKeys;
  constexpr int kBoxes = Shape::kBoxes, kConsumers = Shape::kConsumers;
  constexpr unsigned kAll = 0xffffffffu;
  // 384 threads begin with 168 registers each; 128 * 40 + 256 * 232 = 64512.
  constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  constexpr bool kGives = Shape::kBlocks == 1;
  constexpr uint32_t kBytesAllQ = Shape::kStagesQ * Shape::kBytesQ;
  extern __shared__ uint8_t shared[];
  __shared__ AttentionOrder order;
  uint32_t base = (getSharedAddress(shared) + 1023) & ~1023u;
  uint32_t barriers = base + kBytesAllQ + 2 * Shape::kStages * Shape::kBytesK;
  TensorRing<Shape::kStagesQ> ringQ = {base, barriers, Shape::kBytesQ};
  TensorRing<Shape::kStages> ringK = {
      base + kBytesAllQ, barriers + 16 * Shape::kStagesQ, Shape::kBytesK};
  TensorRing<Shape::kStages> ringV = {
      ringK.data + Shape::kStages * Shape::kBytesK,
      ringK.full + 16 * Shape::kStages, Shape::kBytesK};
  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(kAll, int(threadIdx.x) / 32, 0);
  int lane = int(threadIdx.x) % 32;
  if (warp == 0 && electOneLane()) {
    ringQ.init(kConsumers * 4);
    ringK.init(kConsumers * 4);
    ringV.init(kConsumers * 4);
    fenceBarriers();
  }
  order.template make<Shape::kRows>(p);
  // Every second round is in the reverse order, so that all blocks have about
  // the same number of keys.
  AttentionOrder::Walk walk(order);
  auto getIndex = [&](int round) {
    int place = int(round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    return round * int(gridDim.x) + place;
  };

  constexpr int kProducer = kGives ? 0 : 4 * kConsumers;
  if (kGives ? warp < 4 : warp == kProducer) {
    if constexpr (kGives)
      giveRegisters<kProducerRegisters>();
    if (warp == kProducer && electOneLane())
      for (int round = 0; walk.goTo(getIndex(round) / p.headsQ); ++round) {
        AttentionTile<kKeys, kIsListed, Shape::kRows> tile(
            p, walk.sequence, getIndex(round) % p.headsQ, walk.tile);
        if (tile.steps == 0)
          continue;
        // Rows of the next sequence may come along: queries that nobody stores,
        // and keys of which no probability is left.
        ringQ.template fill<kBoxes>(mapQ, tile.head * kWidth,
                                    int(tile.firstRow));
        int column = tile.headK * kWidth;
        int rowK = int(tile.beginK);
        int row = rowK + tile.getKey(tile.steps - 1);
        ringK.template fill<kBoxes>(mapK, column, row);
        for (int step = tile.steps - 1; step >= 0; --step) {
          int rowV = row;
          if (step > 0) {
            row = rowK + tile.getKey(step - 1);
            ringK.template fill<kBoxes>(mapK, column, row);
          }
          ringV.template fill<kBoxes>(mapV, column, rowV);
        }
      }
    return;
  }

  if constexpr (kGives)
    takeRegisters<kConsumerRegisters>();
  int group = warp / 4 - (kGives ? 1 : 0);
  int ownRow = group * 64 + warp % 4 * 16 + lane / 4;
  float scale2 = p.scale * kLog2e;

  float s[kKeys / 2], o[kWidth / 2];
  uint32_t weights[kKeys / 16][4];
  for (int round = 0; walk.goTo(getIndex(round) / p.headsQ); ++round) {
    AttentionTile<kKeys, kIsListed, Shape::kRows> tile(
        p, walk.sequence, getIndex(round) % p.headsQ, walk.tile);
    SoftmaxRow softmax[2];
    float kept[2];
    // Starts the products of Q with the K that is there.
    auto multiplyK = [&] {
      uint64_t q =
          describeOperand(ringQ.getData() + uint32_t(group * 64 * 128));
      uint64_t k = describeOperand(ringK.getData());
#pragma unroll
      for (int i = 0; i < kWidth / 16; ++i)
        multiplyAsync(s, q + uint64_t(i / 4 * (Shape::kBoxQ / 16) + i % 4 * 2),
                      k + uint64_t(i / 4 * (Shape::kBoxK / 16) + i % 4 * 2),
                      i > 0);
      commitProducts();
    };
    auto multiplyV = [&](bool isFirst) {
      uint64_t v = describeTransposed(ringV.getData(), Shape::kBoxK);
#pragma unroll
      for (int i = 0; i < kKeys / 16; ++i)
        multiplyAsync(o, weights[i], v + uint64_t(i * 128), !isFirst || i > 0);
      commitProducts();
    };
    auto computeWeights = [&](int step) {
      int key0 = tile.getKey(step);
      if (tile.isPartial(p, key0))
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          int2 visible = tile.getVisible(p, ownRow + 8 * half);
          int key = key0 + lane % 4 * 2;
#pragma unroll
          for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
            for (int c = 0; c < 2; ++c)
              if (8 * j + c < visible.x - key || 8 * j + c >= visible.y - key)
                s[4 * j + 2 * half + c] = -INFINITY;
        }
      applySoftmax<kKeys>(s, softmax, kept, scale2);
    };
    auto packWeights = [&] {
#pragma unroll
      for (int i = 0; i < kKeys / 16; ++i)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          weights[i][r] = packBf16(s[8 * i + 2 * r], s[8 * i + 2 * r + 1]);
      pin(weights);
    };

    if (tile.steps > 0) {
      ringQ.wait();
      ringK.wait();
      fenceAccumulators();
      multiplyK();
      waitForProductsBut<0>();
      pin(s);
      ringK.release();
      computeWeights(tile.steps - 1);
      packWeights();
      if (tile.steps > 1)
        ringK.wait();
      for (int step = tile.steps - 2; step >= 0; --step) {
        fenceAccumulators();
        multiplyK();
        ringV.wait();
        fenceAccumulators();
        multiplyV(step == tile.steps - 2);
        waitForProductsBut<1>();
        pin(s);
        ringK.release();
        computeWeights(step);
        // Here, so that the compiler cannot move the softmax behind the wait
        // for the products with V, which run meanwhile.
        pin(s);
        if (step > 0)
          ringK.wait();
        waitForProductsBut<0>();
        pin(o);
        ringV.release();
        packWeights();
#pragma unroll
        for (int n = 0; n < kWidth / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            o[4 * n + i] *= kept[i / 2];
      }
      ringQ.release();
      ringV.wait();
      fenceAccumulators();
      multiplyV(tile.steps == 1);
      waitForProductsBut<0>();
      pin(o);
      ringV.release();
    }

    float sink = p.sinks ? p.sinks[tile.head] : -INFINITY;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = ownRow + 8 * half;
      float lse;
      float factor = softmax[half].finish(p.scale, sink, lse);
      int64_t at = tile.firstRow + row;
      if (p.lse && lane % 4 == 0 && row < tile.rows)
        p.lse[tile.head * p.tokensQ + at] = lse;
      Bf16 *to = p.o + (at * p.headsQ + tile.head) * kWidth + lane % 4 * kChunk;
#pragma unroll
      for (int n = 0; n < kWidth / 32; ++n) {
        uint32_t words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float *pair = &o[16 * n + 4 * j + 2 * half];
          // Without keys there is nothing in o.
          words[j] =
              factor == 0 ? 0 : packBf16(pair[0] * factor, pair[1] * factor);
        }
        transposeQuad(words);
        if (row < tile.rows)
          *reinterpret_cast<uint4 *>(to + 32 * n) =
              make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
#endif
}

template <int kWidth, bool kIsListed>
int launchAttendWide(const AttentionProblem &p, cudaStream_t stream) {
  using Shape = WgmmaAttentionShape<kWidth>;
  CUtensorMap mapQ, mapK, mapV;
  if (int error = describeMatrix(mapQ, p.q, p.tokensQ,
                                 int64_t(p.headsQ) * kWidth, Shape::kRows))
    return error;
  for (auto [map, from] : {std::pair(&mapK, p.k), std::pair(&mapV, p.v)})
    if (int error = describeMatrix(*map, from, p.tokensK,
                                   int64_t(p.headsK) * kWidth, Shape::kKeys))
      return error;
  int processors = 0;
  if (int error = countMultiprocessors(processors))
    return error;
  auto *kernel = attendWide<kWidth, kIsListed>;
  if (int error = allowShared(kernel, Shape::kBytes))
    return error;
  int64_t tiles =
      (p.maxQ + Shape::kRows - 1) / Shape::kRows * p.headsQ * p.sequences;
  int64_t blocks = int64_t(processors) * Shape::kBlocks;
  kernel<<<unsigned(std::min(tiles, blocks)), Shape::kThreads, Shape::kBytes,
           stream>>>(mapQ, mapK, mapV, p);
  return cudaGetLastError();
}

/// As enqueueAttention, by wgmma where the device has it; \p design becomes the
/// name of what runs.
inline int enqueueBestAttention(const AttentionProblem &p, cudaStream_t stream,
                                const char *&design) {
  bool isThere = false;
  if (int error = findWgmma(isThere))
    return error;
  int64_t tiles = (p.maxQ + 63) / 64 * p.headsQ * p.sequences;
  if (!isThere || p.sequences > kMostSortedSequences || tiles > INT32_MAX / 2 ||
      p.tokensQ > INT32_MAX || p.tokensK > INT32_MAX) {
    design = "hand-written: online softmax on mma.sync.m16n8k16, 128 queries x "
             "64 keys a block, cp.async; no library";
    return enqueueAttention(p, stream);
  }
  design =
      p.width == 64
          ? "hand-written: online softmax on wgmma, 64 queries x 64 keys a "
            "block, tensor copies, persistent; no library"
          : "hand-written: online softmax on wgmma, 2 x 64 queries x 128 keys "
            "(80 with 256 columns) a block, tensor copies, persistent; no "
            "library";
  if (p.rowStarts)
    return p.width == 128 ? launchAttendWide<128, true>(p, stream)
                          : int(cudaErrorInvalidValue);
  switch (p.width) {
  case 64:
    return launchAttendWide<64, false>(p, stream);
  case 128:
    return launchAttendWide<128, false>(p, stream);
  case 256:
    return launchAttendWide<256, false>(p, stream);
  default:
    return cudaErrorInvalidValue;
  }
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_WGMMAATTENTION_CUH
