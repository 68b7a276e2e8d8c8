// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of attention_decode_paged, written by hand; no library is used.
// Sequences are split so that all SMs have work. Query heads that share a kv
// head are the rows of one matrix tile, so that each page is read once. Every
// warp walks its own tiles of 16 tokens: cp.async into a ring of its own,
// ldmatrix, mma.sync, softmax in registers. The warps of a block join in shared
// memory, the splits of a sequence in a second kernel.

#include "d2k_attention_decode_paged.h"

#include "d2k/Baseline/Device.h"
#include "d2k/Baseline/MmaSync.cuh"

#include <algorithm>
#include <cstdio>

namespace {

using namespace d2k::baseline;

constexpr int kHead = D2K_ATTENTION_DECODE_PAGED_D;
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * 32;
static_assert(kThreads == kHead, "a thread a column when warps join");
/// Tokens of a tile; pages have a multiple of it. Rows of a tile: query heads.
constexpr int kTile = 16;
constexpr int kStages = 3;
constexpr int kRowBytes = kHead * 2;
constexpr int kTileBytes = kTile * kRowBytes;
/// Keys and values of all stages of all warps.
constexpr int kSharedBytes = kWarps * kStages * 2 * kTileBytes;
constexpr int kMinSplit = 128;

struct Problem {
  const Bf16 *q, *cache;
  const int32_t *table, *lengths;
  Bf16 *output;
  float *lse;
  /// [B, Hq, splits, D], and largest (base 2) and sum of each [B, Hq, splits].
  float *partial;
  float2 *partialSums;
  int64_t queryHeads, keyHeads, page, tableColumns;
  /// Tokens of a split.
  int64_t splitTokens;
  int splits;
  /// scale * log2(e).
  float scale;
};

//===----------------------------------------------------------------------===//
// A split of a sequence
//===----------------------------------------------------------------------===//

/// What a warp knows of its rows: lane l has rows l/4 and l/4 + 8, and columns
/// 2*(l%4) and the next of every eight.
struct WarpState {
  uint32_t query[kHead / 16][4];
  float output[kHead / 8][4];
  float largest[2], sum[2];
};

/// Scores and products of one tile in shared memory. \p valid: its tokens.
__device__ void processTile(WarpState &state, const SharedMatrix<kHead> &keys,
                            const SharedMatrix<kHead> &values, int valid,
                            float scale) {
  int lane = int(threadIdx.x) % 32;
  uint32_t laneKeys = keys.getLaneB(0);
  uint32_t laneValues = values.getLaneTransposedB(0);
  float scores[2][4] = {};
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    uint32_t b[4];
    keys.loadB(b, laneKeys, 0, step);
    multiply(scores[0], state.query[step], b[0], b[1]);
    multiply(scores[1], state.query[step], b[2], b[3]);
  }

  float tileLargest[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int tile = 0; tile < 2; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int token = tile * 8 + lane % 4 * 2 + i % 2;
      scores[tile][i] = token < valid ? scores[tile][i] * scale : -INFINITY;
      tileLargest[i / 2] = fmaxf(tileLargest[i / 2], scores[tile][i]);
    }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float &best = tileLargest[half];
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
    best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
    best = fmaxf(best, state.largest[half]);
    // A tile has a token, so best is finite.
    float factor = exp2Fast(state.largest[half] - best);
    state.largest[half] = best;
    state.sum[half] *= factor;
#pragma unroll
    for (int tile = 0; tile < kHead / 8; ++tile) {
      state.output[tile][2 * half] *= factor;
      state.output[tile][2 * half + 1] *= factor;
    }
  }
  // Scores become weights, and the accumulator's layout that of an operand.
#pragma unroll
  for (int tile = 0; tile < 2; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[tile][i] = exp2Fast(scores[tile][i] - state.largest[i / 2]);
      state.sum[i / 2] += scores[tile][i];
    }
  uint32_t weights[4] = {packBf16(scores[0][0], scores[0][1]),
                         packBf16(scores[0][2], scores[0][3]),
                         packBf16(scores[1][0], scores[1][1]),
                         packBf16(scores[1][2], scores[1][3])};
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    uint32_t b[4];
    values.loadTransposedB(b, laneValues, 0, step);
    multiply(state.output[2 * step], weights, b[0], b[1]);
    multiply(state.output[2 * step + 1], weights, b[2], b[3]);
  }
}

/// A block a split of a kv head of a sequence.
__global__ void __launch_bounds__(kThreads, 2) decodeSplit(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ float2 warpSums[kWarps][kTile];
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int64_t b = blockIdx.z, head = blockIdx.y;
  int64_t length = problem.lengths[b];
  int64_t first = int64_t(blockIdx.x) * problem.splitTokens;
  if (first >= length)
    return;
  int64_t last = min(first + problem.splitTokens, length);
  int group = int(problem.queryHeads / problem.keyHeads);
  int64_t firstRow = b * problem.queryHeads + head * group;
  const int32_t *table = problem.table + b * problem.tableColumns;

  WarpState state;
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = lane / 4 + i % 2 * 8;
      int column = step * 16 + i / 2 * 8 + lane % 4 * 2;
      // Rows beyond the group are zeros, and never written.
      state.query[step][i] =
          row < group ? *reinterpret_cast<const uint32_t *>(
                            problem.q + (firstRow + row) * kHead + column)
                      : 0;
    }
#pragma unroll
  for (int tile = 0; tile < kHead / 8; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      state.output[tile][i] = 0;
  state.largest[0] = state.largest[1] = -INFINITY;
  state.sum[0] = state.sum[1] = 0;

  // Keys and values of the stage of a tile.
  auto getTile = [&](int64_t tile, int isValue) {
    int place = (warp * kStages + int(tile % kStages)) * 2 + isValue;
    return SharedMatrix<kHead>{
        reinterpret_cast<Bf16 *>(shared + place * kTileBytes)};
  };
  constexpr int64_t kStride = int64_t(kWarps) * kTile;
  int64_t token = first + warp * kTile;
  int64_t tiles = token < last ? (last - token + kStride - 1) / kStride : 0;
  // The table is read one tile ahead of the copies that wait for it.
  auto getPage = [&](int64_t tile) {
    int64_t t = token + tile * kStride;
    return tile < tiles ? table[t / problem.page] : 0;
  };
  int64_t nextPage = getPage(0);
  auto issue = [&](int64_t tile) {
    int64_t page = nextPage;
    nextPage = getPage(tile + 1);
    if (tile < tiles) {
      int64_t t = token + tile * kStride;
      SharedMatrix<kHead> toKeys = getTile(tile, 0);
      SharedMatrix<kHead> toValues = getTile(tile, 1);
      int64_t rowElements = problem.keyHeads * kHead;
      const Bf16 *keys =
          problem.cache +
          (page * 2 * problem.page + t % problem.page) * rowElements +
          head * kHead;
      int64_t valueOffset = problem.page * rowElements;
#pragma unroll
      for (int i = 0; i < kTile / 2; ++i) {
        int row = 2 * i + lane / 16, chunk = lane % 16;
        // Beyond the length are NaN; zeros do no harm.
        bool isWanted = t + row < last;
        const Bf16 *from =
            keys + (isWanted ? row : 0) * rowElements + chunk * 8;
        copyAsync(toKeys.at(row, chunk), from, isWanted);
        copyAsync(toValues.at(row, chunk), from + valueOffset, isWanted);
      }
    }
    commitCopies();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage)
    issue(stage);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    waitForCopiesBut<kStages - 2>();
    // All lanes have waited for their copies, and are done with the tile whose
    // place is written next.
    __syncwarp();
    issue(tile + kStages - 1);
    int64_t left = last - (token + tile * kStride);
    processTile(state, getTile(tile, 0), getTile(tile, 1),
                left < kTile ? int(left) : kTile, problem.scale);
  }
  waitForCopies();

  // The warps join: what each has goes to where the tiles were.
  __syncthreads();
  auto *outputs = reinterpret_cast<float *>(shared);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = state.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    int row = lane / 4 + half * 8;
    if (lane % 4 == 0)
      warpSums[warp][row] = make_float2(state.largest[half], sum);
#pragma unroll
    for (int tile = 0; tile < kHead / 8; ++tile) {
      int column = tile * 8 + lane % 4 * 2;
      *reinterpret_cast<float2 *>(outputs + (warp * kTile + row) * kHead +
                                  column) =
          make_float2(state.output[tile][2 * half],
                      state.output[tile][2 * half + 1]);
    }
  }
  __syncthreads();
  for (int row = 0; row < group; ++row) {
    float largest = -INFINITY, sum = 0, column = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w)
      largest = fmaxf(largest, warpSums[w][row].x);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      // 0 for a warp that had no tile.
      float weight = exp2Fast(warpSums[w][row].x - largest);
      sum += weight * warpSums[w][row].y;
      column += weight * outputs[(w * kTile + row) * kHead + threadIdx.x];
    }
    int64_t at = firstRow + row;
    if (problem.splits == 1) {
      problem.output[at * kHead + threadIdx.x] =
          __float2bfloat16_rn(column / sum);
      if (threadIdx.x == 0)
        problem.lse[at] = largest * 0.69314718f + logf(sum);
    } else {
      int64_t part = at * problem.splits + blockIdx.x;
      problem.partial[part * kHead + threadIdx.x] = column;
      if (threadIdx.x == 0)
        problem.partialSums[part] = make_float2(largest, sum);
    }
  }
}

/// Joins the splits of a query head of a sequence; a thread a column.
__global__ void __launch_bounds__(kThreads) joinSplits(Problem problem) {
  int64_t b = blockIdx.y;
  int64_t at = b * problem.queryHeads + blockIdx.x;
  int64_t length = problem.lengths[b];
  int splits = int((length + problem.splitTokens - 1) / problem.splitTokens);
  const float2 *sums = problem.partialSums + at * problem.splits;
  const float *partial = problem.partial + at * problem.splits * kHead;
  float largest = -INFINITY, sum = 0, column = 0;
  // Several loads are in flight at a time.
#pragma unroll 8
  for (int split = 0; split < splits; ++split)
    largest = fmaxf(largest, sums[split].x);
#pragma unroll 8
  for (int split = 0; split < splits; ++split) {
    float weight = exp2Fast(sums[split].x - largest);
    sum += weight * sums[split].y;
    column += weight * partial[split * kHead + threadIdx.x];
  }
  problem.output[at * kHead + threadIdx.x] = __float2bfloat16_rn(column / sum);
  if (threadIdx.x == 0)
    problem.lse[at] = largest * 0.69314718f + logf(sum);
}

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

char identity[120] = "split-KV mma.sync decode, hand-written, not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return identity; }

extern "C" int
d2k_attention_decode_paged(const d2k_attention_decode_paged_args *args,
                           void *workspace, size_t workspace_bytes,
                           cudaStream_t stream) {
  int processors = 0;
  if (int error = countMultiprocessors(processors))
    return error;
  if (args->B > 65535 || args->Hkv > 65535 || args->Hq > 16 * args->Hkv ||
      args->page % kTile != 0)
    return cudaErrorInvalidValue;

  // Four blocks for each place, so that lengths even out; two fit on an SM.
  int64_t wanted = int64_t(processors) * 2 * 4;
  int64_t splitTokens = std::max<int64_t>(
      divideUp(divideUp(args->tokens * args->Hkv, wanted), 64) * 64, kMinSplit);
  int64_t rows = args->B * args->Hq;
  int64_t splits = divideUp(args->longest, splitTokens);
  auto getBytes = [&] {
    return rows * splits * int64_t(kHead * sizeof(float) + sizeof(float2));
  };
  while (splits > 1 && getBytes() > int64_t(workspace_bytes)) {
    splitTokens *= 2;
    splits = divideUp(args->longest, splitTokens);
  }
  if (splits > INT32_MAX)
    return cudaErrorInvalidValue;

  Problem problem = {};
  problem.q = static_cast<const Bf16 *>(args->q);
  problem.cache = static_cast<const Bf16 *>(args->cache);
  problem.table = args->block_table;
  problem.lengths = args->seq_lens;
  problem.output = static_cast<Bf16 *>(args->O);
  problem.lse = args->lse;
  problem.partial = static_cast<float *>(workspace);
  problem.partialSums =
      reinterpret_cast<float2 *>(problem.partial + rows * splits * kHead);
  problem.queryHeads = args->Hq;
  problem.keyHeads = args->Hkv;
  problem.page = args->page;
  problem.tableColumns = divideUp(args->longest, args->page);
  problem.splitTokens = splitTokens;
  problem.splits = int(splits);
  problem.scale = args->scale * 1.44269504f;
  std::snprintf(identity, sizeof(identity),
                "split-KV mma.sync decode, hand-written, %lld splits of %lld "
                "tokens",
                static_cast<long long>(splits),
                static_cast<long long>(splitTokens));

  if (int error = allowShared(decodeSplit, kSharedBytes))
    return error;
  decodeSplit<<<dim3(unsigned(splits), unsigned(args->Hkv), unsigned(args->B)),
                kThreads, kSharedBytes, stream>>>(problem);
  if (splits > 1)
    joinSplits<<<dim3(unsigned(args->Hq), unsigned(args->B)), kThreads, 0,
                 stream>>>(problem);
  return cudaGetLastError();
}
