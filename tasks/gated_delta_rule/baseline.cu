// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gated_delta_rule, written by hand. Prefill: chunks of 64
// tokens in UT form. One kernel makes what does not depend on the state, chunk
// by chunk: the triangular inverse, W and U without the state's part, and
// decayed q k^T. Another goes over the chunks with the state in registers; half
// of its warps advance the state, the others make the outputs of the chunk
// before. Products are mma.sync on bf16. Decode (one token a sequence): one
// kernel that reads and writes the state once.

#include "d2k_gated_delta_rule.h"

#include "d2k/Baseline/Device.h"
#include "d2k/Baseline/MmaSync.cuh"

#include <cstddef>

namespace {

using namespace d2k::baseline;

constexpr int kHead = D2K_GATED_DELTA_RULE_D;
constexpr int kTokens = 64;
constexpr int kThreads = 256;
/// Columns of the state of a large block that goes over the chunks: 16 a warp.
constexpr int kColumns = 64;
/// Warps of it that advance the state, and as many that make outputs; warps
/// that make W, and as many that make U.
constexpr int kHalf = kThreads / 32 / 2;
static_assert(kColumns == kHalf * 16 && kTokens == kHalf * 16,
              "a warp has 16 columns of the state, or 16 tokens");

struct Problem {
  const Bf16 *q, *k, *v, *beta;
  const float *g, *initial;
  const int32_t *starts;
  Bf16 *o;
  float *finalState;
  int64_t sequences, keyHeads, valueHeads;
  float scale;
  /// The first chunk of each sequence, [B+1].
  int32_t *firstChunks;
  /// -W, and U without the state's part, [chunks, Hv, 64, D]; sums of g from
  /// the chunk's beginning, [chunks, Hv, 64]; q k^T with decays for the tokens
  /// of a token's chunk, [T, Hv, 64].
  Bf16 *W, *U;
  float *sums;
  Bf16 *products;
};

/// One chunk of one sequence.
struct Chunk {
  int64_t token;
  int count;
};

/// One warp.
__global__ void countChunks(Problem problem) {
  int lane = int(threadIdx.x);
  int32_t before = 0;
  for (int64_t first = 0; first < problem.sequences; first += 32) {
    int64_t b = first + lane;
    int32_t own =
        b < problem.sequences
            ? (problem.starts[b + 1] - problem.starts[b] + kTokens - 1) /
                  kTokens
            : 0;
    int32_t total = own;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      int32_t other = __shfl_up_sync(0xffffffffu, total, distance);
      total += lane >= distance ? other : 0;
    }
    if (b < problem.sequences)
      problem.firstChunks[b] = before + total - own;
    before += __shfl_sync(0xffffffffu, total, 31);
  }
  if (lane == 0)
    problem.firstChunks[problem.sequences] = before;
}

/// False when there are fewer chunks.
__device__ bool findChunk(const Problem &problem, int64_t index, Chunk &chunk) {
  if (index >= problem.firstChunks[problem.sequences])
    return false;
  int64_t low = 0, high = problem.sequences - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    if (problem.firstChunks[middle] <= index)
      low = middle;
    else
      high = middle - 1;
  }
  chunk.token =
      problem.starts[low] + (index - problem.firstChunks[low]) * kTokens;
  int64_t left = problem.starts[low + 1] - chunk.token;
  chunk.count = left < kTokens ? int(left) : kTokens;
  return true;
}

__device__ float expFast(float x) { return exp2Fast(x * 1.44269504f); }

/// Copies a warp's 16 rows from shared memory, 16 bytes at a time, of columns
/// from \p firstPlace on.
template <int kWidth>
__device__ void copyRows(Bf16 *to, int64_t stride,
                         const SharedMatrix<kWidth> &from, int row, int valid,
                         int firstPlace, int places) {
  int lane = int(threadIdx.x) % 32;
  for (int i = lane; i < 16 * places; i += 32) {
    int at = row + i / places, place = firstPlace + i % places;
    if (at < valid)
      *reinterpret_cast<uint4 *>(to + at * stride + place * kChunk) =
          *reinterpret_cast<const uint4 *>(from.at(at, place));
  }
}

//===----------------------------------------------------------------------===//
// What does not depend on the state
//===----------------------------------------------------------------------===//

/// Rows of a matrix of fp32 in shared memory; the next row begins four banks
/// further, so that lanes that read a column of fragments do not collide.
constexpr int kPitch = kTokens + 4;

struct Gates {
  /// Sums of g from the chunk's beginning; beta, and -beta e^sum.
  float sums[kTokens], betas[kTokens], decayed[kTokens];
};

struct PrepareMemory {
  Bf16 k[kTokens * kHead], q[kTokens * kHead], v[kTokens * kHead];
  /// A; when the inverse is there, rows of W on their way out.
  float A[kTokens][kPitch];
  float T[kTokens][kPitch];
  /// Of this head and of the next one.
  Gates gates[2];
};
static_assert(sizeof(PrepareMemory::A) >= kTokens * kHead * sizeof(Bf16) &&
                  offsetof(PrepareMemory, A) % 128 == 0,
              "W fits there");

/// x = high + low, both bf16: 16 bits of x.
struct SplitPair {
  uint32_t high, low;
};
__device__ SplitPair split(float first, float second) {
  SplitPair pair;
  pair.high = packBf16(first, second);
  float2 wide = unpackBf16(pair.high);
  pair.low = packBf16(first - wide.x, second - wide.y);
  return pair;
}

/// sums += a b for the 16x16 block of \p a at row, column and the 16x8 block of
/// \p b at row2, column2, with 16 bits of each operand.
__device__ void multiplyBlocks(float (&sums)[4],
                               const float (&a)[kTokens][kPitch], int row,
                               int column, const float (&b)[kTokens][kPitch],
                               int row2, int column2) {
  int lane = int(threadIdx.x) % 32, group = lane / 4, pair = lane % 4 * 2;
  uint32_t aHigh[4], aLow[4], bHigh[2], bLow[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float *from = &a[row + group + i % 2 * 8][column + pair + i / 2 * 8];
    SplitPair both = split(from[0], from[1]);
    aHigh[i] = both.high;
    aLow[i] = both.low;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    int first = row2 + pair + i * 8;
    SplitPair both =
        split(b[first][column2 + group], b[first + 1][column2 + group]);
    bHigh[i] = both.high;
    bLow[i] = both.low;
  }
  multiply(sums, aLow, bHigh[0], bHigh[1]);
  multiply(sums, aHigh, bLow[0], bLow[1]);
  multiply(sums, aHigh, bHigh[0], bHigh[1]);
}

/// Writes a 16x8 accumulator times \p factor.
__device__ void storeBlock(float (&to)[kTokens][kPitch], int row, int column,
                           const float (&sums)[4], float factor) {
  int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    to[row + lane / 4 + i / 2 * 8][column + lane % 4 * 2 + i % 2] =
        sums[i] * factor;
}

/// T = (I + A)^-1 for a unit lower triangle, and nothing above the blocks of 16
/// of its diagonal: these by substitution, a thread a column; then, column by
/// column of blocks, T_ij = -T_ii (sum over k of A_ik T_kj), a warp half of a
/// column.
__device__ void invert(PrepareMemory &memory) {
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  constexpr int kBlocks = kTokens / 16;
  if (warp < kBlocks && lane < 16) {
    int first = warp * 16;
    float own[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      // Four sums: additions wait for each other.
      float sums[4] = {t == lane ? 1.0f : 0.0f, 0, 0, 0};
#pragma unroll
      for (int s = 0; s < t; s += 4) {
        float4 four =
            *reinterpret_cast<const float4 *>(&memory.A[first + t][first + s]);
        const float a[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4 && s + i < t; ++i)
          sums[i] -= a[i] * own[s + i];
      }
      own[t] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
#pragma unroll
    for (int t = 0; t < 16; ++t)
      memory.T[first + t][first + lane] = own[t];
  }
  __syncthreads();
  if (warp < 2 * (kBlocks - 1)) {
    int j = warp / 2, column = j * 16 + warp % 2 * 8;
    for (int i = j + 1; i < kBlocks; ++i) {
      float sums[4] = {}, block[4] = {};
      for (int k = j; k < i; ++k)
        multiplyBlocks(sums, memory.A, i * 16, k * 16, memory.T, k * 16,
                       column);
      storeBlock(memory.T, i * 16, column, sums, -1.0f);
      __syncwarp();
      multiplyBlocks(block, memory.T, i * 16, i * 16, memory.T, i * 16, column);
      __syncwarp();
      storeBlock(memory.T, i * 16, column, block, 1.0f);
      __syncwarp();
    }
  }
  __syncthreads();
}

/// Sums of g from the chunk's beginning, and beta, by one warp. Beyond the end
/// nothing decays and nothing is written.
__device__ void readGates(Gates &gates, const Problem &problem,
                          const Chunk &chunk, int64_t head) {
  int lane = int(threadIdx.x) % 32;
  float g[2], beta[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    int t = 2 * lane + i;
    int64_t at = (chunk.token + t) * problem.valueHeads + head;
    g[i] = t < chunk.count ? problem.g[at] : 0.0f;
    beta[i] = t < chunk.count ? __bfloat162float(problem.beta[at]) : 0.0f;
  }
  float total = g[0] + g[1];
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    float other = __shfl_up_sync(0xffffffffu, total, step);
    total += lane >= step ? other : 0.0f;
  }
  float before = __shfl_up_sync(0xffffffffu, total, 1);
  before = lane == 0 ? 0.0f : before;
  float sums[2] = {before + g[0], before + g[0] + g[1]};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    gates.sums[2 * lane + i] = sums[i];
    gates.betas[2 * lane + i] = beta[i];
    gates.decayed[2 * lane + i] = -beta[i] * expFast(sums[i]);
  }
}

/// A block a chunk and a head of q and k, for all heads of v that share these.
/// Half of the warps make A and W, the others decayed q k^T and U, each for 16
/// tokens.
__global__ void __launch_bounds__(kThreads, 2) prepareChunks(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  PrepareMemory &memory = *reinterpret_cast<PrepareMemory *>(shared);
  Chunk chunk;
  if (!findChunk(problem, blockIdx.x, chunk))
    return;
  int64_t keyHead = blockIdx.y;
  int64_t keyStride = problem.keyHeads * kHead;
  int64_t valueStride = problem.valueHeads * kHead;
  int64_t keyOffset = chunk.token * keyStride + keyHead * kHead;
  SharedMatrix<kHead> k = {memory.k}, q = {memory.q}, v = {memory.v};
  SharedMatrix<kHead> outW = {reinterpret_cast<Bf16 *>(memory.A)};
  k.copyFrom<kTokens, kThreads>(problem.k + keyOffset, keyStride, chunk.count);
  q.copyFrom<kTokens, kThreads>(problem.q + keyOffset, keyStride, chunk.count);
  commitCopies();
  int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  bool isFirstHalf = warp < kHalf;
  int row = warp % kHalf * 16;
  int rows[2] = {row + lane / 4, row + lane / 4 + 8};
  int64_t group = problem.valueHeads / problem.keyHeads;
  /// k k^T or q k^T, the same for all heads.
  float products[kTokens / 8][4] = {};
  for (int64_t i = 0; i < group; ++i) {
    int64_t head = keyHead * group + i;
    int64_t index = int64_t(blockIdx.x) * problem.valueHeads + head;
    v.copyFrom<kTokens, kThreads>(problem.v + chunk.token * valueStride +
                                      head * kHead,
                                  valueStride, chunk.count);
    commitCopies();
    if (i == 0 && warp == 0)
      readGates(memory.gates[0], problem, chunk, head);
    waitForCopiesBut<1>();
    __syncthreads();
    const Gates &gates = memory.gates[i % 2];
    if (thread < kTokens)
      problem.sums[index * kTokens + thread] = gates.sums[thread];
    if (i == 0) {
      const SharedMatrix<kHead> &left = isFirstHalf ? k : q;
      uint32_t laneA = left.getLaneA(row), laneB = k.getLaneB(0);
#pragma unroll
      for (int step = 0; step < kHead / 16; ++step) {
        uint32_t a[4];
        left.loadA(a, laneA, 0, step);
#pragma unroll
        for (int pair = 0; pair < kTokens / 16; ++pair) {
          uint32_t b[4];
          k.loadB(b, laneB, pair * 16, step);
          multiply(products[2 * pair], a, b[0], b[1]);
          multiply(products[2 * pair + 1], a, b[2], b[3]);
        }
      }
      // A warp reads its own rows of q only, and its results go out through
      // them.
      __syncwarp();
    }
    float rowSums[2] = {gates.sums[rows[0]], gates.sums[rows[1]]};
#pragma unroll
    for (int column = 0; column < kTokens / 8; ++column)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float weights[2];
        int s = column * 8 + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 2; ++j)
          // The difference of what is not seen is above 0, and may be large.
          weights[j] = s + j <= rows[half]
                           ? products[column][2 * half + j] *
                                 expFast(rowSums[half] - gates.sums[s + j])
                           : 0.0f;
        if (isFirstHalf) {
          float beta = gates.betas[rows[half]];
#pragma unroll
          for (int j = 0; j < 2; ++j)
            memory.A[rows[half]][s + j] =
                s + j < rows[half] ? weights[j] * beta : 0.0f;
        } else {
          storePair(q.at(rows[half], column) + lane % 4 * 2,
                    packBf16(weights[0], weights[1]));
        }
      }
    if (!isFirstHalf) {
      __syncwarp();
      copyRows(problem.products +
                   (chunk.token * problem.valueHeads + head) * kTokens,
               problem.valueHeads * kTokens, q, row, chunk.count, 0,
               kTokens / kChunk);
    }
    __syncthreads();
    // The last warp has nothing to do while a triangle is inverted.
    if (warp == kThreads / 32 - 1 && i + 1 < group)
      readGates(memory.gates[(i + 1) % 2], problem, chunk, head + 1);
    invert(memory);

    // W = T diag(beta e^sum) k and U = T diag(beta) v; the factors are on the
    // inverse. Above the diagonal it is zero.
    waitForCopies();
    __syncthreads();
    const SharedMatrix<kHead> &right = isFirstHalf ? k : v;
    const SharedMatrix<kHead> &out = isFirstHalf ? outW : q;
    Bf16 *to = (isFirstHalf ? problem.W : problem.U) + index * kTokens * kHead;
    const float *factors = isFirstHalf ? gates.decayed : gates.betas;
    uint32_t laneRight = right.getLaneTransposedB(0);
#pragma unroll 1
    for (int side = 0; side < 2; ++side) {
      float result[kHead / 16][4] = {};
      for (int s = 0; s <= row; s += 16) {
        uint32_t a[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          int column = s + j / 2 * 8 + lane % 4 * 2;
          float2 two =
              *reinterpret_cast<const float2 *>(&memory.T[rows[j % 2]][column]);
          float2 factor = *reinterpret_cast<const float2 *>(factors + column);
          a[j] = packBf16(two.x * factor.x, two.y * factor.y);
        }
#pragma unroll
        for (int pair = 0; pair < kHead / 32; ++pair) {
          uint32_t b[4];
          right.loadTransposedB(b, laneRight, s, side * (kHead / 32) + pair);
          multiply(result[2 * pair], a, b[0], b[1]);
          multiply(result[2 * pair + 1], a, b[2], b[3]);
        }
      }
      // Earlier rows have gone out.
      __syncwarp();
#pragma unroll
      for (int column = 0; column < kHead / 16; ++column)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          storePair(
              out.at(rows[half], side * (kHead / 16) + column) + lane % 4 * 2,
              packBf16(result[column][2 * half], result[column][2 * half + 1]));
      __syncwarp();
      copyRows(to, kHead, out, row, kTokens, side * (kHead / 16), kHead / 16);
    }
    __syncthreads();
  }
}

//===----------------------------------------------------------------------===//
// The state from chunk to chunk, and the outputs
//===----------------------------------------------------------------------===//

struct PassMemory {
  Bf16 W[2][kTokens * kHead], k[2][kTokens * kHead], q[2][kTokens * kHead];
  /// The block's columns of U, and q k^T.
  Bf16 U[2][kTokens * kColumns], products[2][kTokens * kTokens];
  /// What a warp that advances the state hands to one that makes outputs: the
  /// state before the chunk, and U, as fragments.
  uint4 states[2][kHalf][kHead / 16][32], written[2][kHalf][kTokens / 16][32];
  float sums[3][kTokens];
};

/// Columns of the state of a warp, over the keys: an accumulator whose rows are
/// columns of the state: column lane / 4 (and + 8), keys 8 * n + lane % 4 * 2
/// (and + 1). Rounded, it is fragment a of products with S^T, and, its words in
/// another order, fragment b of products with S.
using State = float[kHead / 8][4];

/// Fragments that a warp loads at a time: those of all tokens.
constexpr int kFragments = kTokens / 16;

/// Fragment a of 16 columns of an accumulator of that form, from tiles 2 i and
/// 2 i + 1.
template <int kTiles>
__device__ void packFragment(uint32_t (&a)[4], const float (&tiles)[kTiles][4],
                             int i) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    const float *from = tiles[2 * i + word / 2] + word % 2 * 2;
    a[word] = packBf16(from[0], from[1]);
  }
}

/// U^T = U0^T - S^T W^T for the columns of warp \p warp, then the state after
/// the chunk: e^end S^T + U^T diag(e^(end - sum)) k.
__device__ void advance(State &state, PassMemory &memory, int chunk, int warp) {
  int lane = int(threadIdx.x) % 32;
  SharedMatrix<kHead> W = {memory.W[chunk % 2]}, k = {memory.k[chunk % 2]};
  SharedMatrix<kColumns> own = {memory.U[chunk % 2]};
  const float *sums = memory.sums[chunk % 3];
  float u[kTokens / 8][4];
  uint32_t laneOwn = own.getLaneTransposedB(0);
#pragma unroll
  for (int i = 0; i < kTokens / 16; ++i) {
    uint32_t words[4];
    own.loadTransposedB(words, laneOwn, i * 16, warp);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      float2 two = unpackBf16(words[word]);
      u[2 * i + word % 2][word / 2 * 2] = two.x;
      u[2 * i + word % 2][word / 2 * 2 + 1] = two.y;
    }
  }
  // The next step's fragments are on their way while this one's are multiplied:
  // nothing else hides how long that takes.
  uint32_t fragments[2][kFragments][4];
  uint32_t laneW = W.getLaneB(0);
  auto loadW = [&](int step) {
#pragma unroll
    for (int pair = 0; pair < kFragments; ++pair)
      W.loadB(fragments[step % 2][pair], laneW, pair * 16, step);
  };
  loadW(0);
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    if (step + 1 < kHead / 16)
      loadW(step + 1);
    uint32_t a[4];
    packFragment(a, state, step);
    memory.states[chunk % 2][warp][step][lane] =
        make_uint4(a[0], a[1], a[2], a[3]);
#pragma unroll
    for (int pair = 0; pair < kFragments; ++pair) {
      const uint32_t (&b)[4] = fragments[step % 2][pair];
      multiply(u[2 * pair], a, b[0], b[1]);
      multiply(u[2 * pair + 1], a, b[2], b[3]);
    }
  }
  float end = sums[kTokens - 1], decay = expFast(end);
#pragma unroll
  for (int n = 0; n < kHead / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      state[n][i] *= decay;
  uint32_t laneK = k.getLaneTransposedB(0);
  constexpr int kSides = kHead / 16 / kFragments;
  auto loadK = [&](int turn) {
#pragma unroll
    for (int pair = 0; pair < kFragments; ++pair)
      k.loadTransposedB(fragments[turn % 2][pair], laneK, turn / kSides * 16,
                        turn % kSides * kFragments + pair);
  };
  loadK(0);
#pragma unroll
  for (int i = 0; i < kTokens / 16; ++i) {
    uint32_t a[4];
    packFragment(a, u, i);
    memory.written[chunk % 2][warp][i][lane] =
        make_uint4(a[0], a[1], a[2], a[3]);
#pragma unroll
    for (int tile = 2 * i; tile < 2 * i + 2; ++tile) {
      float2 two =
          *reinterpret_cast<const float2 *>(sums + tile * 8 + lane % 4 * 2);
      float first = expFast(end - two.x), second = expFast(end - two.y);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        u[tile][2 * half] *= first;
        u[tile][2 * half + 1] *= second;
      }
    }
    packFragment(a, u, i);
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      int turn = i * kSides + side;
      if (turn + 1 < kTokens / 16 * kSides)
        loadK(turn + 1);
#pragma unroll
      for (int pair = 0; pair < kFragments; ++pair) {
        const uint32_t (&b)[4] = fragments[turn % 2][pair];
        int n = 2 * (side * kFragments + pair);
        multiply(state[n], a, b[0], b[1]);
        multiply(state[n + 1], a, b[2], b[3]);
      }
    }
  }
}

/// The outputs of a chunk for the columns of warp \p warp, at \p to of its
/// first token: scale (e^sum q S + products U).
__device__ void makeOutputs(Bf16 *to, int64_t stride, int count, float scale,
                            PassMemory &memory, int chunk, int warp) {
  int lane = int(threadIdx.x) % 32;
  SharedMatrix<kHead> q = {memory.q[(chunk + 1) % 2]};
  SharedMatrix<kTokens> products = {memory.products[(chunk + 1) % 2]};
  const float *sums = memory.sums[chunk % 3];
  float result[kTokens / 16][2][4] = {};
  uint32_t laneQ = q.getLaneA(0), laneP = products.getLaneA(0);
  uint32_t fragments[2][kFragments][4];
  auto loadQ = [&](int step) {
#pragma unroll
    for (int m = 0; m < kFragments; ++m)
      q.loadA(fragments[step % 2][m], laneQ, m * 16, step);
  };
  loadQ(0);
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    if (step + 1 < kHead / 16)
      loadQ(step + 1);
    uint4 b = memory.states[chunk % 2][warp][step][lane];
#pragma unroll
    for (int m = 0; m < kFragments; ++m) {
      const uint32_t (&a)[4] = fragments[step % 2][m];
      multiply(result[m][0], a, b.x, b.z);
      multiply(result[m][1], a, b.y, b.w);
    }
  }
#pragma unroll
  for (int m = 0; m < kTokens / 16; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float decay = expFast(sums[m * 16 + lane / 4 + half * 8]);
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        result[m][n][2 * half] *= decay;
        result[m][n][2 * half + 1] *= decay;
      }
    }
#pragma unroll
  for (int i = 0; i < kTokens / 16; ++i) {
    uint4 b = memory.written[chunk % 2][warp][i][lane];
    // Tokens see none that come later.
#pragma unroll
    for (int m = i; m < kTokens / 16; ++m) {
      uint32_t a[4];
      products.loadA(a, laneP, m * 16, i);
      multiply(result[m][0], a, b.x, b.z);
      multiply(result[m][1], a, b.y, b.w);
    }
  }
#pragma unroll
  for (int m = 0; m < kTokens / 16; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int t = m * 16 + lane / 4 + half * 8;
#pragma unroll
      for (int n = 0; n < 2; ++n)
        if (t < count)
          storePair(to + t * stride + n * 8 + lane % 4 * 2,
                    packBf16(result[m][n][2 * half] * scale,
                             result[m][n][2 * half + 1] * scale));
    }
}

/// Threads of a block that do not advance the state: they copy, and as many of
/// their warps as advance it make outputs.
constexpr int kCopying = kHalf * 32;
template <int kAdvancing>
constexpr int kPassThreads = kAdvancing * 32 + kCopying;

/// A block has 16 columns of the state of a head of a sequence for each of the
/// warps that advance it.
template <int kAdvancing>
__global__ void __launch_bounds__(kPassThreads<kAdvancing>, 1)
    passStates(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  PassMemory &memory = *reinterpret_cast<PassMemory *>(shared);
  int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  int64_t firstColumn = int64_t(blockIdx.x) * kAdvancing * 16;
  // Which 16 columns of a tile of U this warp has.
  int part = int(firstColumn % kColumns) / 16 + warp % kAdvancing;
  int64_t head = blockIdx.y, b = blockIdx.z;
  int64_t keyHead = head / (problem.valueHeads / problem.keyHeads);
  int64_t keyStride = problem.keyHeads * kHead;
  int64_t valueStride = problem.valueHeads * kHead;
  int64_t begin = problem.starts[b], end = problem.starts[b + 1];
  int64_t firstChunk = problem.firstChunks[b];
  int chunks = int((end - begin + kTokens - 1) / kTokens);
  auto getCount = [&](int chunk) {
    int64_t left = end - begin - int64_t(chunk) * kTokens;
    return left < kTokens ? int(left) : kTokens;
  };
  bool isAdvancing = warp < kAdvancing;
  // What a turn of the loop needs: this chunk's for the state, and the one's
  // before for the outputs. The warps that make outputs copy it all: those that
  // advance the state are what everybody waits for.
  int copier = thread - kAdvancing * 32;
  auto issue = [&](int chunk) {
    if (chunk < chunks) {
      int64_t token = begin + int64_t(chunk) * kTokens;
      int64_t index = (firstChunk + chunk) * problem.valueHeads + head;
      SharedMatrix<kHead> W = {memory.W[chunk % 2]}, k = {memory.k[chunk % 2]};
      SharedMatrix<kColumns> u = {memory.U[chunk % 2]};
      W.copyFrom<kTokens, kCopying>(problem.W + index * kTokens * kHead, kHead,
                                    kTokens, copier);
      u.copyFrom<kTokens, kCopying>(problem.U + index * kTokens * kHead +
                                        firstColumn / kColumns * kColumns,
                                    kHead, kTokens, copier);
      k.copyFrom<kTokens, kCopying>(problem.k + token * keyStride +
                                        keyHead * kHead,
                                    keyStride, getCount(chunk), copier);
      constexpr int kWords = kChunkBytes / int(sizeof(float));
      if (copier < kTokens / kWords)
        copyAsync(memory.sums[chunk % 3] + copier * kWords,
                  problem.sums + index * kTokens + copier * kWords, true);
    }
    if (chunk > 0) {
      int64_t token = begin + int64_t(chunk - 1) * kTokens;
      SharedMatrix<kHead> q = {memory.q[chunk % 2]};
      SharedMatrix<kTokens> products = {memory.products[chunk % 2]};
      q.copyFrom<kTokens, kCopying>(problem.q + token * keyStride +
                                        keyHead * kHead,
                                    keyStride, getCount(chunk - 1), copier);
      products.copyFrom<kTokens, kCopying>(
          problem.products + (token * problem.valueHeads + head) * kTokens,
          problem.valueHeads * kTokens, getCount(chunk - 1), copier);
    }
  };

  if (!isAdvancing)
    issue(0);
  State state;
  int64_t stateOffset = (b * problem.valueHeads + head) * kHead * kHead +
                        firstColumn + warp % kAdvancing * 16 + lane / 4;
  auto getPlace = [&](int n, int i) {
    return stateOffset + (n * 8 + lane % 4 * 2 + i % 2) * kHead + i / 2 * 8;
  };
  if (isAdvancing)
#pragma unroll
    for (int n = 0; n < kHead / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        state[n][i] = problem.initial[getPlace(n, i)];
  for (int chunk = 0; chunk <= chunks; ++chunk) {
    waitForCopies();
    __syncthreads();
    if (!isAdvancing && chunk < chunks)
      issue(chunk + 1);
    if (isAdvancing && chunk < chunks)
      advance(state, memory, chunk, part);
    if (!isAdvancing && warp < 2 * kAdvancing && chunk > 0) {
      int64_t token = begin + int64_t(chunk - 1) * kTokens;
      makeOutputs(problem.o + token * valueStride + head * kHead + firstColumn +
                      (warp - kAdvancing) * 16,
                  valueStride, getCount(chunk - 1), problem.scale, memory,
                  chunk - 1, part);
    }
  }
  if (isAdvancing)
#pragma unroll
    for (int n = 0; n < kHead / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        problem.finalState[getPlace(n, i)] = state[n][i];
}

//===----------------------------------------------------------------------===//
// Decode
//===----------------------------------------------------------------------===//

constexpr int kStepThreads = 128;
constexpr int kStepWarps = kStepThreads / 32;
/// Columns of the state that a block has; no column needs another one. Small
/// blocks are in different phases, so that loads and stores overlap.
constexpr int kStepColumns = 32;
/// Lanes that share a row, four columns each, and rows of a thread.
constexpr int kStepLanes = kStepColumns / 4;
constexpr int kStepRows = kHead / (kStepThreads / kStepLanes);

__device__ void addScaled(float4 &to, const float4 &value, float factor) {
  to.x += value.x * factor;
  to.y += value.y * factor;
  to.z += value.z * factor;
  to.w += value.w * factor;
}

/// One token of columns of a head of a sequence. The state is read once and
/// written once: q^T S' is decay * q^T S + (q . k) u.
__global__ void __launch_bounds__(kStepThreads) step(Problem problem) {
  __shared__ float query[kHead], key[kHead];
  __shared__ float4 keySums[kStepWarps][kStepLanes];
  __shared__ float4 querySums[kStepWarps][kStepLanes];
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  constexpr unsigned kParts = kHead / kStepColumns;
  int64_t head = blockIdx.x / kParts, t = blockIdx.y;
  int64_t keyHead = head / (problem.valueHeads / problem.keyHeads);
  int64_t gate = t * problem.valueHeads + head;
  int firstRow = int(threadIdx.x) / kStepLanes;
  int column = int(blockIdx.x % kParts) * kStepColumns + lane % kStepLanes * 4;
  constexpr int kStride = kStepThreads / kStepLanes * kHead;
  int64_t offset = gate * kHead * kHead + firstRow * kHead + column;
  float4 state[kStepRows];
#pragma unroll
  for (int i = 0; i < kStepRows; ++i)
    state[i] = __ldcs(reinterpret_cast<const float4 *>(problem.initial +
                                                       offset + i * kStride));
  static_assert(kStepThreads == kHead, "a thread copies an element");
  int64_t at = (t * problem.keyHeads + keyHead) * kHead + threadIdx.x;
  query[threadIdx.x] = __bfloat162float(problem.q[at]);
  key[threadIdx.x] = __bfloat162float(problem.k[at]);
  float decay = expFast(problem.g[gate]);
  float beta = __bfloat162float(problem.beta[gate]);
  uint2 words =
      *reinterpret_cast<const uint2 *>(problem.v + gate * kHead + column);
  __syncthreads();

  // Every warp has q . k of its own.
  float product = 0;
#pragma unroll
  for (int i = lane; i < kHead; i += 32)
    product += query[i] * key[i];
  float4 keySum = make_float4(0, 0, 0, 0), querySum = keySum;
#pragma unroll
  for (int i = 0; i < kStepRows; ++i) {
    int row = firstRow + i * (kStepThreads / kStepLanes);
    addScaled(keySum, state[i], key[row]);
    addScaled(querySum, state[i], query[row]);
  }
  auto addLanes = [](float &value, int distance) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  };
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    addLanes(product, distance);
    if (distance >= kStepLanes)
      for (float4 *sum : {&keySum, &querySum}) {
        addLanes(sum->x, distance);
        addLanes(sum->y, distance);
        addLanes(sum->z, distance);
        addLanes(sum->w, distance);
      }
  }
  if (lane < kStepLanes) {
    keySums[warp][lane] = keySum;
    querySums[warp][lane] = querySum;
  }
  __syncthreads();
  keySum = querySum = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int w = 0; w < kStepWarps; ++w) {
    addScaled(keySum, keySums[w][lane % kStepLanes], 1.0f);
    addScaled(querySum, querySums[w][lane % kStepLanes], 1.0f);
  }
  float2 low = unpackBf16(words.x), high = unpackBf16(words.y);
  float4 u = make_float4(
      beta * (low.x - decay * keySum.x), beta * (low.y - decay * keySum.y),
      beta * (high.x - decay * keySum.z), beta * (high.y - decay * keySum.w));
#pragma unroll
  for (int i = 0; i < kStepRows; ++i) {
    float4 next = make_float4(0, 0, 0, 0);
    addScaled(next, state[i], decay);
    addScaled(next, u, key[firstRow + i * (kStepThreads / kStepLanes)]);
    __stcs(
        reinterpret_cast<float4 *>(problem.finalState + offset + i * kStride),
        next);
  }
  if (threadIdx.x < kStepLanes) {
    float4 sum = make_float4(0, 0, 0, 0);
    addScaled(sum, querySum, decay * problem.scale);
    addScaled(sum, u, product * problem.scale);
    *reinterpret_cast<uint2 *>(problem.o + gate * kHead + column) =
        make_uint2(packBf16(sum.x, sum.y), packBf16(sum.z, sum.w));
  }
}

const char *identity = "hand-written, not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return identity; }

extern "C" int d2k_gated_delta_rule(const d2k_gated_delta_rule_args *args,
                                    void *workspace, size_t workspace_bytes,
                                    cudaStream_t stream) {
  Problem problem = {};
  problem.q = static_cast<const Bf16 *>(args->q);
  problem.k = static_cast<const Bf16 *>(args->k);
  problem.v = static_cast<const Bf16 *>(args->v);
  problem.beta = static_cast<const Bf16 *>(args->beta);
  problem.g = args->g;
  problem.initial = args->initial_state;
  problem.starts = args->cu_seqlens;
  problem.o = static_cast<Bf16 *>(args->o);
  problem.finalState = args->final_state;
  problem.sequences = args->B;
  problem.keyHeads = args->Hk;
  problem.valueHeads = args->Hv;
  problem.scale = args->scale;
  if (args->B > 65535 || args->Hv > 65535 || args->T > INT32_MAX)
    return cudaErrorInvalidValue;
  auto heads = unsigned(args->Hv);
  // Every sequence has a token, so that here each has one.
  if (args->T == args->B) {
    identity = "one kernel, a token a sequence, hand-written";
    step<<<dim3(heads * (kHead / kStepColumns), unsigned(args->B)),
           kStepThreads, 0, stream>>>(problem);
    return cudaGetLastError();
  }
  identity = "three kernels over chunks of 64 tokens, mma.sync, hand-written";
  int64_t chunks = args->T / kTokens + args->B; // At most so many.
  int64_t values = chunks * args->Hv * kTokens * kHead;
  problem.W = static_cast<Bf16 *>(workspace);
  problem.U = problem.W + values;
  problem.sums = reinterpret_cast<float *>(problem.U + values);
  problem.products =
      reinterpret_cast<Bf16 *>(problem.sums + chunks * args->Hv * kTokens);
  problem.firstChunks = reinterpret_cast<int32_t *>(
      problem.products + args->T * args->Hv * kTokens);
  auto *end = reinterpret_cast<const char *>(problem.firstChunks + args->B + 1);
  if (workspace_bytes < size_t(end - static_cast<const char *>(workspace)))
    return cudaErrorInvalidValue;
  int processors = 0;
  if (int error = countMultiprocessors(processors))
    return error;
  if (int error = allowShared(prepareChunks, sizeof(PrepareMemory)))
    return error;
  countChunks<<<1, 32, 0, stream>>>(problem);
  prepareChunks<<<dim3(unsigned(chunks), unsigned(args->Hk)), kThreads,
                  sizeof(PrepareMemory), stream>>>(problem);
  auto pass = [&](auto *kernel, int columns, int threads) -> int {
    if (int error = allowShared(kernel, sizeof(PassMemory)))
      return error;
    kernel<<<dim3(unsigned(kHead / columns), heads, unsigned(args->B)), threads,
             sizeof(PassMemory), stream>>>(problem);
    return cudaGetLastError();
  };
  // Small blocks where large ones leave SMs without one.
  return args->B * args->Hv * (kHead / kColumns) < processors
             ? pass(passStates<kHalf / 2>, kColumns / 2,
                    kPassThreads<kHalf / 2>)
             : pass(passStates<kHalf>, kColumns, kPassThreads<kHalf>);
}
