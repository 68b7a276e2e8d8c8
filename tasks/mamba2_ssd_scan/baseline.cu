// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of mamba2_ssd_scan, written by hand: a kernel that goes over
// chunks of 64 tokens with the state in registers, a block a head of a sequence
// or, where there are few heads, a block a segment of that; what segments add
// to the state comes from a kernel before it. Nothing but x, y, B and C goes
// through memory, and these once a head and kernel. A single token is a kernel
// of its own that reads and writes the state once. Products are mma.sync on
// bf16, accesses 16 bytes wide where layouts let them.

#include "d2k_mamba2_ssd_scan.h"

#include "d2k/Baseline/Device.h"
#include "d2k/Baseline/MmaSync.cuh"

#include <algorithm>

namespace {

using namespace d2k::baseline;

constexpr int kHead = D2K_MAMBA2_SSD_SCAN_P;
constexpr int kState = D2K_MAMBA2_SSD_SCAN_N;
/// Tokens of a chunk, and rows of the state: 16 a warp.
constexpr int kTokens = 64;
constexpr int kThreads = 128;
static_assert(kTokens == kThreads / 32 * 16 && kHead == kTokens,
              "a warp has 16 tokens of y and 16 rows of the state");
constexpr float kLog2E = 1.44269504f;

struct Problem {
  const Bf16 *x, *dt, *B, *C;
  const float *bias, *A, *D, *initial;
  Bf16 *y;
  float *finalState;
  int64_t tokens, heads, groups;
  /// Sequences are cut into segments of so many chunks. Of each but the last,
  /// what it adds to the state that it begins with, [sequences, heads, segments
  /// - 1, kHead, kState], and the sum of its steps * A * log2(e).
  int64_t segments, segmentChunks;
  float *added, *sums;

  __device__ int64_t getSegment(int64_t sequence, int64_t head,
                                int64_t segment) const {
    return (sequence * heads + head) * (segments - 1) + segment;
  }
};

/// softplus.
__device__ float getStep(float raw) {
  return fmaxf(raw, 0.0f) + log1pf(__expf(-fabsf(raw)));
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// What the tokens of a chunk are multiplied by.
struct Factors {
  /// Steps, and sums of step * A * log2(e) from the chunk's beginning.
  float steps[kTokens], sums[kTokens];
  /// exp(sum_end - sum_t) * step_t: the weight of token t in the next state.
  float weights[kTokens];
};

struct ScanMemory {
  Bf16 x[2][kTokens * kHead], B[2][kTokens * kState], C[2][kTokens * kState];
  /// The state before the chunk.
  Bf16 before[kHead * kState];
  Factors factors[2];
};

/// A warp's two raw steps a lane become the factors of a chunk. Beyond the end
/// steps are 0: nothing decays and nothing is added.
__device__ void computeFactors(Factors &factors, const float (&steps)[2],
                               float rate) {
  int lane = int(threadIdx.x) % 32;
  float first = steps[0] * rate;
  float own = first + steps[1] * rate, total = own;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    float other = __shfl_up_sync(0xffffffffu, total, distance);
    total += lane >= distance ? other : 0.0f;
  }
  float offset = __shfl_up_sync(0xffffffffu, total, 1);
  offset = lane == 0 ? 0.0f : offset;
  float end = __shfl_sync(0xffffffffu, total, 31);
  float sums[2] = {offset + first, offset + own};
  // The last sum is then the end in all bits.
  if (lane == 31)
    sums[1] = end;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    factors.steps[2 * lane + i] = steps[i];
    factors.sums[2 * lane + i] = sums[i];
    factors.weights[2 * lane + i] = exp2Fast(end - sums[i]) * steps[i];
  }
}

/// The chunks of a head of a sequence, as a block reads them.
struct Chunks {
  const Bf16 *x, *B, *C, *dt;
  int64_t xStride, groupStride, heads, tokens;
  float bias, rate;
  /// Raw steps: what a lane reads long before it needs them.
  Bf16 raw[2];

  __device__ Chunks(const Problem &problem, int64_t head, int64_t sequence)
      : xStride(problem.heads * kHead), groupStride(problem.groups * kState),
        heads(problem.heads), tokens(problem.tokens), bias(problem.bias[head]),
        rate(problem.A[head] * kLog2E) {
    int64_t group = head / (problem.heads / problem.groups);
    x = problem.x + sequence * tokens * xStride + head * kHead;
    int64_t offset = sequence * tokens * groupStride + group * kState;
    B = problem.B + offset;
    C = problem.C + offset;
    dt = problem.dt + sequence * tokens * heads + head;
  }

  /// Tokens of a chunk.
  __device__ int getCount(int64_t chunk) const {
    int64_t left = tokens - chunk * kTokens;
    return left < kTokens ? int(left) : kTokens;
  }
  __device__ void issueX(Bf16 *to, int64_t chunk) const {
    SharedMatrix<kHead>{to}.copyFrom<kTokens, kThreads>(
        x + chunk * kTokens * xStride, xStride, getCount(chunk));
  }
  /// Of B or C.
  __device__ void issueGroup(Bf16 *to, const Bf16 *from, int64_t chunk) const {
    SharedMatrix<kState>{to}.copyFrom<kTokens, kThreads>(
        from + chunk * kTokens * groupStride, groupStride, getCount(chunk));
  }
  __device__ void readSteps(int64_t chunk) {
    int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int64_t t = chunk * kTokens + 2 * lane + i;
      if (t < tokens)
        raw[i] = dt[t * heads];
    }
  }
  __device__ void writeFactors(Factors &factors, int64_t chunk) const {
    int lane = int(threadIdx.x) % 32;
    float steps[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      steps[i] = chunk * kTokens + 2 * lane + i < tokens
                     ? getStep(__bfloat162float(raw[i]) + bias)
                     : 0.0f;
    computeFactors(factors, steps, rate);
  }
};

/// A warp's 16 rows of the state: rows 16 * warp + lane / 4 (and + 8), columns
/// 8 * n + lane % 4 * 2 (and + 1).
struct State {
  float values[kState / 8][4];

  static __device__ int getPlace(int n, int half) {
    int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    return (warp * 16 + lane / 4 + half * 8) * kState + n * 8 + lane % 4 * 2;
  }
  /// Calls \p use with each pair and where it is in a matrix.
  template <typename Use>
  __device__ void forAllPairs(const Use &use) {
#pragma unroll
    for (int n = 0; n < kState / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        use(values[n][2 * half], values[n][2 * half + 1], getPlace(n, half));
  }
  __device__ void store(float *to) {
    forAllPairs([&](float first, float second, int at) {
      *reinterpret_cast<float2 *>(to + at) = make_float2(first, second);
    });
  }
  /// Times \p decay, plus what is at \p from.
  __device__ void decayAndAdd(float decay, const float *from) {
    forAllPairs([&](float &first, float &second, int at) {
      float2 two = *reinterpret_cast<const float2 *>(from + at);
      first = first * decay + two.x;
      second = second * decay + two.y;
    });
  }
  /// The state after a chunk.
  __device__ void addChunk(const Factors &factors, SharedMatrix<kHead> x,
                           SharedMatrix<kState> b) {
    int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
    float decay = exp2Fast(factors.sums[kTokens - 1]);
#pragma unroll
    for (int n = 0; n < kState / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        values[n][i] *= decay;
    uint32_t laneOwnX = x.getLaneB(0), laneAdded = b.getLaneTransposedB(0);
#pragma unroll
    for (int s = 0; s < kTokens; s += 16) {
      // Rows are the columns of x, and columns its tokens.
      uint32_t a[4];
      x.loadTransposedA(a, laneOwnX, s, warp);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 weights = *reinterpret_cast<const float2 *>(
            factors.weights + s + half * 8 + lane % 4 * 2);
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          float2 wide = unpackBf16(a[i]);
          a[i] = packBf16(wide.x * weights.x, wide.y * weights.y);
        }
      }
#pragma unroll
      for (int pair = 0; pair < kState / 16; ++pair) {
        uint32_t operand[4];
        b.loadTransposedB(operand, laneAdded, s, pair);
        multiply(values[2 * pair], a, operand[0], operand[1]);
        multiply(values[2 * pair + 1], a, operand[2], operand[3]);
      }
    }
  }
};

struct SegmentMemory {
  Bf16 x[2][kTokens * kHead], B[2][kTokens * kState];
  Factors factors[2];
};

/// What a segment adds to the state; a block a segment of a head of a sequence.
__global__ void __launch_bounds__(kThreads, 4) addSegment(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  SegmentMemory &memory = *reinterpret_cast<SegmentMemory *>(shared);
  int warp = int(threadIdx.x) / 32;
  int64_t head = blockIdx.x, sequence = blockIdx.y, segment = blockIdx.z;
  Chunks from(problem, head, sequence);
  int64_t chunk = segment * problem.segmentChunks;
  int64_t end = chunk + problem.segmentChunks;
  auto issue = [&](int64_t chunk) {
    from.issueX(memory.x[chunk % 2], chunk);
    from.issueGroup(memory.B[chunk % 2], from.B, chunk);
  };
  issue(chunk);
  State state = {};
  float sum = 0;
  if (warp == 0) {
    from.readSteps(chunk);
    from.writeFactors(memory.factors[chunk % 2], chunk);
  }
  for (; chunk < end; ++chunk) {
    waitForCopies();
    __syncthreads();
    bool isTurn = warp == int(chunk % (kThreads / 32)) && chunk + 1 < end;
    if (chunk + 1 < end)
      issue(chunk + 1);
    if (isTurn)
      from.readSteps(chunk + 1);
    const Factors &factors = memory.factors[chunk % 2];
    state.addChunk(factors, {memory.x[chunk % 2]}, {memory.B[chunk % 2]});
    sum += factors.sums[kTokens - 1];
    if (isTurn)
      from.writeFactors(memory.factors[(chunk + 1) % 2], chunk + 1);
  }
  int64_t at = problem.getSegment(sequence, head, segment);
  state.store(problem.added + at * kHead * kState);
  if (threadIdx.x == 0)
    problem.sums[at] = sum;
}

/// A block a segment of a head of a sequence. Warp w has the rows 16 w.. of the
/// state, and of each chunk the outputs of the tokens 16 w..
__global__ void __launch_bounds__(kThreads, 2) scan(Problem problem) {
  extern __shared__ __align__(128) uint8_t shared[];
  ScanMemory &memory = *reinterpret_cast<ScanMemory *>(shared);
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  int64_t head = blockIdx.x, sequence = blockIdx.y;
  int64_t segment = blockIdx.z;
  Chunks from(problem, head, sequence);
  float D = problem.D[head];
  int64_t begin = segment * problem.segmentChunks;
  int64_t end = min(begin + problem.segmentChunks,
                    (problem.tokens + kTokens - 1) / kTokens);
  auto issue = [&](int64_t chunk) {
    from.issueGroup(memory.B[chunk % 2], from.B, chunk);
    from.issueGroup(memory.C[chunk % 2], from.C, chunk);
    from.issueX(memory.x[chunk % 2], chunk);
  };
  issue(begin);
  int64_t stateOffset = (sequence * problem.heads + head) * kHead * kState;
  State state = {};
  state.decayAndAdd(0, problem.initial + stateOffset);
  for (int64_t i = 0; i < segment; ++i) {
    int64_t at = problem.getSegment(sequence, head, i);
    state.decayAndAdd(exp2Fast(problem.sums[at]),
                      problem.added + at * kHead * kState);
  }
  if (warp == 0) {
    from.readSteps(begin);
    from.writeFactors(memory.factors[begin % 2], begin);
  }
  SharedMatrix<kState> before = {memory.before};
  uint32_t laneBefore = before.getLaneB(0);
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    // The state before the chunk is an operand for all warps.
#pragma unroll
    for (int n = 0; n < kState / 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        storePair(
            before.at(warp * 16 + lane / 4 + half * 8, n) + lane % 4 * 2,
            packBf16(state.values[n][2 * half], state.values[n][2 * half + 1]));
    waitForCopies();
    __syncthreads();
    if (chunk + 1 < end)
      issue(chunk + 1);
    // The warps take turns with the factors of the next chunk.
    bool isTurn = warp == int(chunk % (kThreads / 32)) && chunk + 1 < end;
    if (isTurn)
      from.readSteps(chunk + 1);
    SharedMatrix<kState> b = {memory.B[chunk % 2]}, c = {memory.C[chunk % 2]};
    SharedMatrix<kHead> x = {memory.x[chunk % 2]};
    const Factors &factors = memory.factors[chunk % 2];

    // From the state: C S^T with the decay from the chunk's beginning.
    uint32_t ownC[kState / 16][4];
    uint32_t laneC = c.getLaneA(warp * 16);
#pragma unroll
    for (int k = 0; k < kState / 16; ++k)
      c.loadA(ownC[k], laneC, 0, k);
    float result[kHead / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kState / 16; ++k)
#pragma unroll
      for (int pair = 0; pair < kHead / 16; ++pair) {
        uint32_t operand[4];
        before.loadB(operand, laneBefore, pair * 16, k);
        multiply(result[2 * pair], ownC[k], operand[0], operand[1]);
        multiply(result[2 * pair + 1], ownC[k], operand[2], operand[3]);
      }
    int rows[2] = {warp * 16 + lane / 4, warp * 16 + lane / 4 + 8};
    float rowSums[2] = {factors.sums[rows[0]], factors.sums[rows[1]]};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float decay = exp2Fast(rowSums[half]);
#pragma unroll
      for (int column = 0; column < kHead / 8; ++column) {
        result[column][2 * half] *= decay;
        result[column][2 * half + 1] *= decay;
      }
    }

    // From the chunk's own tokens up to the row's: C B^T, weighted, with x. An
    // accumulator of the first product is an operand of the second.
    uint32_t laneB = b.getLaneB(0), laneX = x.getLaneTransposedB(0);
    for (int s = 0; s <= warp * 16; s += 16) {
      float products[2][4] = {};
#pragma unroll
      for (int k = 0; k < kState / 16; ++k) {
        uint32_t operand[4];
        b.loadB(operand, laneB, s, k);
        multiply(products[0], ownC[k], operand[0], operand[1]);
        multiply(products[1], ownC[k], operand[2], operand[3]);
      }
      uint32_t a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int row = rows[i % 2], column = s + i / 2 * 8 + lane % 4 * 2;
        float weights[2];
#pragma unroll
        for (int j = 0; j < 2; ++j)
          // The difference of what is not seen is above 0, and may be large.
          weights[j] =
              column + j <= row
                  ? products[i / 2][i % 2 * 2 + j] *
                        exp2Fast(rowSums[i % 2] - factors.sums[column + j]) *
                        factors.steps[column + j]
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

    state.addChunk(factors, x, b);

    // Rows of 16 bytes go out through this warp's own rows of C.
    SharedMatrix<kState> out = c;
    __syncwarp();
#pragma unroll
    for (int column = 0; column < kHead / 8; ++column)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float2 value = unpackBf16(*reinterpret_cast<const uint32_t *>(
            x.at(rows[half], column) + lane % 4 * 2));
        storePair(out.at(rows[half], column) + lane % 4 * 2,
                  packBf16(result[column][2 * half] + D * value.x,
                           result[column][2 * half + 1] + D * value.y));
      }
    __syncwarp();
    int64_t token = sequence * problem.tokens + chunk * kTokens;
    int count = from.getCount(chunk);
    for (int i = lane; i < 16 * (kHead / kChunk); i += 32) {
      int row = warp * 16 + i / (kHead / kChunk), place = i % (kHead / kChunk);
      if (row < count)
        *reinterpret_cast<uint4 *>(problem.y + (token + row) * from.xStride +
                                   head * kHead + place * kChunk) =
            *reinterpret_cast<const uint4 *>(out.at(row, place));
    }
    if (isTurn)
      from.writeFactors(memory.factors[(chunk + 1) % 2], chunk + 1);
    // All have read the state before the chunk.
    __syncthreads();
  }
  if (segment == problem.segments - 1)
    state.store(problem.finalState + stateOffset);
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

/// Blocks an SM that sequences are cut for, and the least chunks of a segment.
constexpr int64_t kBlocks = 4, kLeastChunks = 2;

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
  // Segments where each SM has no more than one head, and as many as there is
  // memory for.
  int processors = 0;
  if (int error = countMultiprocessors(processors))
    return error;
  int64_t chunks = (args->T + kTokens - 1) / kTokens;
  int64_t blocks = args->batch * args->H;
  int64_t most = blocks <= processors ? kBlocks * processors / blocks : 1;
  constexpr int64_t kBytes = (kHead * kState + 1) * int64_t(sizeof(float));
  most = std::min(most, 1 + int64_t(workspace_bytes) / (blocks * kBytes));
  most = std::max<int64_t>(std::min(most, chunks / kLeastChunks), 1);
  problem.segmentChunks = (chunks + most - 1) / most;
  problem.segments =
      (chunks + problem.segmentChunks - 1) / problem.segmentChunks;
  int64_t states = blocks * (problem.segments - 1);
  problem.added = static_cast<float *>(workspace);
  problem.sums = problem.added + states * kHead * kState;
  auto launch = [&](auto *kernel, int64_t segments, size_t bytes) -> int {
    if (segments == 0)
      return cudaSuccess;
    if (int error = allowShared(kernel, bytes))
      return error;
    kernel<<<dim3(heads, batch, unsigned(segments)), kThreads, bytes, stream>>>(
        problem);
    return cudaGetLastError();
  };
  identity = "states of segments, then all chunks of 64 tokens, mma.sync, "
             "hand-written";
  if (int error =
          launch(addSegment, problem.segments - 1, sizeof(SegmentMemory)))
    return error;
  return launch(scan, problem.segments, sizeof(ScanMemory));
}
