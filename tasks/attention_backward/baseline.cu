// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of attention_backward: FlashAttention-2's backward pass. A block
// has 128 keys of a query head and walks along the queries that see them, 64 at
// a time: scores and their gradients come out with keys as rows, so that the
// products into dV and dK take them from registers; dS goes through shared
// memory to the product into dQ. Sums over blocks and heads are fp32 atomics
// into the workspace, which a last kernel rounds. No library. Products are
// wgmma where the chip has it, fed by tensor copies of a producer warp, with
// sums for dQ that are added from shared memory in bulk; elsewhere they are
// mma.sync, which leaves a part of the matrix rate of sm_100a unused.

#include "d2k_attention_backward.h"

#include "d2k/Baseline/MmaSync.cuh"
#include "d2k/Baseline/TensorRing.cuh"

#include <cmath>

using namespace d2k::baseline;

namespace {

constexpr int kKeys = 128;
constexpr int kQueries = 64;
constexpr int kThreads = 256;
constexpr float kLog2e = 1.4426950408889634f;

struct Problem {
  const Bf16 *q, *k, *v, *gradientO;
  const float *lse;
  /// Workspace: sums, and [headsQ, tokens] of dO * O.
  float *sumQ, *sumK, *sumV, *delta;
  int length, headsQ, headsK;
  /// Heads whose blocks run together.
  int group;
  int64_t tokens;
  float scale;
};

template <int kWidth>
constexpr int getSharedBytes() {
  return (2 * kKeys + 4 * kQueries) * kWidth * int(sizeof(Bf16)) +
         kKeys * kQueries * int(sizeof(Bf16)) +
         4 * kQueries * int(sizeof(float));
}

/// Adds to two numbers that lie side by side.
__device__ void addPair(float *to, float first, float second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float2 *>(to), make_float2(first, second));
#else
  atomicAdd(to, first);
  atomicAdd(to + 1, second);
#endif
}

/// delta[head, token] = sum of dO * O. A warp a row.
template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    sumRows(const Bf16 *gradientO, const Bf16 *o, float *delta, int64_t tokens,
            int heads) {
  int64_t row = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (row >= tokens * heads)
    return;
  int lane = int(threadIdx.x) % 32;
  constexpr int kPerLane = kWidth / 32;
  using Words = typename std::conditional<kPerLane == 4, uint2, uint32_t>::type;
  Words a = reinterpret_cast<const Words *>(gradientO + row * kWidth)[lane];
  Words b = reinterpret_cast<const Words *>(o + row * kWidth)[lane];
  Bf16 x[kPerLane], y[kPerLane];
  memcpy(x, &a, sizeof(a));
  memcpy(y, &b, sizeof(b));
  float sum = 0;
  for (int i = 0; i < kPerLane; ++i)
    sum += __bfloat162float(x[i]) * __bfloat162float(y[i]);
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (lane == 0)
    delta[row % heads * tokens + row / heads] = sum;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads, 1) differentiate(Problem p) {
  int key0 = int(blockIdx.x) * kKeys, head = int(blockIdx.y);
  int headK = head / (p.headsQ / p.headsK);
  int64_t begin = int64_t(blockIdx.z) * p.length;
  int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;

  extern __shared__ __align__(128) unsigned char sharedMemory[];
  SharedMatrix<kWidth> sharedK = {reinterpret_cast<Bf16 *>(sharedMemory)};
  SharedMatrix<kWidth> sharedV = {sharedK.data + kKeys * kWidth};
  // Two stages of Q and dO.
  SharedMatrix<kWidth> sharedQ = {sharedV.data + kKeys * kWidth};
  SharedMatrix<kWidth> sharedG = {sharedQ.data + 2 * kQueries * kWidth};
  SharedMatrix<kQueries> sharedS = {sharedG.data + 2 * kQueries * kWidth};
  // [stage][LSE, delta][query]
  float *sharedRows =
      reinterpret_cast<float *>(sharedS.data + kKeys * kQueries);
  constexpr uint32_t kStageBytes = kQueries * kWidth * sizeof(Bf16);

  int64_t strideQ = int64_t(p.headsQ) * kWidth;
  int64_t strideK = int64_t(p.headsK) * kWidth;
  const Bf16 *queries = p.q + begin * strideQ + head * kWidth;
  const Bf16 *gradients = p.gradientO + begin * strideQ + head * kWidth;
  int64_t firstK = (begin + key0) * strideK + headK * kWidth;
  sharedK.template copyFrom<kKeys, kThreads>(p.k + firstK, strideK,
                                             p.length - key0);
  sharedV.template copyFrom<kKeys, kThreads>(p.v + firstK, strideK,
                                             p.length - key0);
  auto copyQueries = [&](int query0, int stage) {
    SharedMatrix<kWidth> toQ = {sharedQ.data + stage * kQueries * kWidth};
    SharedMatrix<kWidth> toG = {sharedG.data + stage * kQueries * kWidth};
    toQ.template copyFrom<kQueries, kThreads>(queries + query0 * strideQ,
                                              strideQ, p.length - query0);
    toG.template copyFrom<kQueries, kThreads>(gradients + query0 * strideQ,
                                              strideQ, p.length - query0);
  };
  // LSE in base 2 (threads 0 to 63) or delta (64 to 127) of a query. Beyond
  // the last one the probability is 2^-infinity.
  auto loadRow = [&](int query0) -> float {
    int query = query0 + int(threadIdx.x) % kQueries;
    bool isLse = threadIdx.x < kQueries;
    if (threadIdx.x >= 2 * kQueries)
      return 0;
    if (query >= p.length)
      return isLse ? INFINITY : 0;
    int64_t at = head * p.tokens + begin + query;
    return isLse ? p.lse[at] * kLog2e : p.delta[at];
  };

  uint32_t laneK = sharedK.getLaneA(warp * 16);
  uint32_t laneV = sharedV.getLaneA(warp * 16);
  uint32_t laneQ = sharedQ.getLaneB(0), laneG = sharedG.getLaneB(0);
  uint32_t laneQT = sharedQ.getLaneTransposedB(0);
  uint32_t laneGT = sharedG.getLaneTransposedB(0);
  // For dQ: 16 queries and half of the columns a warp.
  uint32_t laneS = sharedS.getLaneB(0);
  uint32_t laneKT = sharedK.getLaneTransposedB(0);
  int rowQ = warp % 4, halfQ = warp / 4;

  float sumK[kWidth / 8][4] = {}, sumV[kWidth / 8][4] = {};
  float scale2 = p.scale * kLog2e;
  int stage = 0;
  // Keys are seen by the queries from their own position on.
  copyQueries(key0, 0);
  float row = loadRow(key0);
  for (int query0 = key0; query0 < p.length; query0 += kQueries) {
    float *rows = sharedRows + stage * 2 * kQueries;
    if (threadIdx.x < 2 * kQueries)
      rows[threadIdx.x] = row;
    waitForCopies();
    __syncthreads(); // All is there; nobody reads the other stage or dS.
    if (query0 + kQueries < p.length) {
      copyQueries(query0 + kQueries, 1 - stage);
      row = loadRow(query0 + kQueries);
    }
    uint32_t offset = uint32_t(stage) * kStageBytes;

    // 16 keys x 64 queries: scores, and gradients of the probabilities.
    float s[kQueries / 8][4] = {}, g[kQueries / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k) {
      uint32_t a[4], c[4];
      sharedK.loadA(a, laneK, 0, k);
      sharedV.loadA(c, laneV, 0, k);
#pragma unroll
      for (int n = 0; n < kQueries / 16; ++n) {
        uint32_t b[4];
        sharedQ.loadB(b, laneQ + offset, 16 * n, k);
        multiply(s[2 * n], a, b[0], b[1]);
        multiply(s[2 * n + 1], a, b[2], b[3]);
        sharedG.loadB(b, laneG + offset, 16 * n, k);
        multiply(g[2 * n], c, b[0], b[1]);
        multiply(g[2 * n + 1], c, b[2], b[3]);
      }
    }
    bool isPartial = query0 < key0 + kKeys - 1;
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      int column = 8 * n + lane % 4 * 2;
      float2 lse = *reinterpret_cast<const float2 *>(rows + column);
      float2 delta =
          *reinterpret_cast<const float2 *>(rows + kQueries + column);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float probability =
            exp2Fast(fmaf(s[n][i], scale2, i % 2 == 0 ? -lse.x : -lse.y));
        int key = key0 + warp * 16 + lane / 4 + i / 2 * 8;
        if (isPartial && key > query0 + column + i % 2)
          probability = 0;
        s[n][i] = probability;
        g[n][i] = probability * (g[n][i] - (i % 2 == 0 ? delta.x : delta.y));
      }
      int rowS = warp * 16 + lane / 4;
      *reinterpret_cast<uint32_t *>(sharedS.at(rowS, n) + lane % 4 * 2) =
          packBf16(g[n][0], g[n][1]);
      *reinterpret_cast<uint32_t *>(sharedS.at(rowS + 8, n) + lane % 4 * 2) =
          packBf16(g[n][2], g[n][3]);
    }

    // dV += P dO, dK += dS Q.
#pragma unroll
    for (int k = 0; k < kQueries / 16; ++k) {
      uint32_t a[4], c[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int n = 2 * k + i / 2, first = i % 2 * 2;
        a[i] = packBf16(s[n][first], s[n][first + 1]);
        c[i] = packBf16(g[n][first], g[n][first + 1]);
      }
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n) {
        uint32_t b[4];
        sharedG.loadTransposedB(b, laneGT + offset, 16 * k, n);
        multiply(sumV[2 * n], a, b[0], b[1]);
        multiply(sumV[2 * n + 1], a, b[2], b[3]);
        sharedQ.loadTransposedB(b, laneQT + offset, 16 * k, n);
        multiply(sumK[2 * n], c, b[0], b[1]);
        multiply(sumK[2 * n + 1], c, b[2], b[3]);
      }
    }
    __syncthreads(); // dS is there.

    // dQ += dS^T K over all keys of the block.
    float dq[kWidth / 16][4] = {};
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      uint32_t a[4];
      sharedS.loadTransposedA(a, laneS, 16 * k, rowQ);
#pragma unroll
      for (int n = 0; n < kWidth / 32; ++n) {
        uint32_t b[4];
        sharedK.loadTransposedB(b, laneKT, 16 * k, halfQ * (kWidth / 32) + n);
        multiply(dq[2 * n], a, b[0], b[1]);
        multiply(dq[2 * n + 1], a, b[2], b[3]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int query = query0 + rowQ * 16 + lane / 4 + 8 * half;
      if (query >= p.length)
        continue;
      float *to = p.sumQ + (begin + query) * strideQ + head * kWidth +
                  halfQ * (kWidth / 2) + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < kWidth / 16; ++n)
        addPair(to + 8 * n, dq[n][2 * half], dq[n][2 * half + 1]);
    }
    stage = 1 - stage;
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int key = warp * 16 + lane / 4 + 8 * half;
    if (key0 + key >= p.length)
      continue;
    int64_t at = firstK + key * strideK + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kWidth / 8; ++n) {
      addPair(p.sumK + at + 8 * n, sumK[n][2 * half], sumK[n][2 * half + 1]);
      addPair(p.sumV + at + 8 * n, sumV[n][2 * half], sumV[n][2 * half + 1]);
    }
  }
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Two warpgroups with 64 keys each, and a producer.
template <int kWidth>
struct WideShape {
  static constexpr int kThreads = 3 * 128;
  static constexpr int kStages = 2;
  /// A box of a tensor copy has 64 columns.
  static constexpr int kBoxes = kWidth / 64;
  static constexpr int kBoxK = kKeys * 128, kBoxQ = kQueries * 128;
  static constexpr int kBytesK = kBoxes * kBoxK, kBytesQ = kBoxes * kBoxQ;
  static constexpr int kBytesS = kKeys * kQueries * int(sizeof(Bf16));
  /// Sums of a warpgroup for dQ, 64 queries and 64 columns: boxes of 32.
  static constexpr int kBoxSums = kQueries * 128, kBytesSums = 2 * kBoxSums;
  static constexpr int kBarriers = 2 * 2 + 2 * 2 * kStages;
  static constexpr int kRows = 2 * 2 * kQueries * int(sizeof(float));
  /// 1024 bytes to align, the period of the swizzle.
  static constexpr int kBytes = 1024 + 2 * kBytesK + 2 * kStages * kBytesQ +
                                2 * kBytesS + 2 * kBytesSums + kRows +
                                kBarriers * 8;
};

/// What the L2 is to hold of queries, their gradients and sums for a group of
/// heads.
constexpr int64_t kGroupBytes = 32 << 20;

/// Barriers of both warpgroups, dS is there, and of each: its sums are there.
enum Barrier { GradientsReady = 1, SumsReady };

template <int kWidth>
__global__ void __launch_bounds__(WideShape<kWidth>::kThreads, 1)
    differentiateWide(const __grid_constant__ CUtensorMap mapQ,
                      const __grid_constant__ CUtensorMap mapK,
                      const __grid_constant__ CUtensorMap mapV,
                      const __grid_constant__ CUtensorMap mapG,
                      const __grid_constant__ CUtensorMap mapSums,
                      const __grid_constant__ Problem p) {
#if D2K_HAS_WGMMA
  using Shape = WideShape<kWidth>;
  constexpr int kBoxes = Shape::kBoxes, kStages = Shape::kStages;
  constexpr unsigned kAll = 0xffffffffu;
  // 384 threads begin with 168 registers each; 128 * 24 + 256 * 240 = 64512.
  constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
  // Heads in groups whose operands and sums the L2 holds; in a group all blocks
  // with the first keys come first, because most queries see them.
  int blocks = (p.length + kKeys - 1) / kKeys;
  int first = int(blockIdx.x) / (p.group * blocks) * p.group;
  int inGroup = min(p.group, int(gridDim.x) / blocks - first);
  int place = int(blockIdx.x) - first * blocks;
  int key0 = place / inGroup * kKeys;
  int headOfAll = first + place % inGroup, head = headOfAll % p.headsQ;
  int headK = head / (p.headsQ / p.headsK);
  int64_t begin = int64_t(headOfAll / p.headsQ) * p.length;

  extern __shared__ uint8_t shared[];
  uint32_t base = (getSharedAddress(shared) + 1023) & ~1023u;
  constexpr int kOffsetQ = 2 * Shape::kBytesK;
  constexpr int kOffsetS = kOffsetQ + 2 * kStages * Shape::kBytesQ;
  constexpr int kOffsetSums = kOffsetS + 2 * Shape::kBytesS;
  constexpr int kOffsetRows = kOffsetSums + 2 * Shape::kBytesSums;
  uint8_t *aligned = shared + (base - getSharedAddress(shared));
  // [tile % 2][LSE, delta][query]
  auto *sharedRows = reinterpret_cast<float *>(aligned + kOffsetRows);
  uint32_t barriers = base + kOffsetRows + Shape::kRows;
  TensorRing<1> ringK = {base, barriers, Shape::kBytesK};
  TensorRing<1> ringV = {base + Shape::kBytesK, barriers + 16, Shape::kBytesK};
  TensorRing<kStages> ringQ = {base + kOffsetQ, barriers + 32, Shape::kBytesQ};
  TensorRing<kStages> ringG = {ringQ.data + kStages * Shape::kBytesQ,
                               ringQ.full + 16 * kStages, Shape::kBytesQ};
  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(kAll, int(threadIdx.x) / 32, 0);
  int lane = int(threadIdx.x) % 32;
  if (warp == 0 && electOneLane()) {
    ringK.init(1); // Nobody gives them back.
    ringV.init(1);
    ringQ.init(8);
    ringG.init(8);
    fenceBarriers();
  }
  __syncthreads();

  if (warp < 4) {
    giveRegisters<kProducerRegisters>();
    if (warp == 0 && electOneLane()) {
      // Rows of the next sequence may come along: their probability is 0.
      int column = head * kWidth, firstRow = int(begin);
      ringK.template fill<kBoxes>(mapK, headK * kWidth, firstRow + key0);
      for (int query0 = key0; query0 < p.length; query0 += kQueries) {
        ringQ.template fill<kBoxes>(mapQ, column, firstRow + query0);
        if (query0 == key0)
          ringV.template fill<kBoxes>(mapV, headK * kWidth, firstRow + key0);
        ringG.template fill<kBoxes>(mapG, column, firstRow + query0);
      }
    }
    return;
  }

  takeRegisters<kConsumerRegisters>();
  int group = warp / 4 - 1, thread = int(threadIdx.x) - 128;
  int warpRow = warp % 4 * 16;
  // LSE in base 2 (threads 0 to 63) or delta (64 to 127) of a query. Beyond
  // the last one the probability is 2^-infinity.
  auto loadRow = [&](int query0) -> float {
    int query = query0 + thread % kQueries;
    bool isLse = thread < kQueries;
    if (thread >= 2 * kQueries)
      return 0;
    if (query >= p.length)
      return isLse ? INFINITY : 0;
    int64_t at = head * p.tokens + begin + query;
    return isLse ? p.lse[at] * kLog2e : p.delta[at];
  };
  auto storeRow = [&](int tile, float value) {
    if (thread < 2 * kQueries)
      sharedRows[tile % 2 * 2 * kQueries + thread] = value;
  };

  float sumK[kWidth / 2], sumV[kWidth / 2];
  float s[kQueries / 2], g[kQueries / 2];
  float scale2 = p.scale * kLog2e;
  // Starts 64 keys x 64 queries: scores, or gradients of the probabilities.
  auto multiplyRows = [&](float (&sums)[kQueries / 2], uint32_t rows,
                          uint32_t columns) {
    uint64_t x = describeOperand(rows + uint32_t(group * 64 * 128));
    uint64_t y = describeOperand(columns);
    pin(x);
#pragma unroll
    for (int i = 0; i < kWidth / 16; ++i)
      multiplyAsync(sums, x + uint64_t(i / 4 * (Shape::kBoxK / 16) + i % 4 * 2),
                    y + uint64_t(i / 4 * (Shape::kBoxQ / 16) + i % 4 * 2),
                    i > 0);
    commitProducts();
  };
  storeRow(0, loadRow(key0));
  ringK.wait();
  ringV.wait();
  meetAt(GradientsReady, 256);
  // Where this thread's sums of 8 columns go, and the swizzle of 128 bytes.
  uint8_t *sums = aligned + kOffsetSums + group * Shape::kBytesSums +
                  (warpRow + lane / 4) * 128 + lane % 2 * 8;
  int tile = 0;
  for (int query0 = key0; query0 < p.length; query0 += kQueries, ++tile) {
    bool isLast = query0 + kQueries >= p.length;
    float row = isLast ? 0 : loadRow(query0 + kQueries);
    ringQ.wait();
    fenceAccumulators();
    multiplyRows(s, ringK.getData(), ringQ.getData());
    ringG.wait();
    fenceAccumulators();
    multiplyRows(g, ringV.getData(), ringG.getData());
    waitForProductsBut<1>();
    pin(s);
    const float *rows = sharedRows + tile % 2 * 2 * kQueries;
    int position = key0 + group * 64 + warpRow + lane / 4 - query0;
    bool isPartial = query0 < key0 + kKeys - 1;
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      int column = 8 * n + lane % 4 * 2;
      float2 lse = *reinterpret_cast<const float2 *>(rows + column);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float &score = s[4 * n + i];
        score = exp2Fast(fmaf(score, scale2, i % 2 == 0 ? -lse.x : -lse.y));
        if (isPartial && position + i / 2 * 8 > column + i % 2)
          score = 0;
      }
    }
    uint32_t a[kQueries / 16][4], c[kQueries / 16][4];
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        a[i][r] = packBf16(s[8 * i + 2 * r], s[8 * i + 2 * r + 1]);
    pin(a);

    // dV += P dO, while dS is computed.
    uint64_t gradients = describeTransposed(ringG.getData(), Shape::kBoxQ);
    fenceAccumulators();
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i)
      multiplyAsync(sumV, a[i], gradients + uint64_t(i * 128),
                    tile > 0 || i > 0);
    commitProducts();
    waitForProductsBut<1>();
    pin(g);
    SharedMatrix<kQueries> sharedS = {reinterpret_cast<Bf16 *>(
        aligned + kOffsetS + tile % 2 * Shape::kBytesS)};
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      float2 delta = *reinterpret_cast<const float2 *>(rows + kQueries + 8 * n +
                                                       lane % 4 * 2);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        g[4 * n + i] =
            s[4 * n + i] * (g[4 * n + i] - (i % 2 == 0 ? delta.x : delta.y));
    }
    // Fragments of dS, which go to shared memory too.
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        c[i][r] = packBf16(g[8 * i + 2 * r], g[8 * i + 2 * r + 1]);
        storePair(sharedS.at(group * 64 + warpRow + lane / 4 + r % 2 * 8,
                             2 * i + r / 2) +
                      lane % 4 * 2,
                  c[i][r]);
      }
    storeRow(tile + 1, row);
    pin(c);
    fenceForProducts();
    // The last sums have left their place, too.
    if (thread % 128 == 0)
      waitForBulkReads();
    meetAt(GradientsReady, 256);

    // dQ += dS^T K: with 128 columns over all keys of the block, 64 columns a
    // warpgroup, else over the keys of the warpgroup.
    constexpr bool kIsSplit = kWidth == 128;
    float dq[32];
    uint64_t x = describeTransposed(
        base + uint32_t(kOffsetS) + uint32_t(tile % 2 * Shape::kBytesS) +
            uint32_t(kIsSplit ? 0 : group * 64 * 128),
        1024);
    uint64_t y = describeTransposed(
        ringK.getData() +
            uint32_t(group * (kIsSplit ? Shape::kBoxK : 64 * 128)),
        Shape::kBoxK);
    pin(y);
    fenceAccumulators();
#pragma unroll
    for (int i = 0; i < (kIsSplit ? kKeys : 64) / 16; ++i)
      multiplyTransposedAsync(dq, x + uint64_t(i * 128), y + uint64_t(i * 128),
                              i > 0);
    commitProducts();
    // dK += dS Q, while dQ is added.
    uint64_t queries = describeTransposed(ringQ.getData(), Shape::kBoxQ);
#pragma unroll
    for (int i = 0; i < kQueries / 16; ++i)
      multiplyAsync(sumK, c[i], queries + uint64_t(i * 128), tile > 0 || i > 0);
    commitProducts();
    waitForProductsBut<1>();
    pin(sumV);
    pin(dq);
    ringG.release();
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        *reinterpret_cast<float2 *>(
            sums + n / 4 * Shape::kBoxSums + half * 8 * 128 +
            ((n % 4 * 2 + lane % 4 / 2) ^ lane / 4) * 16) =
            make_float2(dq[4 * n + 2 * half], dq[4 * n + 2 * half + 1]);
    fenceForProducts();
    meetAt(SumsReady + group, 128);
    // Of rows beyond the last one nothing but zeros is added, to whatever is
    // there.
    if (thread % 128 == 0) {
#pragma unroll
      for (int box = 0; box < 2; ++box)
        addBox(mapSums, head * kWidth + (kIsSplit ? group * 64 : 0) + box * 32,
               int(begin) + query0,
               base + uint32_t(kOffsetSums + group * Shape::kBytesSums +
                               box * Shape::kBoxSums));
      commitBulk();
    }
    waitForProductsBut<0>();
    pin(sumK);
    ringQ.release();
  }
  if (thread % 128 == 0)
    waitForBulkReads();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int key = key0 + group * 64 + warpRow + lane / 4 + 8 * half;
    if (key >= p.length)
      continue;
    int64_t at = ((begin + key) * p.headsK + headK) * kWidth + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < kWidth / 8; ++n) {
      int i = 4 * n + 2 * half;
      addPair(p.sumK + at + 8 * n, sumK[i], sumK[i + 1]);
      addPair(p.sumV + at + 8 * n, sumV[i], sumV[i + 1]);
    }
  }
#endif
}

template <int kWidth>
int enqueueWide(const Problem &p, unsigned blocks, cudaStream_t stream) {
  using Shape = WideShape<kWidth>;
  CUtensorMap maps[4];
  const struct {
    const Bf16 *from;
    int heads, rows;
  } operands[] = {{p.q, p.headsQ, kQueries},
                  {p.k, p.headsK, kKeys},
                  {p.v, p.headsK, kKeys},
                  {p.gradientO, p.headsQ, kQueries}};
  for (int i = 0; i < 4; ++i)
    if (int error = describeMatrix(maps[i], operands[i].from, p.tokens,
                                   int64_t(operands[i].heads) * kWidth,
                                   operands[i].rows))
      return error;
  CUtensorMap mapSums;
  if (int error = describeSums(mapSums, p.sumQ, p.tokens,
                               int64_t(p.headsQ) * kWidth, kQueries))
    return error;
  auto *kernel = differentiateWide<kWidth>;
  if (int error = allowShared(kernel, Shape::kBytes))
    return error;
  kernel<<<blocks, Shape::kThreads, Shape::kBytes, stream>>>(
      maps[0], maps[1], maps[2], maps[3], mapSums, p);
  return cudaGetLastError();
}

const char *design = "not yet called";

/// Rounds \p count sums, times \p factor, four at once.
__global__ void __launch_bounds__(kThreads)
    roundSums(const float *from, Bf16 *to, float factor, int64_t count) {
  int64_t at = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * 4;
  if (at >= count)
    return;
  float4 values = *reinterpret_cast<const float4 *>(from + at);
  *reinterpret_cast<uint2 *>(to + at) =
      make_uint2(packBf16(values.x * factor, values.y * factor),
                 packBf16(values.z * factor, values.w * factor));
}

template <int kWidth>
int enqueue(const Problem &p, const d2k_attention_backward_args &args,
            cudaStream_t stream) {
  int64_t rows = p.tokens * p.headsQ;
  sumRows<kWidth><<<unsigned((rows + kThreads / 32 - 1) / (kThreads / 32)),
                    kThreads, 0, stream>>>(p.gradientO,
                                           static_cast<const Bf16 *>(args.O),
                                           p.delta, p.tokens, p.headsQ);
  dim3 grid(unsigned((p.length + kKeys - 1) / kKeys), unsigned(p.headsQ),
            unsigned(args.B));
  bool hasWgmma = false;
  if (int error = findWgmma(hasWgmma))
    return error;
  int64_t blocks = int64_t(grid.x) * grid.y * grid.z;
  if (hasWgmma && p.tokens <= INT32_MAX && blocks <= INT32_MAX) {
    design =
        "hand-written: FlashAttention-2 backward on wgmma, 2 x 64 keys x 64 "
        "queries a block, tensor copies, fp32 bulk additions; no library";
    return enqueueWide<kWidth>(p, unsigned(blocks), stream);
  }
  design = "hand-written: FlashAttention-2 backward on mma.sync.m16n8k16, 128 "
           "keys x 64 queries a block, fp32 atomics; no library";
  constexpr int kBytes = getSharedBytes<kWidth>();
  auto *kernel = differentiate<kWidth>;
  if (int error = allowShared(kernel, kBytes))
    return error;
  kernel<<<grid, kThreads, kBytes, stream>>>(p);
  return cudaGetLastError();
}

} // namespace

extern "C" const char *d2k_baseline_identity() { return design; }

extern "C" int d2k_attention_backward(const d2k_attention_backward_args *args,
                                      void *workspace, size_t workspace_bytes,
                                      cudaStream_t stream) {
  Problem p = {};
  p.q = static_cast<const Bf16 *>(args->Q);
  p.k = static_cast<const Bf16 *>(args->K);
  p.v = static_cast<const Bf16 *>(args->V);
  p.gradientO = static_cast<const Bf16 *>(args->dO);
  p.lse = args->LSE;
  p.length = int(args->S);
  p.headsQ = int(args->Hq);
  p.headsK = int(args->Hkv);
  p.tokens = args->B * args->S;
  p.group = int(kGroupBytes / (args->S * args->D * 8));
  p.group = p.group > 1 ? p.group : 1;
  p.scale = args->scale;
  int64_t countQ = p.tokens * args->Hq * args->D;
  int64_t countK = p.tokens * args->Hkv * args->D;
  p.sumQ = static_cast<float *>(workspace);
  p.sumK = p.sumQ + countQ;
  p.sumV = p.sumK + countK;
  p.delta = p.sumV + countK;
  size_t bytes = size_t(countQ + 2 * countK) * sizeof(float);
  if (args->S > INT32_MAX - kKeys || args->Hq > 65535 || args->B > 65535 ||
      workspace_bytes < bytes + size_t(p.tokens * args->Hq) * sizeof(float))
    return cudaErrorInvalidValue;
  int error = cudaMemsetAsync(workspace, 0, bytes, stream);
  if (error == cudaSuccess)
    error = args->D == 64    ? enqueue<64>(p, *args, stream)
            : args->D == 128 ? enqueue<128>(p, *args, stream)
                             : int(cudaErrorInvalidValue);
  if (error != cudaSuccess)
    return error;
  struct {
    const float *from;
    void *to;
    float factor;
    int64_t count;
  } const results[] = {{p.sumQ, args->dQ, p.scale, countQ},
                       {p.sumK, args->dK, p.scale, countK},
                       {p.sumV, args->dV, 1, countK}};
  for (const auto &result : results)
    roundSums<<<unsigned((result.count / 4 + kThreads - 1) / kThreads),
                kThreads, 0, stream>>>(result.from,
                                       static_cast<Bf16 *>(result.to),
                                       result.factor, result.count);
  return cudaGetLastError();
}
