// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of mla_decode, written by hand; no library is used. The heads of
// a sequence's queries are the rows of one matrix tile, 64 or 16 of them, and a
// page is a tile of the cache that is read once: as keys with all its columns,
// as values with the first 512. Sequences are split so that all SMs have work
// and joined in a second kernel. Products are mma.sync on bf16; the next page
// is copied by cp.async meanwhile.

#include "d2k_mla_decode.h"

#include "d2k/Baseline/MmaSync.cuh"

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

template <int kRowTiles>
int launch(Problem &problem, const d2k_mla_decode_args &args, void *workspace,
           size_t workspaceBytes, cudaStream_t stream) {
  int device = 0, processors = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return error;
  if (cudaError_t error = cudaDeviceGetAttribute(
          &processors, cudaDevAttrMultiProcessorCount, device))
    return error;
  int64_t rowBlocks = divideUp(problem.rows, kRowTiles * 16);
  int64_t splits =
      chooseSplits(args, rowBlocks * args.B, processors, workspaceBytes);
  problem.splitTokens = divideUp(divideUp(args.longest, splits), kPage) * kPage;
  problem.splits = int(divideUp(args.longest, problem.splitTokens));
  problem.partial = static_cast<float *>(workspace);
  problem.partialSums = reinterpret_cast<float2 *>(
      problem.partial + args.B * problem.rows * problem.splits * kValues);
  constexpr int kBytes = int(sizeof(Memory<kRowTiles>));
  if (cudaError_t error = cudaFuncSetAttribute(
          decodeSplit<kRowTiles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
          kBytes))
    return error;
  decodeSplit<kRowTiles>
      <<<dim3(unsigned(problem.splits), unsigned(rowBlocks), unsigned(args.B)),
         kThreads, kBytes, stream>>>(problem);
  if (problem.splits > 1)
    joinSplits<<<dim3(unsigned(problem.rows), unsigned(args.B)), kJoinThreads,
                 0, stream>>>(problem);
  return cudaGetLastError();
}

char identity[120] = "split-KV mma.sync decode, hand-written, not yet called";

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
  bool isNarrow = problem.rows <= 16;
  int error =
      isNarrow ? launch<1>(problem, *args, workspace, workspace_bytes, stream)
               : launch<4>(problem, *args, workspace, workspace_bytes, stream);
  std::snprintf(identity, sizeof(identity),
                "split-KV mma.sync decode, hand-written, tiles of %d rows, %d "
                "splits",
                isNarrow ? 16 : 64, problem.splits);
  return error;
}
