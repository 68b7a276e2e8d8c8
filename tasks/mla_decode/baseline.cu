// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of mla_decode, written by hand; no library is used. The heads of
// a sequence's queries are the rows of one matrix tile, 64 or 16 of them, and a
// page is a tile of the cache that is read once: as keys with all its columns,
// as values with the first 512. Sequences are split so that all SMs have work
// and joined in a second kernel.
//
// Tiles of 64 rows are multiplied with wgmma where the chip has it: a warpgroup
// computes the scores of a page, their softmax and half of the columns of the
// result, a second one the other half, and a producer warp copies the pages.
// Two of them fit into shared memory: a page is given back while the scores of
// the next one are computed. Elsewhere, and for 16 rows, products are mma.sync,
// and the next page is copied by cp.async meanwhile.

#include "d2k_mla_decode.h"

#include "d2k/Baseline/Attention.cuh"
#include "d2k/Baseline/TensorRing.cuh"

#include <algorithm>
#include <cstdio>

namespace {

using namespace d2k::baseline;

constexpr int kRow = D2K_MLA_DECODE_R;
constexpr int kValues = D2K_MLA_DECODE_V;
constexpr int kPage = D2K_MLA_DECODE_P;
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
/// Columns of the result of a warp: it has all rows of them.
constexpr int kColumns = kValues / kWarps;
static_assert(kColumns == 64 && kPage == 64, "what the tiles are made for");

struct Problem {
  const Bf16 *q, *cache;
  const int32_t *table, *lengths;
  Bf16 *output;
  float *lse;
  /// [B, Sq * H, splits, 512], and largest (base 2) and sum of each.
  float *partial;
  float2 *partialSums;
  int64_t queries, heads, rows, tableColumns, splitTokens;
  int splits;
  /// scale * log2(e).
  float scale;
};

/// Rows of a block in tiles of 16: four, or one where there are few heads.
template <int kRowTiles>
struct Memory {
  static constexpr int kRows = kRowTiles * 16;
  Bf16 q[kRows * kRow];
  Bf16 tiles[2][kPage * kRow];
  Bf16 weights[kRows * kPage];
  /// By the warps that share rows.
  float largest[4][kRows], sums[4][kRows];
  float factors[kRows], total[kRows];
};

/// Copies rows of 576 numbers, those from \p valid on as zeros.
template <int kRows>
__device__ void copyRows(const SharedMatrix<kRow> &to, const Bf16 *from,
                         int valid) {
  constexpr int kChunks = kRow / kChunk;
  for (int i = int(threadIdx.x); i < kRows * kChunks; i += kThreads) {
    int row = i / kChunks, chunk = i % kChunks;
    // Beyond the length are NaN: zeros do no harm, weights of zero would.
    bool isThere = row < valid;
    copyAsync(to.at(row, chunk),
              from + (isThere ? row : 0) * kRow + chunk * kChunk, isThere);
  }
}

/// A block a split of a sequence for up to 16 * kRowTiles of its rows.
template <int kRowTiles>
__global__ void __launch_bounds__(kThreads, 1) decodeSplit(Problem problem) {
  using Shared = Memory<kRowTiles>;
  extern __shared__ __align__(128) uint8_t shared[];
  Shared &memory = *reinterpret_cast<Shared *>(shared);
  // For scores: warps that share a row tile have keys of their own, in pairs of
  // eight; with one row tile half of the warps have none.
  constexpr int kKeyParts = kRowTiles == 4 ? 2 : 4;
  constexpr int kPairs = 4 / kKeyParts;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int rowTile = warp / kKeyParts, keyPart = warp % kKeyParts;
  bool hasScores = rowTile < kRowTiles;

  int64_t b = blockIdx.z;
  int64_t firstRow = int64_t(blockIdx.y) * Shared::kRows;
  int64_t length = problem.lengths[b];
  int64_t first = int64_t(blockIdx.x) * problem.splitTokens;
  if (first >= length)
    return;
  int64_t last = min(first + problem.splitTokens, length);
  int tiles = int((last - first + kPage - 1) / kPage);
  int validRows = int(min(problem.rows - firstRow, int64_t(Shared::kRows)));
  const int32_t *table =
      problem.table + b * problem.tableColumns + first / kPage;

  SharedMatrix<kRow> q = {memory.q};
  SharedMatrix<kPage> weights = {memory.weights};
  copyRows<Shared::kRows>(q, problem.q + (b * problem.rows + firstRow) * kRow,
                          validRows);
  int64_t nextPage = table[0];
  auto issue = [&](int tile) {
    int64_t page = nextPage;
    // Read one tile ahead of the copies that wait for it.
    nextPage = tile + 1 < tiles ? table[tile + 1] : 0;
    if (tile < tiles)
      copyRows<kPage>(
          {memory.tiles[tile % 2]}, problem.cache + page * kPage * kRow,
          int(min(last - first - int64_t(tile) * kPage, int64_t(kPage))));
    commitCopies();
  };
  issue(0);

  // This lane's rows in the scores, and the first token that each cannot see.
  int rows[2] = {rowTile * 16 + lane / 4, rowTile * 16 + lane / 4 + 8};
  int64_t limits[2];
#pragma unroll
  for (int half = 0; half < 2; ++half)
    limits[half] = length - (problem.queries - 1 -
                             (firstRow + rows[half]) / problem.heads);
  float largest[2] = {-INFINITY, -INFINITY}, sums[2] = {};
  float result[kRowTiles][kColumns / 8][4] = {};

  for (int tile = 0; tile < tiles; ++tile) {
    SharedMatrix<kRow> keys = {memory.tiles[tile % 2]};
    waitForCopies();
    // All copies are there, and all are done with the tile before.
    __syncthreads();
    issue(tile + 1);

    float scores[2 * kPairs][4] = {};
    if (hasScores) {
      uint32_t laneQ = q.getLaneA(rowTile * 16);
      uint32_t laneK = keys.getLaneB(keyPart * kPairs * 16);
#pragma unroll 4
      for (int step = 0; step < kRow / 16; ++step) {
        uint32_t a[4];
        q.loadA(a, laneQ, 0, step);
#pragma unroll
        for (int pair = 0; pair < kPairs; ++pair) {
          uint32_t operand[4];
          keys.loadB(operand, laneK, pair * 16, step);
          multiply(scores[2 * pair], a, operand[0], operand[1]);
          multiply(scores[2 * pair + 1], a, operand[2], operand[3]);
        }
      }
      int64_t token =
          first + int64_t(tile) * kPage + keyPart * kPairs * 16 + lane % 4 * 2;
      float best[2] = {-INFINITY, -INFINITY};
#pragma unroll
      for (int n = 0; n < 2 * kPairs; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          int64_t t = token + n * 8 + i % 2;
          bool isVisible = t < limits[i / 2] && t < last;
          scores[n][i] = isVisible ? scores[n][i] * problem.scale : -INFINITY;
          best[i / 2] = fmaxf(best[i / 2], scores[n][i]);
        }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float &own = best[half];
        own = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, 1));
        own = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, 2));
        if (lane % 4 == 0)
          memory.largest[keyPart][rows[half]] = own;
      }
    }
    __syncthreads();
    if (hasScores) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float best = largest[half];
#pragma unroll
        for (int part = 0; part < kKeyParts; ++part)
          best = fmaxf(best, memory.largest[part][rows[half]]);
        // An early query may have seen no token yet.
        float base = best == -INFINITY ? 0.0f : best;
        float factor = exp2Fast(largest[half] - base);
        largest[half] = best;
        if (keyPart == 0 && lane % 4 == 0)
          memory.factors[rows[half]] = factor;
        sums[half] *= factor;
#pragma unroll
        for (int n = 0; n < 2 * kPairs; ++n) {
          float low = exp2Fast(scores[n][2 * half] - base);
          float high = exp2Fast(scores[n][2 * half + 1] - base);
          sums[half] += low + high;
          storePair(weights.at(rows[half], keyPart * kPairs * 2 + n) +
                        lane % 4 * 2,
                    packBf16(low, high));
        }
      }
    }
    __syncthreads();

    // Values: this warp's columns of all rows.
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
      float factors[2] = {memory.factors[m * 16 + lane / 4],
                          memory.factors[m * 16 + lane / 4 + 8]};
      if (__any_sync(0xffffffffu, factors[0] != 1.0f || factors[1] != 1.0f))
#pragma unroll
        for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            result[m][n][i] *= factors[i / 2];
    }
    uint32_t laneWeights = weights.getLaneA(0);
    uint32_t laneValues = keys.getLaneTransposedB(0);
#pragma unroll
    for (int step = 0; step < kPage / 16; ++step) {
      uint32_t a[kRowTiles][4];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m)
        weights.loadA(a[m], laneWeights, m * 16, step);
#pragma unroll
      for (int pair = 0; pair < kColumns / 16; ++pair) {
        uint32_t operand[4];
        keys.loadTransposedB(operand, laneValues, step * 16,
                             warp * (kColumns / 16) + pair);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply(result[m][2 * pair], a[m], operand[0], operand[1]);
          multiply(result[m][2 * pair + 1], a[m], operand[2], operand[3]);
        }
      }
    }
  }
  waitForCopies();

  if (hasScores)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (lane % 4 == 0) {
        memory.sums[keyPart][rows[half]] = sum;
        if (keyPart == 0)
          memory.largest[0][rows[half]] = largest[half];
      }
    }
  __syncthreads();
  if (int(threadIdx.x) < validRows) {
    int row = int(threadIdx.x);
    float sum = 0;
#pragma unroll
    for (int part = 0; part < kKeyParts; ++part)
      sum += memory.sums[part][row];
    memory.total[row] = sum;
    int64_t at = b * problem.rows + firstRow + row;
    float best = memory.largest[0][row];
    if (problem.splits == 1)
      problem.lse[at] = best * 0.69314718f + logf(sum);
    else
      problem.partialSums[at * problem.splits + blockIdx.x] =
          make_float2(best, sum);
  }
  __syncthreads();
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = m * 16 + lane / 4 + half * 8;
      if (row >= validRows)
        continue;
      int64_t at = b * problem.rows + firstRow + row;
      int column = warp * kColumns + lane % 4 * 2;
      float inverse = 1 / memory.total[row];
      float *to = problem.partial +
                  (at * problem.splits + blockIdx.x) * kValues + column;
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n) {
        float low = result[m][n][2 * half], high = result[m][n][2 * half + 1];
        if (problem.splits == 1) {
          storePair(problem.output + at * kValues + column + n * 8,
                    packBf16(low * inverse, high * inverse));
        } else {
          *reinterpret_cast<float2 *>(to + n * 8) = make_float2(low, high);
        }
      }
    }
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

namespace wide {

constexpr int kRows = 64;
constexpr int kWideThreads = 3 * 128;
/// A box of a tensor copy: 64 columns of 64 rows. Nine are a tile.
constexpr int kBox = 64 * 128, kBoxes = kRow / 64, kTile = kBoxes * kBox;
constexpr int kStages = 2;
constexpr int kBarriers = 2 + 2 * kStages;
constexpr int kWeights = kRows * kPage * int(sizeof(Bf16));
/// 1024 bytes to align, the period of the swizzle. Behind the barriers are, of
/// each row, what the result is to be multiplied with, and 1 / sum.
constexpr int kBytes = 1024 + (1 + kStages) * kTile + kWeights + kBarriers * 8 +
                       2 * kRows * int(sizeof(float));

/// Barriers between the two warpgroups, and of each.
enum Barrier { WeightsReady = 1, WeightsRead, Ended, OfGroup };
/// The warpgroup that computes scores, and the other one.
enum Group { Scores, Helper };

} // namespace wide

/// A block a split of a sequence for up to 64 of its rows.
__global__ void __launch_bounds__(wide::kWideThreads, 1)
    decodeSplitWide(const __grid_constant__ CUtensorMap mapQ,
                    const __grid_constant__ CUtensorMap mapCache,
                    const __grid_constant__ Problem problem) {
#if D2K_HAS_WGMMA
  using namespace wide;
  constexpr unsigned kAll = 0xffffffffu;
  /// Columns of the result of a warpgroup.
  constexpr int kHalf = kValues / 2;
  // 384 threads begin with 168 registers each; 128 * 40 + 256 * 232 = 64512.
  constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  int64_t b = blockIdx.z;
  int64_t firstRow = int64_t(blockIdx.y) * kRows;
  int64_t length = problem.lengths[b];
  int64_t first = int64_t(blockIdx.x) * problem.splitTokens;
  if (first >= length)
    return;
  int tokens = int(min(problem.splitTokens, length - first));
  int tiles = (tokens + kPage - 1) / kPage;

  extern __shared__ uint8_t shared[];
  uint32_t base = (getSharedAddress(shared) + 1023) & ~1023u;
  uint8_t *aligned = shared + (base - getSharedAddress(shared));
  uint32_t barriers = base + (1 + kStages) * kTile + kWeights;
  TensorRing<1> ringQ = {base, barriers, kTile};
  TensorRing<kStages> ring = {base + kTile, barriers + 16, kTile};
  SharedMatrix<kPage> weights = {
      reinterpret_cast<Bf16 *>(aligned + (1 + kStages) * kTile)};
  auto *factors = reinterpret_cast<float *>(aligned + (1 + kStages) * kTile +
                                            kWeights + kBarriers * 8);
  float *inverses = factors + kRows;
  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(kAll, int(threadIdx.x) / 32, 0);
  int lane = int(threadIdx.x) % 32;
  if (warp == 0 && electOneLane()) {
    ringQ.init(1); // Nobody gives it back.
    ring.init(8);
    fenceBarriers();
  }
  __syncthreads();

  if (warp < 4) {
    giveRegisters<kProducerRegisters>();
    if (warp == 0 && electOneLane()) {
      const int32_t *table =
          problem.table + b * problem.tableColumns + first / kPage;
      ringQ.fill<kBoxes>(mapQ, 0, int(b * problem.rows + firstRow));
      int page = table[0];
      for (int tile = 0; tile < tiles; ++tile) {
        int next = tile + 1 < tiles ? table[tile + 1] : 0;
        ring.fill<kBoxes>(mapCache, 0, page * kPage);
        page = next;
      }
    }
    return;
  }

  takeRegisters<kConsumerRegisters>();
  int group = warp / 4 - 1;
  int warpRow = warp % 4 * 16;
  int rows[2] = {warpRow + lane / 4, warpRow + lane / 4 + 8};
  float o[kHalf / 2];
  uint32_t operand[kPage / 16][4];

  // Beyond the length are NaN, where weights of zero do not help: this
  // warpgroup's columns of the last tile become zeros there.
  auto clearBeyond = [&](uint32_t tileData) {
    int valid = tokens - (tiles - 1) * kPage;
    if (valid == kPage)
      return;
    auto *data = aligned + (tileData - base) + group * (kHalf / 64) * kBox;
    for (int i = int(threadIdx.x) % 128; i < (kPage - valid) * kHalf / kChunk;
         i += 128) {
      int row = valid + i / (kHalf / kChunk), chunk = i % (kHalf / kChunk);
      // The swizzle changes the order of the chunks of a row only.
      *reinterpret_cast<uint4 *>(data + chunk / 8 * kBox + row * 128 +
                                 chunk % 8 * 16) = make_uint4(0, 0, 0, 0);
    }
    fenceForProducts();
    meetAt(OfGroup + group, 128);
  };
  // Starts the products of the weights with this warpgroup's columns.
  auto multiplyValues = [&](uint32_t tileData, bool isFirst) {
    uint64_t v = describeTransposed(
        tileData + uint32_t(group * (kHalf / 64) * kBox), kBox);
    fenceAccumulators();
#pragma unroll
    for (int i = 0; i < kPage / 16; ++i)
      multiplyAsync(o, operand[i], v + uint64_t(i * 128), !isFirst || i > 0);
    commitProducts();
  };
  auto scaleResult = [&](const float (&kept)[2]) {
#pragma unroll
    for (int n = 0; n < kHalf / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        o[4 * n + i] *= kept[i / 2];
  };

  if (group == Scores) {
    float s[kPage / 2], kept[2];
    SoftmaxRow softmax[2];
    // The first token that a row cannot see, after the split's first one.
    int limits[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      limits[half] = int(min(
          int64_t(tokens),
          length - first -
              (problem.queries - 1 - (firstRow + rows[half]) / problem.heads)));
    // Starts the products of Q with the page at `keys`.
    auto multiplyKeys = [&](const TensorRing<kStages> &keys) {
      keys.wait();
      uint64_t q = describeOperand(ringQ.getData());
      uint64_t k = describeOperand(keys.getData());
      pin(q);
      fenceAccumulators();
#pragma unroll
      for (int i = 0; i < kRow / 16; ++i)
        multiplyAsync(s, q + uint64_t(i / 4 * (kBox / 16) + i % 4 * 2),
                      k + uint64_t(i / 4 * (kBox / 16) + i % 4 * 2), i > 0);
      commitProducts();
    };
    auto computeWeights = [&](int tile) {
      int token = tile * kPage + lane % 4 * 2;
      if (tile * kPage + kPage > min(limits[0], limits[1]))
#pragma unroll
        for (int j = 0; j < kPage / 8; ++j)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (token + 8 * j + i % 2 >= limits[i / 2])
              s[4 * j + i] = -INFINITY;
      applySoftmax<kPage>(s, softmax, kept, problem.scale);
    };
    auto passWeights = [&] {
#pragma unroll
      for (int i = 0; i < kPage / 16; ++i)
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          operand[i][r] = packBf16(s[8 * i + 2 * r], s[8 * i + 2 * r + 1]);
          storePair(weights.at(rows[r % 2], 2 * i + r / 2) + lane % 4 * 2,
                    operand[i][r]);
        }
      pin(operand);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (lane % 4 == 0)
          factors[rows[half]] = kept[half];
      arriveAt(WeightsReady, 256);
    };
    ringQ.wait();
    multiplyKeys(ring);
    for (int tile = 0; tile < tiles; ++tile) {
      waitForProductsBut<0>();
      pin(s);
      computeWeights(tile);
      if (tile > 0)
        meetAt(WeightsRead, 256);
      passWeights();
      if (tile > 0)
        scaleResult(kept);
      if (tile + 1 == tiles)
        break;
      multiplyValues(ring.getData(), tile == 0);
      TensorRing<kStages> next = ring;
      next.advance();
      multiplyKeys(next);
      // The page is given back before the scores of the next one are there, so
      // that another one is copied meanwhile.
      waitForProductsBut<1>();
      pin(o);
      ring.release();
    }
    clearBeyond(ring.getData());
    multiplyValues(ring.getData(), tiles == 1);
    waitForProductsBut<0>();
    pin(o);
    ring.release();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sumOfRow(softmax[half].sum);
      int64_t row = firstRow + rows[half];
      if (lane % 4 != 0)
        continue;
      inverses[rows[half]] = 1 / sum;
      if (row >= problem.rows)
        continue;
      int64_t at = b * problem.rows + row;
      float best = softmax[half].maximum * problem.scale;
      if (problem.splits == 1)
        problem.lse[at] = best * kLn2 + logf(sum);
      else
        problem.partialSums[at * problem.splits + blockIdx.x] =
            make_float2(best, sum);
    }
  } else {
    uint32_t laneWeights = weights.getLaneA(warpRow);
    for (int tile = 0; tile < tiles; ++tile) {
      meetAt(WeightsReady, 256);
#pragma unroll
      for (int i = 0; i < kPage / 16; ++i)
        weights.loadA(operand[i], laneWeights, 0, i);
      pin(operand);
      float kept[2] = {factors[rows[0]], factors[rows[1]]};
      if (tile + 1 < tiles)
        arriveAt(WeightsRead, 256);
      if (tile > 0)
        scaleResult(kept);
      ring.wait();
      if (tile + 1 == tiles)
        clearBeyond(ring.getData());
      multiplyValues(ring.getData(), tile == 0);
      waitForProductsBut<0>();
      pin(o);
      ring.release();
    }
  }
  meetAt(Ended, 256);

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int64_t row = firstRow + rows[half];
    int64_t at = b * problem.rows + row;
    float inverse = inverses[rows[half]];
    int column = group * kHalf;
#pragma unroll
    for (int n = 0; n < kHalf / 32; ++n) {
      if (problem.splits == 1) {
        uint32_t words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
          words[j] = packBf16(o[16 * n + 4 * j + 2 * half] * inverse,
                              o[16 * n + 4 * j + 2 * half + 1] * inverse);
        transposeQuad(words);
        if (row < problem.rows)
          *reinterpret_cast<uint4 *>(problem.output + at * kValues + column +
                                     32 * n + lane % 4 * kChunk) =
              make_uint4(words[0], words[1], words[2], words[3]);
      } else if (row < problem.rows) {
        float *to = problem.partial +
                    (at * problem.splits + blockIdx.x) * kValues + column +
                    32 * n + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 4; ++j)
          *reinterpret_cast<float2 *>(to + 8 * j) = make_float2(
              o[16 * n + 4 * j + 2 * half], o[16 * n + 4 * j + 2 * half + 1]);
      }
    }
  }
#endif
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

constexpr int kJoinThreads = kValues / 4;

/// Joins the splits of a row; a thread four columns.
__global__ void __launch_bounds__(kJoinThreads) joinSplits(Problem problem) {
  int64_t b = blockIdx.y;
  int64_t at = b * problem.rows + blockIdx.x;
  int64_t length = problem.lengths[b];
  int splits = int((length + problem.splitTokens - 1) / problem.splitTokens);
  const float2 *parts = problem.partialSums + at * problem.splits;
  const float *partial = problem.partial + at * problem.splits * kValues +
                         int64_t(threadIdx.x) * 4;
  float largest = -INFINITY, sum = 0;
  float4 columns = make_float4(0, 0, 0, 0);
  // Several loads are in flight at a time.
#pragma unroll 8
  for (int split = 0; split < splits; ++split)
    largest = fmaxf(largest, parts[split].x);
#pragma unroll 8
  for (int split = 0; split < splits; ++split) {
    // 0 for a split of which this row sees nothing.
    float weight = exp2Fast(parts[split].x - largest);
    float4 part = *reinterpret_cast<const float4 *>(partial + split * kValues);
    sum += weight * parts[split].y;
    columns.x += weight * part.x;
    columns.y += weight * part.y;
    columns.z += weight * part.z;
    columns.w += weight * part.w;
  }
  float inverse = 1 / sum;
  *reinterpret_cast<uint2 *>(problem.output + at * kValues +
                             int64_t(threadIdx.x) * 4) =
      make_uint2(packBf16(columns.x * inverse, columns.y * inverse),
                 packBf16(columns.z * inverse, columns.w * inverse));
  if (threadIdx.x == 0)
    problem.lse[at] = largest * 0.69314718f + logf(sum);
}

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The number of splits that takes the fewest rounds of tiles: \p blocks blocks
/// a split, one on an SM; a block costs about two tiles beside its own, and no
/// call ends before its longest block.
int64_t chooseSplits(const d2k_mla_decode_args &args, int64_t blocks,
                     int64_t processors, size_t workspaceBytes) {
  int64_t rowBytes = args.B * args.Sq * args.H *
                     int64_t(kValues * sizeof(float) + sizeof(float2));
  int64_t best = 1;
  double bestCost = 0;
  for (int64_t splits = 1; splits <= divideUp(args.longest, kPage); ++splits) {
    if (splits > 1 && splits * rowBytes > int64_t(workspaceBytes))
      break;
    double rounds = double(divideUp(blocks * splits, processors));
    double average = double(args.tokens) / double(args.B * kPage * splits);
    double longest = double(args.longest) / double(kPage * splits);
    double cost = std::max(rounds * (average + 2), longest + 2);
    if (splits == 1 || cost < bestCost) {
      best = splits;
      bestCost = cost;
    }
  }
  return best;
}

/// A launch of either kernel: of \p rowsOfBlock rows a block.
template <typename Launch>
int launchSplits(Problem &problem, const d2k_mla_decode_args &args,
                 void *workspace, size_t workspaceBytes, int64_t rowsOfBlock,
                 cudaStream_t stream, const Launch &launch) {
  int processors = 0;
  if (int error = countMultiprocessors(processors))
    return error;
  int64_t rowBlocks = divideUp(problem.rows, rowsOfBlock);
  int64_t splits =
      chooseSplits(args, rowBlocks * args.B, processors, workspaceBytes);
  problem.splitTokens = divideUp(divideUp(args.longest, splits), kPage) * kPage;
  problem.splits = int(divideUp(args.longest, problem.splitTokens));
  problem.partial = static_cast<float *>(workspace);
  problem.partialSums = reinterpret_cast<float2 *>(
      problem.partial + args.B * problem.rows * problem.splits * kValues);
  if (int error = launch(dim3(unsigned(problem.splits), unsigned(rowBlocks),
                              unsigned(args.B))))
    return error;
  if (problem.splits > 1)
    joinSplits<<<dim3(unsigned(problem.rows), unsigned(args.B)), kJoinThreads,
                 0, stream>>>(problem);
  return cudaGetLastError();
}

template <int kRowTiles>
int launch(Problem &problem, const d2k_mla_decode_args &args, void *workspace,
           size_t workspaceBytes, cudaStream_t stream) {
  constexpr int kBytes = int(sizeof(Memory<kRowTiles>));
  return launchSplits(
      problem, args, workspace, workspaceBytes, kRowTiles * 16, stream,
      [&](dim3 grid) {
        if (int error = allowShared(decodeSplit<kRowTiles>, kBytes))
          return error;
        decodeSplit<kRowTiles><<<grid, kThreads, kBytes, stream>>>(problem);
        return int(cudaGetLastError());
      });
}

int launchWide(Problem &problem, const d2k_mla_decode_args &args,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  CUtensorMap mapQ, mapCache;
  if (int error = describeMatrix(mapQ, args.q, args.B * problem.rows, kRow,
                                 wide::kRows))
    return error;
  if (int error =
          describeMatrix(mapCache, args.cache, args.pages * kPage, kRow, kPage))
    return error;
  return launchSplits(
      problem, args, workspace, workspaceBytes, wide::kRows, stream,
      [&](dim3 grid) {
        if (int error = allowShared(decodeSplitWide, wide::kBytes))
          return error;
        decodeSplitWide<<<grid, wide::kWideThreads, wide::kBytes, stream>>>(
            mapQ, mapCache, problem);
        return int(cudaGetLastError());
      });
}

char identity[120] = "split-KV decode, hand-written, not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return identity; }

extern "C" int d2k_mla_decode(const d2k_mla_decode_args *args, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  Problem problem = {};
  problem.q = static_cast<const Bf16 *>(args->q);
  problem.cache = static_cast<const Bf16 *>(args->cache);
  problem.table = args->block_table;
  problem.lengths = args->seq_lens;
  problem.output = static_cast<Bf16 *>(args->O);
  problem.lse = args->lse;
  problem.queries = args->Sq;
  problem.heads = args->H;
  problem.rows = args->Sq * args->H;
  problem.tableColumns = divideUp(args->longest, kPage);
  problem.scale = args->scale * 1.44269504f;
  if (args->B > 65535 || divideUp(problem.rows, 16) > 65535)
    return cudaErrorInvalidValue;
  bool isNarrow = problem.rows <= 16, hasWgmma = false;
  if (int error = findWgmma(hasWgmma))
    return error;
  bool isWide = !isNarrow && hasWgmma && args->pages * kPage <= INT32_MAX &&
                args->B * problem.rows <= INT32_MAX;
  int error =
      isNarrow ? launch<1>(problem, *args, workspace, workspace_bytes, stream)
      : isWide ? launchWide(problem, *args, workspace, workspace_bytes, stream)
               : launch<4>(problem, *args, workspace, workspace_bytes, stream);
  std::snprintf(identity, sizeof(identity),
                "split-KV %s decode, hand-written, tiles of %d rows, %d splits",
                isWide ? "wgmma" : "mma.sync", isNarrow ? 16 : 64,
                problem.splits);
  return error;
}
