// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of mamba2_ssd_scan, written by hand: five kernels over chunks of
// 256 tokens, as serving code has them. Sums of step * A in each chunk; C B^T
// of each chunk and group; what each chunk adds to the state; the pass over
// chunks; and the outputs from C B^T, the state before the chunk, and x. A
// single token is one kernel that reads and writes the state once. Products are
// mma.sync on bf16, accesses 16 bytes wide where layouts let them.

#include "d2k_mamba2_ssd_scan.h"

#include "d2k/Baseline/MmaSync.cuh"

#include <utility>

namespace {

using namespace d2k::baseline;

constexpr int kHead = D2K_MAMBA2_SSD_SCAN_P;
constexpr int kState = D2K_MAMBA2_SSD_SCAN_N;
constexpr int kTokens = 256;
/// Tokens of a tile of C B^T: 16 a warp.
constexpr int kTile = 64;
constexpr int kThreads = 128;
constexpr float kLog2E = 1.44269504f;

struct Problem {
  const Bf16 *x, *dt, *B, *C;
  const float *bias, *A, *D, *initial;
  Bf16 *y;
  float *finalState;
  int64_t tokens, heads, groups, chunks;
  /// Steps, and sums of step * A * log2(e) from the chunk's beginning:
  /// [batch, chunks, H, 256].
  float *steps, *sums;
  /// C_t . B_s: [batch, chunks, G, 256, 256], for s up to the end of t's tile.
  float *products;
  /// What a chunk adds, and the state before it: [batch, chunks, H, P, N].
  float *added;
  Bf16 *before;
};

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

constexpr int kSumHeads = 16;
constexpr int kSumThreads = 256;

/// softplus.
__device__ float getStep(float raw) {
  return fmaxf(raw, 0.0f) + log1pf(__expf(-fabsf(raw)));
}

/// A block a chunk of 16 heads; first all read steps, then a warp two heads.
__global__ void __launch_bounds__(kSumThreads) sumSteps(Problem problem) {
  __shared__ float steps[kSumHeads][kTokens + 1];
  int64_t chunk = blockIdx.y, b = blockIdx.z;
  int64_t firstHead = int64_t(blockIdx.x) * kSumHeads;
  int64_t firstToken = chunk * kTokens;
  for (int i = int(threadIdx.x); i < kTokens * kSumHeads; i += kSumThreads) {
    int t = i / kSumHeads, h = i % kSumHeads;
    float step = 0; // Beyond the end nothing decays and nothing is added.
    if (firstToken + t < problem.tokens && firstHead + h < problem.heads)
      step = getStep(
          __bfloat162float(
              problem.dt[(b * problem.tokens + firstToken + t) * problem.heads +
                         firstHead + h]) +
          problem.bias[firstHead + h]);
    steps[h][t] = step;
  }
  __syncthreads();
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  constexpr int kEach = kTokens / 32;
  for (int h = warp; h < kSumHeads; h += kSumThreads / 32) {
    int64_t head = firstHead + h;
    if (head >= problem.heads)
      continue;
    float rate = problem.A[head] * kLog2E;
    float own[kEach], sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      sum += steps[h][lane * kEach + i] * rate;
      own[i] = sum;
    }
    float total = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      float other = __shfl_up_sync(0xffffffffu, total, step);
      total += lane >= step ? other : 0.0f;
    }
    float offset = __shfl_up_sync(0xffffffffu, total, 1);
    offset = lane == 0 ? 0.0f : offset;
    int64_t at =
        ((b * problem.chunks + chunk) * problem.heads + head) * kTokens +
        lane * kEach;
#pragma unroll
    for (int i = 0; i < kEach; i += 4) {
      const float *from = steps[h] + lane * kEach + i;
      *reinterpret_cast<float4 *>(problem.steps + at + i) =
          make_float4(from[0], from[1], from[2], from[3]);
      *reinterpret_cast<float4 *>(problem.sums + at + i) =
          make_float4(own[i] + offset, own[i + 1] + offset, own[i + 2] + offset,
                      own[i + 3] + offset);
    }
  }
}

//===----------------------------------------------------------------------===//
// C B^T
//===----------------------------------------------------------------------===//

/// A block a tile of 64 tokens t of a chunk of a group, and all s up to its
/// end.
__global__ void __launch_bounds__(kThreads) multiplyCB(Problem problem) {
  __shared__ __align__(128) Bf16 cData[kTile * kState];
  __shared__ __align__(128) Bf16 bData[kTile * kState];
  SharedMatrix<kState> c = {cData}, b = {bData};
  int64_t tile = blockIdx.x, chunk = blockIdx.y;
  int64_t group = blockIdx.z % problem.groups;
  int64_t sequence = blockIdx.z / problem.groups;
  int64_t token = sequence * problem.tokens + chunk * kTokens;
  int64_t left = problem.tokens - chunk * kTokens;
  int64_t stride = problem.groups * kState;
  int64_t offset = token * stride + group * kState;
  if (tile * kTile >= left)
    return;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  float *to = problem.products +
              ((sequence * problem.chunks + chunk) * problem.groups + group) *
                  kTokens * kTokens;
  c.copyFrom<kTile, kThreads>(problem.C + offset + tile * kTile * stride,
                              stride, int(left - tile * kTile));
  for (int64_t other = 0; other <= tile; ++other) {
    b.copyFrom<kTile, kThreads>(problem.B + offset + other * kTile * stride,
                                stride, int(left - other * kTile));
    waitForCopies();
    __syncthreads();
    float sums[kTile / 8][4] = {};
    uint32_t laneC = c.getLaneA(warp * 16), laneB = b.getLaneB(0);
#pragma unroll
    for (int k = 0; k < kState / 16; ++k) {
      uint32_t a[4];
      c.loadA(a, laneC, 0, k);
#pragma unroll
      for (int pair = 0; pair < kTile / 16; ++pair) {
        uint32_t operand[4];
        b.loadB(operand, laneB, pair * 16, k);
        multiply(sums[2 * pair], a, operand[0], operand[1]);
        multiply(sums[2 * pair + 1], a, operand[2], operand[3]);
      }
    }
#pragma unroll
    for (int column = 0; column < kTile / 8; ++column)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int64_t row = tile * kTile + warp * 16 + lane / 4 + half * 8;
        int64_t s = other * kTile + column * 8 + lane % 4 * 2;
        *reinterpret_cast<float2 *>(to + row * kTokens + s) =
            make_float2(sums[column][2 * half], sums[column][2 * half + 1]);
      }
    __syncthreads();
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

constexpr int kAddThreads = 256;
constexpr int kAddShared = kTokens * (kHead + kState) * int(sizeof(Bf16)) +
                           kTokens * int(sizeof(float));

/// What a chunk adds to the state of a head: the sum over s of x_s B_s^T with
/// the weight exp(sum_end - sum_s) * step_s. A warp 16 rows, half of the
/// columns.
__global__ void __launch_bounds__(kAddThreads, 2) addChunk(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  SharedMatrix<kHead> x = {reinterpret_cast<Bf16 *>(shared)};
  SharedMatrix<kState> b = {x.data + kTokens * kHead};
  auto *weights = reinterpret_cast<float *>(b.data + kTokens * kState);
  int64_t head = blockIdx.x, chunk = blockIdx.y, sequence = blockIdx.z;
  int64_t group = head / (problem.heads / problem.groups);
  int64_t left = problem.tokens - chunk * kTokens;
  int valid = left < kTokens ? int(left) : kTokens;
  int64_t token = sequence * problem.tokens + chunk * kTokens;
  int64_t index = (sequence * problem.chunks + chunk) * problem.heads + head;
  b.copyFrom<kTokens, kAddThreads>(
      problem.B + (token * problem.groups + group) * kState,
      problem.groups * kState, valid);
  // All of x is on its way before any of it is needed.
  constexpr int kChunks = kHead / kChunk, kStep = kAddThreads / kChunks;
  constexpr int kEach = kTokens / kStep;
  int first = int(threadIdx.x) / kChunks, place = int(threadIdx.x) % kChunks;
  const Bf16 *from = problem.x +
                     ((token + first) * problem.heads + head) * kHead +
                     place * kChunk;
  uint4 words[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    words[i] = first + i * kStep < valid
                   ? *reinterpret_cast<const uint4 *>(
                         from + i * kStep * problem.heads * kHead)
                   : make_uint4(0, 0, 0, 0);
  const float *sums = problem.sums + index * kTokens;
  const float *steps = problem.steps + index * kTokens;
  static_assert(kAddThreads == kTokens, "a thread has a weight");
  weights[threadIdx.x] =
      exp2Fast(sums[kTokens - 1] - sums[threadIdx.x]) * steps[threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    uint32_t pairs[4] = {words[i].x, words[i].y, words[i].z, words[i].w};
    float weight = weights[first + i * kStep];
#pragma unroll
    for (uint32_t &pair : pairs) {
      float2 wide = unpackBf16(pair);
      pair = packBf16(wide.x * weight, wide.y * weight);
    }
    *reinterpret_cast<uint4 *>(x.at(first + i * kStep, place)) =
        make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  }
  waitForCopies();
  __syncthreads();

  constexpr int kRowTiles = kHead / 16;
  constexpr int kParts = kAddThreads / 32 / kRowTiles;
  constexpr int kPairs = kState / 16 / kParts;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int rowTile = warp % kRowTiles, part = warp / kRowTiles;
  float result[2 * kPairs][4] = {};
  // Transposed, matrices in the order of fragment b are fragment a: rows are
  // then the columns of x, from 16 * rowTile on.
  uint32_t laneX = x.getLaneB(0), laneB = b.getLaneTransposedB(0);
#pragma unroll 4
  for (int s = 0; s < kTokens; s += 16) {
    uint32_t a[4];
    x.loadTransposedB(a, laneX, s, rowTile);
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      uint32_t operand[4];
      b.loadTransposedB(operand, laneB, s, part * kPairs + pair);
      multiply(result[2 * pair], a, operand[0], operand[1]);
      multiply(result[2 * pair + 1], a, operand[2], operand[3]);
    }
  }
  float *to = problem.added + index * kHead * kState + part * kPairs * 16;
#pragma unroll
  for (int column = 0; column < 2 * kPairs; ++column)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = rowTile * 16 + lane / 4 + half * 8;
      *reinterpret_cast<float2 *>(to + row * kState + column * 8 +
                                  lane % 4 * 2) =
          make_float2(result[column][2 * half], result[column][2 * half + 1]);
    }
}

/// The state of each head over the chunks; a thread four elements.
__global__ void __launch_bounds__(256) passStates(Problem problem) {
  int64_t sequence = blockIdx.z, head = blockIdx.y;
  int64_t element = (int64_t(blockIdx.x) * 256 + threadIdx.x) * 4;
  int64_t at = (sequence * problem.heads + head) * kHead * kState + element;
  float4 state = *reinterpret_cast<const float4 *>(problem.initial + at);
#pragma unroll 4
  for (int64_t chunk = 0; chunk < problem.chunks; ++chunk) {
    int64_t index = (sequence * problem.chunks + chunk) * problem.heads + head;
    int64_t place = index * kHead * kState + element;
    *reinterpret_cast<uint2 *>(problem.before + place) =
        make_uint2(packBf16(state.x, state.y), packBf16(state.z, state.w));
    float4 added = *reinterpret_cast<const float4 *>(problem.added + place);
    float decay = exp2Fast(problem.sums[index * kTokens + kTokens - 1]);
    state.x = state.x * decay + added.x;
    state.y = state.y * decay + added.y;
    state.z = state.z * decay + added.z;
    state.w = state.w * decay + added.w;
  }
  *reinterpret_cast<float4 *>(problem.finalState + at) = state;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

constexpr int kOutputThreads = 256;
/// Tokens of a block, 16 a warp.
constexpr int kOutputTile = kOutputThreads / 32 * 16;
constexpr int kOutputShared =
    (kOutputTile * kState + kHead * kState + kTokens * kHead) *
        int(sizeof(Bf16)) +
    2 * kTokens * int(sizeof(float));

/// A block half a chunk of a head; a warp 16 tokens of it.
__global__ void __launch_bounds__(kOutputThreads, 2)
    computeOutputs(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  SharedMatrix<kState> c = {reinterpret_cast<Bf16 *>(shared)};
  SharedMatrix<kState> before = {c.data + kOutputTile * kState};
  SharedMatrix<kHead> x = {before.data + kHead * kState};
  auto *sums = reinterpret_cast<float *>(x.data + kTokens * kHead);
  float *steps = sums + kTokens;
  // Tiles of a chunk and head are neighbours, so that they share what L2 has.
  int tile = int(blockIdx.x % (kTokens / kOutputTile));
  int64_t head = blockIdx.x / (kTokens / kOutputTile);
  int64_t chunk = blockIdx.y, sequence = blockIdx.z;
  int64_t group = head / (problem.heads / problem.groups);
  int64_t left = problem.tokens - chunk * kTokens;
  int first = tile * kOutputTile;
  if (first >= left)
    return;
  int valid = left < kTokens ? int(left) : kTokens;
  int64_t token = sequence * problem.tokens + chunk * kTokens;
  int64_t index = (sequence * problem.chunks + chunk) * problem.heads + head;
  int64_t xStride = problem.heads * kHead;
  c.copyFrom<kOutputTile, kOutputThreads>(
      problem.C + ((token + first) * problem.groups + group) * kState,
      problem.groups * kState, valid - first);
  before.copyFrom<kHead, kOutputThreads>(
      problem.before + index * kHead * kState, kState, kHead);
  for (int s = 0; s <= first; s += kOutputTile) {
    SharedMatrix<kHead> part = {x.data + s * kHead};
    part.copyFrom<kOutputTile, kOutputThreads>(
        problem.x + (token + s) * xStride + head * kHead, xStride, valid - s);
  }
  for (int s = int(threadIdx.x); s < first + kOutputTile; s += kOutputThreads) {
    sums[s] = problem.sums[index * kTokens + s];
    steps[s] = problem.steps[index * kTokens + s];
  }
  waitForCopies();
  __syncthreads();

  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  float result[kHead / 8][4] = {};
  uint32_t laneC = c.getLaneA(warp * 16), laneBefore = before.getLaneB(0);
#pragma unroll
  for (int k = 0; k < kState / 16; ++k) {
    uint32_t a[4];
    c.loadA(a, laneC, 0, k);
#pragma unroll
    for (int pair = 0; pair < kHead / 16; ++pair) {
      uint32_t operand[4];
      before.loadB(operand, laneBefore, pair * 16, k);
      multiply(result[2 * pair], a, operand[0], operand[1]);
      multiply(result[2 * pair + 1], a, operand[2], operand[3]);
    }
  }
  // This lane's rows.
  int rows[2] = {first + warp * 16 + lane / 4,
                 first + warp * 16 + lane / 4 + 8};
  float rowSums[2] = {sums[rows[0]], sums[rows[1]]};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float decay = exp2Fast(rowSums[half]);
#pragma unroll
    for (int column = 0; column < kHead / 8; ++column) {
      result[column][2 * half] *= decay;
      result[column][2 * half + 1] *= decay;
    }
  }

  const float *products =
      problem.products +
      ((sequence * problem.chunks + chunk) * problem.groups + group) * kTokens *
          kTokens;
  uint32_t laneX = x.getLaneTransposedB(0);
  // The products of the next tokens are on their way during a step.
  float2 next[4];
  auto load = [&](int s) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      next[i] = *reinterpret_cast<const float2 *>(
          products + rows[i % 2] * kTokens + s + i / 2 * 8 + lane % 4 * 2);
  };
  int end = first + (warp + 1) * 16;
  load(0);
  for (int s = 0; s < end; s += 16) {
    float2 own[4] = {next[0], next[1], next[2], next[3]};
    if (s + 16 < end)
      load(s + 16);
    uint32_t a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = rows[i % 2], column = s + i / 2 * 8 + lane % 4 * 2;
      float weights[2] = {own[i].x, own[i].y};
#pragma unroll
      for (int j = 0; j < 2; ++j)
        // The difference of what is not seen is above 0, and may be large.
        weights[j] = column + j <= row
                         ? weights[j] *
                               exp2Fast(rowSums[i % 2] - sums[column + j]) *
                               steps[column + j]
                         : 0.0f;
      a[i] = packBf16(weights[0], weights[1]);
    }
#pragma unroll
    for (int pair = 0; pair < kHead / 16; ++pair) {
      uint32_t operand[4];
      x.loadTransposedB(operand, laneX, s, pair);
      multiply(result[2 * pair], a, operand[0], operand[1]);
      multiply(result[2 * pair + 1], a, operand[2], operand[3]);
    }
  }

  // Through shared memory, for rows of 16 bytes; a warp's own rows of C.
  float D = problem.D[head];
  SharedMatrix<kHead> out = {c.data};
  __syncthreads();
#pragma unroll
  for (int column = 0; column < kHead / 8; ++column)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = warp * 16 + lane / 4 + half * 8;
      float2 value = unpackBf16(*reinterpret_cast<const uint32_t *>(
          x.at(first + row, column) + lane % 4 * 2));
      storePair(out.at(row, column) + lane % 4 * 2,
                packBf16(result[column][2 * half] + D * value.x,
                         result[column][2 * half + 1] + D * value.y));
    }
  __syncwarp();
  for (int i = lane; i < 16 * (kHead / kChunk); i += 32) {
    int row = warp * 16 + i / (kHead / kChunk), place = i % (kHead / kChunk);
    if (first + row < valid)
      *reinterpret_cast<uint4 *>(problem.y + (token + first + row) * xStride +
                                 head * kHead + place * kChunk) =
          *reinterpret_cast<const uint4 *>(out.at(row, place));
  }
}

//===----------------------------------------------------------------------===//
// One token
//===----------------------------------------------------------------------===//

constexpr int kStepThreads = 128;
/// Rows of the state of a warp, and of a block.
constexpr int kStepRows = 8;
constexpr int kStepBlockRows = kStepThreads / 32 * kStepRows;
static_assert(kState == 32 * 4, "a lane has four columns");

/// The only token of a sequence, for rows of the state of a head.
__global__ void __launch_bounds__(kStepThreads) step(Problem problem) {
  constexpr unsigned kParts = kHead / kStepBlockRows;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int64_t head = blockIdx.x / kParts, b = blockIdx.y;
  int64_t group = head / (problem.heads / problem.groups);
  int firstRow = int(blockIdx.x % kParts) * kStepBlockRows + warp * kStepRows;
  int64_t at = b * problem.heads + head;
  int64_t offset = (at * kHead + firstRow) * kState + lane * 4;
  float4 state[kStepRows];
#pragma unroll
  for (int i = 0; i < kStepRows; ++i)
    state[i] = __ldcs(reinterpret_cast<const float4 *>(problem.initial +
                                                       offset + i * kState));
  int64_t inGroup = (b * problem.groups + group) * kState + lane * 4;
  uint2 bWords = *reinterpret_cast<const uint2 *>(problem.B + inGroup);
  uint2 cWords = *reinterpret_cast<const uint2 *>(problem.C + inGroup);
  float2 b0 = unpackBf16(bWords.x), b1 = unpackBf16(bWords.y);
  float2 c0 = unpackBf16(cWords.x), c1 = unpackBf16(cWords.y);
  float size = getStep(__bfloat162float(problem.dt[at]) + problem.bias[head]);
  float decay = exp2Fast(size * problem.A[head] * kLog2E);
#pragma unroll
  for (int i = 0; i < kStepRows; ++i) {
    float x = __bfloat162float(problem.x[at * kHead + firstRow + i]);
    float4 next = state[i];
    next.x = next.x * decay + size * x * b0.x;
    next.y = next.y * decay + size * x * b0.y;
    next.z = next.z * decay + size * x * b1.x;
    next.w = next.w * decay + size * x * b1.y;
    __stcs(reinterpret_cast<float4 *>(problem.finalState + offset + i * kState),
           next);
    float sum = next.x * c0.x + next.y * c0.y + next.z * c1.x + next.w * c1.y;
#pragma unroll
    for (int distance = 16; distance; distance /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane == 0)
      problem.y[at * kHead + firstRow + i] =
          __float2bfloat16_rn(sum + problem.D[head] * x);
  }
}

const char *identity = "hand-written, not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return identity; }

extern "C" int d2k_mamba2_ssd_scan(const d2k_mamba2_ssd_scan_args *args,
                                   void *workspace, size_t workspace_bytes,
                                   cudaStream_t stream) {
  Problem problem = {};
  problem.x = static_cast<const Bf16 *>(args->x);
  problem.dt = static_cast<const Bf16 *>(args->dt);
  problem.B = static_cast<const Bf16 *>(args->B);
  problem.C = static_cast<const Bf16 *>(args->C);
  problem.bias = args->dt_bias;
  problem.A = args->A;
  problem.D = args->D;
  problem.initial = args->initial_state;
  problem.y = static_cast<Bf16 *>(args->y);
  problem.finalState = args->final_state;
  problem.tokens = args->T;
  problem.heads = args->H;
  problem.groups = args->G;
  if (args->batch > 65535 || args->H > 65535)
    return cudaErrorInvalidValue;
  auto batch = unsigned(args->batch), heads = unsigned(args->H);
  if (args->T == 1) {
    identity = "one kernel, a token a sequence, hand-written";
    step<<<dim3(heads * (kHead / kStepBlockRows), batch), kStepThreads, 0,
           stream>>>(problem);
    return cudaGetLastError();
  }
  identity = "five kernels over chunks of 256 tokens, mma.sync, hand-written";
  problem.chunks = (args->T + kTokens - 1) / kTokens;
  int64_t chunks = args->batch * problem.chunks;
  int64_t headChunks = chunks * args->H;
  problem.steps = static_cast<float *>(workspace);
  problem.sums = problem.steps + headChunks * kTokens;
  problem.products = problem.sums + headChunks * kTokens;
  problem.added = problem.products + chunks * args->G * kTokens * kTokens;
  problem.before =
      reinterpret_cast<Bf16 *>(problem.added + headChunks * kHead * kState);
  size_t needed = size_t(chunks) * size_t(args->H * 51200 + args->G * 262144);
  if (workspace_bytes < needed || problem.chunks > 65535 ||
      args->batch * args->G > 65535)
    return cudaErrorInvalidValue;
  for (auto [kernel, bytes] :
       {std::pair<void (*)(Problem), int>{addChunk, kAddShared},
        std::pair<void (*)(Problem), int>{computeOutputs, kOutputShared}})
    if (cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))
      return error;

  auto perSequence = unsigned(problem.chunks);
  sumSteps<<<dim3((heads + kSumHeads - 1) / kSumHeads, perSequence, batch),
             kSumThreads, 0, stream>>>(problem);
  multiplyCB<<<dim3(kTokens / kTile, perSequence, batch * unsigned(args->G)),
               kThreads, 0, stream>>>(problem);
  addChunk<<<dim3(heads, perSequence, batch), kAddThreads, kAddShared,
             stream>>>(problem);
  passStates<<<dim3(kHead * kState / 1024, heads, batch), 256, 0, stream>>>(
      problem);
  computeOutputs<<<dim3(heads * (kTokens / kOutputTile), perSequence, batch),
                   kOutputThreads, kOutputShared, stream>>>(problem);
  return cudaGetLastError();
}
