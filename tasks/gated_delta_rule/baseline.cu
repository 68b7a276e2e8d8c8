// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gated_delta_rule, written by hand. Prefill: chunks of 64
// tokens in UT form, as serving code has them: where the chunks of sequences
// begin; the triangular inverse, W and U of each chunk; the state from chunk to
// chunk; the outputs. Products are mma.sync on bf16. Decode (one token a
// sequence): one kernel that reads and writes the state once.

#include "d2k_gated_delta_rule.h"

#include "d2k/Baseline/MmaSync.cuh"

#include <utility>

namespace {

using namespace d2k::baseline;

constexpr int kHead = D2K_GATED_DELTA_RULE_D;
constexpr int kTokens = 64;
constexpr int kThreads = 128;
/// Columns of the state of a block that goes over the chunks.
constexpr int kColumns = 32;

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
  /// Sums of g in each chunk, [T, Hv]; W, and U first without the state's part,
  /// then with it, [T, Hv, D]; the state before each chunk, [chunks, Hv, D, D].
  float *sums;
  Bf16 *W, *U, *before;
};

/// One chunk of one sequence.
struct Chunk {
  int64_t token;
  int count;
};

__global__ void countChunks(Problem problem) {
  int32_t chunks = 0;
  for (int64_t b = 0; b < problem.sequences; ++b) {
    problem.firstChunks[b] = chunks;
    chunks +=
        (problem.starts[b + 1] - problem.starts[b] + kTokens - 1) / kTokens;
  }
  problem.firstChunks[problem.sequences] = chunks;
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

/// Multiplies a pair of bf16 and rounds.
__device__ uint32_t scalePair(uint32_t pair, float factor) {
  float2 wide = unpackBf16(pair);
  return packBf16(wide.x * factor, wide.y * factor);
}

/// Writes two accumulator rows of a warp, 8 * kTiles columns, as bf16.
template <int kTiles, int kWidth>
__device__ void storeRows(const SharedMatrix<kWidth> &to, int row,
                          const float (&sums)[kTiles][4], float first,
                          float second) {
  int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int column = 0; column < kTiles; ++column)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float factor = half ? second : first;
      storePair(to.at(row + lane / 4 + half * 8, column) + lane % 4 * 2,
                packBf16(sums[column][2 * half] * factor,
                         sums[column][2 * half + 1] * factor));
    }
}

/// Copies a warp's 16 rows from shared memory, 16 bytes at a time.
template <int kWidth>
__device__ void copyRows(Bf16 *to, int64_t stride,
                         const SharedMatrix<kWidth> &from, int row, int valid,
                         int chunks) {
  int lane = int(threadIdx.x) % 32;
  for (int i = lane; i < 16 * chunks; i += 32) {
    int at = row + i / chunks, place = i % chunks;
    if (at < valid)
      *reinterpret_cast<uint4 *>(to + at * stride + place * kChunk) =
          *reinterpret_cast<const uint4 *>(from.at(at, place));
  }
}

//===----------------------------------------------------------------------===//
// The triangular inverse, W and U
//===----------------------------------------------------------------------===//

struct PrepareMemory {
  Bf16 k[kTokens * kHead], v[kTokens * kHead];
  Bf16 inverse[kTokens * kTokens];
  float A[kTokens][kTokens + 1], T[kTokens][kTokens + 1];
  float sums[kTokens], betas[kTokens];
};

/// T = (I + A)^-1 for a unit lower triangle: blocks of 16 by substitution, a
/// thread a column, then pairs of blocks: the block below the diagonal is
/// -T22 A21 T11. Above the diagonal T has what is in between.
__device__ void invert(PrepareMemory &memory) {
  int thread = int(threadIdx.x);
  if (thread < kTokens) {
    int first = thread / 16 * 16, column = thread % 16;
    float own[16];
#pragma unroll
    for (int t = 0; t < 16; ++t) {
      float sum = t == column ? 1.0f : 0.0f;
#pragma unroll
      for (int s = 0; s < t; ++s)
        sum -= memory.A[first + t][first + s] * own[s];
      own[t] = t < column ? 0.0f : sum;
      memory.T[first + t][thread] = own[t];
    }
  }
  __syncthreads();
#pragma unroll
  for (int size = 16; size < kTokens; size *= 2) {
    int elements = kTokens / (2 * size) * size * size;
    for (int i = thread; i < elements; i += kThreads) {
      int top = i / (size * size) * 2 * size;
      int row = i / size % size, column = i % size;
      float sum = 0;
      for (int s = column; s < size; ++s)
        sum += memory.A[top + size + row][top + s] *
               memory.T[top + s][top + column];
      memory.T[top + row][top + size + column] = sum;
    }
    __syncthreads();
    for (int i = thread; i < elements; i += kThreads) {
      int top = i / (size * size) * 2 * size;
      int row = i / size % size, column = i % size;
      float sum = 0;
      for (int s = 0; s <= row; ++s)
        sum += memory.T[top + size + row][top + size + s] *
               memory.T[top + s][top + size + column];
      memory.T[top + size + row][top + column] = -sum;
    }
    __syncthreads();
  }
}

/// A block a chunk of a value head.
__global__ void __launch_bounds__(kThreads) prepareChunks(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  PrepareMemory &memory = *reinterpret_cast<PrepareMemory *>(shared);
  Chunk chunk;
  if (!findChunk(problem, blockIdx.x, chunk))
    return;
  int64_t head = blockIdx.y;
  int64_t keyHead = head / (problem.valueHeads / problem.keyHeads);
  int64_t valueStride = problem.valueHeads * kHead;
  SharedMatrix<kHead> k = {memory.k}, v = {memory.v};
  SharedMatrix<kTokens> inverse = {memory.inverse};
  k.copyFrom<kTokens, kThreads>(
      problem.k + (chunk.token * problem.keyHeads + keyHead) * kHead,
      problem.keyHeads * kHead, chunk.count);
  v.copyFrom<kTokens, kThreads>(problem.v + chunk.token * valueStride +
                                    head * kHead,
                                valueStride, chunk.count);
  int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  if (warp == 0) {
    // Two tokens a lane. Beyond the end nothing decays and nothing is written.
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
    memory.sums[2 * lane] = before + g[0];
    memory.sums[2 * lane + 1] = before + g[0] + g[1];
    memory.betas[2 * lane] = beta[0];
    memory.betas[2 * lane + 1] = beta[1];
  }
  waitForCopies();
  __syncthreads();
  if (thread < chunk.count)
    problem.sums[(chunk.token + thread) * problem.valueHeads + head] =
        memory.sums[thread];

  // A, from k k^T: a warp 16 rows.
  float products[kTokens / 8][4] = {};
  uint32_t laneA = k.getLaneA(warp * 16), laneB = k.getLaneB(0);
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    uint32_t a[4];
    k.loadA(a, laneA, 0, step);
#pragma unroll
    for (int pair = 0; pair < kTokens / 16; ++pair) {
      uint32_t b[4];
      k.loadB(b, laneB, pair * 16, step);
      multiply(products[2 * pair], a, b[0], b[1]);
      multiply(products[2 * pair + 1], a, b[2], b[3]);
    }
  }
#pragma unroll
  for (int column = 0; column < kTokens / 8; ++column)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int t = warp * 16 + lane / 4 + i / 2 * 8;
      int s = column * 8 + lane % 4 * 2 + i % 2;
      memory.A[t][s] = s < t ? products[column][i] * memory.betas[t] *
                                   expFast(memory.sums[t] - memory.sums[s])
                             : 0.0f;
    }
  __syncthreads();
  invert(memory);

  // Operands: the inverse, beta e^sum k, and beta v.
  for (int i = thread; i < kTokens * kTokens / 2; i += kThreads) {
    int t = i / (kTokens / 2), s = i % (kTokens / 2) * 2;
    storePair(inverse.at(t, s / kChunk) + s % kChunk,
              packBf16(s <= t ? memory.T[t][s] : 0.0f,
                       s + 1 <= t ? memory.T[t][s + 1] : 0.0f));
  }
  for (int i = thread; i < kTokens * (kHead / kChunk); i += kThreads) {
    int t = i / (kHead / kChunk), place = i % (kHead / kChunk);
    float beta = memory.betas[t], decayed = beta * expFast(memory.sums[t]);
    auto *key = reinterpret_cast<uint4 *>(k.at(t, place));
    auto *value = reinterpret_cast<uint4 *>(v.at(t, place));
    uint4 a = *key, b = *value;
    *key = make_uint4(scalePair(a.x, decayed), scalePair(a.y, decayed),
                      scalePair(a.z, decayed), scalePair(a.w, decayed));
    *value = make_uint4(scalePair(b.x, beta), scalePair(b.y, beta),
                        scalePair(b.z, beta), scalePair(b.w, beta));
  }
  __syncthreads();
  uint32_t laneT = inverse.getLaneA(warp * 16);
  auto multiplyInverse = [&](const SharedMatrix<kHead> &matrix, Bf16 *to) {
    float result[kHead / 8][4] = {};
    uint32_t laneM = matrix.getLaneTransposedB(0);
    // Above the diagonal the inverse is zero.
    for (int step = 0; step <= warp; ++step) {
      uint32_t a[4];
      inverse.loadA(a, laneT, 0, step);
#pragma unroll
      for (int pair = 0; pair < kHead / 16; ++pair) {
        uint32_t b[4];
        matrix.loadTransposedB(b, laneM, step * 16, pair);
        multiply(result[2 * pair], a, b[0], b[1]);
        multiply(result[2 * pair + 1], a, b[2], b[3]);
      }
    }
    // All are done with the matrix, and rows go out through it.
    __syncthreads();
    storeRows(matrix, warp * 16, result, 1.0f, 1.0f);
    __syncwarp();
    copyRows(to + chunk.token * valueStride + head * kHead, valueStride, matrix,
             warp * 16, chunk.count, kHead / kChunk);
  };
  multiplyInverse(k, problem.W);
  multiplyInverse(v, problem.U);
}

//===----------------------------------------------------------------------===//
// The state from chunk to chunk
//===----------------------------------------------------------------------===//

struct PassMemory {
  Bf16 W[2][kTokens * kHead], k[2][kTokens * kHead];
  /// Rows have room for 64 columns: the period of the banks.
  Bf16 state[kHead * 64], U[kTokens * 64];
  float decays[2][kTokens];
};

/// A block 32 columns of the state of a head of a sequence. A warp has 16 rows
/// of U and 32 of the state.
__global__ void __launch_bounds__(kThreads) passStates(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  PassMemory &memory = *reinterpret_cast<PassMemory *>(shared);
  SharedMatrix<64> stateOperand = {memory.state}, u = {memory.U};
  int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  int64_t firstColumn = int64_t(blockIdx.x) * kColumns;
  int64_t head = blockIdx.y, b = blockIdx.z;
  int64_t keyHead = head / (problem.valueHeads / problem.keyHeads);
  int64_t valueStride = problem.valueHeads * kHead;
  int64_t begin = problem.starts[b], end = problem.starts[b + 1];
  int64_t firstChunk = problem.firstChunks[b];
  int chunks = int((end - begin + kTokens - 1) / kTokens);
  auto getCount = [&](int chunk) {
    int64_t left = end - begin - int64_t(chunk) * kTokens;
    return left < kTokens ? int(left) : kTokens;
  };
  auto issue = [&](int chunk) {
    if (chunk < chunks) {
      int64_t token = begin + int64_t(chunk) * kTokens;
      int count = getCount(chunk);
      SharedMatrix<kHead> W = {memory.W[chunk % 2]}, k = {memory.k[chunk % 2]};
      W.copyFrom<kTokens, kThreads>(
          problem.W + token * valueStride + head * kHead, valueStride, count);
      k.copyFrom<kTokens, kThreads>(
          problem.k + (token * problem.keyHeads + keyHead) * kHead,
          problem.keyHeads * kHead, count);
      if (thread < kTokens) {
        int t = thread < count ? thread : count - 1;
        memory.decays[chunk % 2][thread] =
            problem.sums[(token + t) * problem.valueHeads + head];
      }
    }
    commitCopies();
  };

  // Rows 32 * warp + 16 * m + lane / 4 (and + 8), columns 8 * n + ...
  float state[2][kColumns / 8][4];
  float *stateAt = problem.finalState +
                   (b * problem.valueHeads + head) * kHead * kHead +
                   firstColumn;
  const float *initialAt = problem.initial + (stateAt - problem.finalState);
  auto getPlace = [&](int m, int n, int half) {
    int row = warp * 32 + m * 16 + lane / 4 + half * 8;
    return row * kHead + n * 8 + lane % 4 * 2;
  };
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 two =
            *reinterpret_cast<const float2 *>(initialAt + getPlace(m, n, half));
        state[m][n][2 * half] = two.x;
        state[m][n][2 * half + 1] = two.y;
      }
  issue(0);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    int64_t token = begin + int64_t(chunk) * kTokens;
    int count = getCount(chunk);
    // U without the state's part, in the layout of the accumulator.
    uint32_t own[kColumns / 8][2];
    Bf16 *uAt = problem.U + token * valueStride + head * kHead + firstColumn;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int row = warp * 16 + lane / 4 + half * 8;
        own[n][half] = row < count
                           ? *reinterpret_cast<const uint32_t *>(
                                 uAt + row * valueStride + n * 8 + lane % 4 * 2)
                           : 0;
      }
    // The state before the chunk is an operand here and for the outputs.
#pragma unroll
    for (int m = 0; m < 2; ++m)
      storeRows(stateOperand, warp * 32 + m * 16, state[m], 1.0f, 1.0f);
    waitForCopies();
    __syncthreads();
    issue(chunk + 1);
    Bf16 *beforeAt =
        problem.before +
        ((firstChunk + chunk) * problem.valueHeads + head) * kHead * kHead +
        firstColumn;
#pragma unroll
    for (int m = 0; m < 2; ++m)
      copyRows(beforeAt, kHead, stateOperand, warp * 32 + m * 16, kHead,
               kColumns / kChunk);

    SharedMatrix<kHead> W = {memory.W[chunk % 2]}, k = {memory.k[chunk % 2]};
    const float *sums = memory.decays[chunk % 2];
    float products[kColumns / 8][4] = {};
    uint32_t laneW = W.getLaneA(warp * 16);
    uint32_t laneState = stateOperand.getLaneTransposedB(0);
#pragma unroll
    for (int step = 0; step < kHead / 16; ++step) {
      uint32_t a[4];
      W.loadA(a, laneW, 0, step);
#pragma unroll
      for (int pair = 0; pair < kColumns / 16; ++pair) {
        uint32_t operand[4];
        stateOperand.loadTransposedB(operand, laneState, step * 16, pair);
        multiply(products[2 * pair], a, operand[0], operand[1]);
        multiply(products[2 * pair + 1], a, operand[2], operand[3]);
      }
    }
    float last = sums[kTokens - 1];
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int row = warp * 16 + lane / 4 + half * 8;
        float2 value = unpackBf16(own[n][half]);
        uint32_t pair = packBf16(value.x - products[n][2 * half],
                                 value.y - products[n][2 * half + 1]);
        if (row < count)
          *reinterpret_cast<uint32_t *>(uAt + row * valueStride + n * 8 +
                                        lane % 4 * 2) = pair;
        // Decayed to the chunk's end, for the state; rows beyond the end are
        // multiplied by zeros of k.
        storePair(u.at(row, n) + lane % 4 * 2,
                  scalePair(pair, expFast(last - sums[row])));
      }
    __syncthreads();
    float decay = expFast(last);
    uint32_t laneK = k.getLaneB(0), laneU = u.getLaneTransposedB(0);
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          state[m][n][i] *= decay;
#pragma unroll
    for (int s = 0; s < kTokens; s += 16) {
      uint32_t operand[kColumns / 16][4];
#pragma unroll
      for (int pair = 0; pair < kColumns / 16; ++pair)
        u.loadTransposedB(operand[pair], laneU, s, pair);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        // Transposed, matrices in the order of fragment b are fragment a: rows
        // are then the columns of k.
        uint32_t a[4];
        k.loadTransposedB(a, laneK, s, warp * 2 + m);
#pragma unroll
        for (int pair = 0; pair < kColumns / 16; ++pair) {
          multiply(state[m][2 * pair], a, operand[pair][0], operand[pair][1]);
          multiply(state[m][2 * pair + 1], a, operand[pair][2],
                   operand[pair][3]);
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2 *>(stateAt + getPlace(m, n, half)) =
            make_float2(state[m][n][2 * half], state[m][n][2 * half + 1]);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

struct OutputMemory {
  Bf16 q[kTokens * kHead], k[kTokens * kHead], U[kTokens * kHead];
  Bf16 before[kHead * kHead];
  float sums[kTokens];
};

/// A block a chunk of a value head; a warp 16 tokens.
__global__ void __launch_bounds__(kThreads) computeOutputs(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  OutputMemory &memory = *reinterpret_cast<OutputMemory *>(shared);
  Chunk chunk;
  if (!findChunk(problem, blockIdx.x, chunk))
    return;
  SharedMatrix<kHead> q = {memory.q}, k = {memory.k}, u = {memory.U},
                      before = {memory.before};
  int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  int64_t head = blockIdx.y;
  int64_t keyHead = head / (problem.valueHeads / problem.keyHeads);
  int64_t keyStride = problem.keyHeads * kHead;
  int64_t valueStride = problem.valueHeads * kHead;
  int64_t keyOffset = chunk.token * keyStride + keyHead * kHead;
  int64_t valueOffset = chunk.token * valueStride + head * kHead;
  q.copyFrom<kTokens, kThreads>(problem.q + keyOffset, keyStride, chunk.count);
  k.copyFrom<kTokens, kThreads>(problem.k + keyOffset, keyStride, chunk.count);
  u.copyFrom<kTokens, kThreads>(problem.U + valueOffset, valueStride,
                                chunk.count);
  before.copyFrom<kHead, kThreads>(
      problem.before +
          (int64_t(blockIdx.x) * problem.valueHeads + head) * kHead * kHead,
      kHead, kHead);
  if (thread < kTokens) {
    int t = thread < chunk.count ? thread : chunk.count - 1;
    memory.sums[thread] =
        problem.sums[(chunk.token + t) * problem.valueHeads + head];
  }
  waitForCopies();
  __syncthreads();

  int rows[2] = {warp * 16 + lane / 4, warp * 16 + lane / 4 + 8};
  float rowSums[2] = {memory.sums[rows[0]], memory.sums[rows[1]]};
  float products[kTokens / 8][4] = {};
  float result[kHead / 8][4] = {};
  uint32_t laneQ = q.getLaneA(warp * 16), laneK = k.getLaneB(0);
  uint32_t laneBefore = before.getLaneTransposedB(0);
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    uint32_t a[4];
    q.loadA(a, laneQ, 0, step);
#pragma unroll
    for (int pair = 0; pair < kTokens / 16; ++pair) {
      uint32_t b[4];
      k.loadB(b, laneK, pair * 16, step);
      multiply(products[2 * pair], a, b[0], b[1]);
      multiply(products[2 * pair + 1], a, b[2], b[3]);
    }
#pragma unroll
    for (int pair = 0; pair < kHead / 16; ++pair) {
      uint32_t b[4];
      before.loadTransposedB(b, laneBefore, step * 16, pair);
      multiply(result[2 * pair], a, b[0], b[1]);
      multiply(result[2 * pair + 1], a, b[2], b[3]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float decay = expFast(rowSums[half]);
#pragma unroll
    for (int column = 0; column < kHead / 8; ++column) {
      result[column][2 * half] *= decay;
      result[column][2 * half + 1] *= decay;
    }
  }
  uint32_t laneU = u.getLaneTransposedB(0);
#pragma unroll
  for (int step = 0; step < kTokens / 16; ++step) {
    if (step > warp)
      break;
    uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // Fragment a has columns 8 * (i / 2) on, and rows + 8 * (i % 2).
      const float (&from)[4] = products[2 * step + i / 2];
      int s = step * 16 + i / 2 * 8 + lane % 4 * 2;
      float weights[2];
#pragma unroll
      for (int j = 0; j < 2; ++j)
        weights[j] = s + j <= rows[i % 2]
                         ? from[i % 2 * 2 + j] *
                               expFast(rowSums[i % 2] - memory.sums[s + j])
                         : 0.0f;
      a[i] = packBf16(weights[0], weights[1]);
    }
#pragma unroll
    for (int pair = 0; pair < kHead / 16; ++pair) {
      uint32_t b[4];
      u.loadTransposedB(b, laneU, step * 16, pair);
      multiply(result[2 * pair], a, b[0], b[1]);
      multiply(result[2 * pair + 1], a, b[2], b[3]);
    }
  }
  // A warp reads its own rows of q only, and its result goes out through them.
  __syncwarp();
  storeRows(q, warp * 16, result, problem.scale, problem.scale);
  __syncwarp();
  copyRows(problem.o + valueOffset, valueStride, q, warp * 16, chunk.count,
           kHead / kChunk);
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
  identity = "four kernels over chunks of 64 tokens, mma.sync, hand-written";
  int64_t chunks = args->T / kTokens + args->B; // At most so many.
  int64_t values = args->T * args->Hv * kHead;
  problem.before = static_cast<Bf16 *>(workspace);
  problem.W = problem.before + chunks * args->Hv * kHead * kHead;
  problem.U = problem.W + values;
  problem.sums = reinterpret_cast<float *>(problem.U + values);
  problem.firstChunks =
      reinterpret_cast<int32_t *>(problem.sums + args->T * args->Hv);
  auto *end = reinterpret_cast<const char *>(problem.firstChunks + args->B + 1);
  if (workspace_bytes < size_t(end - static_cast<const char *>(workspace)))
    return cudaErrorInvalidValue;
  for (auto [kernel, bytes] :
       {std::pair<void (*)(Problem), size_t>{prepareChunks,
                                             sizeof(PrepareMemory)},
        std::pair<void (*)(Problem), size_t>{passStates, sizeof(PassMemory)},
        std::pair<void (*)(Problem), size_t>{computeOutputs,
                                             sizeof(OutputMemory)}})
    if (cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)))
      return error;
  countChunks<<<1, 1, 0, stream>>>(problem);
  prepareChunks<<<dim3(unsigned(chunks), heads), kThreads,
                  sizeof(PrepareMemory), stream>>>(problem);
  passStates<<<dim3(kHead / kColumns, heads, unsigned(args->B)), kThreads,
               sizeof(PassMemory), stream>>>(problem);
  computeOutputs<<<dim3(unsigned(chunks), heads), kThreads,
                   sizeof(OutputMemory), stream>>>(problem);
  return cudaGetLastError();
}
