// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of moe_grouped_gemm: persistent blocks that find their tiles by
// a scan of the offsets on the device. cuBLAS's grouped products need the sizes
// on the host, where nobody has them. On sm_90a a producer warp feeds a ring of
// shared memory by tensor copies and two warpgroups multiply 128x256 tiles with
// wgmma, the design of tasks/gemm_bf16/exemplars/wgmma.cu without its clusters;
// elsewhere 128x128 tiles with mma.sync.

#include "d2k_moe_grouped_gemm.h"

#include "d2k/Baseline/MmaSync.cuh"
#include "d2k/Baseline/Wgmma.cuh"

using namespace d2k::baseline;

namespace {

constexpr int kMaxExperts = 1024;
constexpr int kTileM = 128;
constexpr int kTileK = 64;
constexpr unsigned kAll = 0xffffffffu;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Rows of one expert, from `row` to `end` at most, and columns.
struct Tile {
  int expert, row, end, column;
};

/// Where each expert's tiles begin in the list of all. Those of one expert are
/// in the order of their columns: neighbours share W.
struct TileList {
  int firstRow[kMaxExperts + 1];
  int firstTile[kMaxExperts + 1];
  int experts;

  /// All threads of the block call it.
  __device__ void make(const int32_t *offsets, int expertCount, int columns) {
    for (int e = int(threadIdx.x); e <= expertCount; e += int(blockDim.x))
      firstRow[e] = offsets[e];
    if (threadIdx.x == 0)
      experts = expertCount;
    __syncthreads();
    if (threadIdx.x < 32) {
      int before = 0, lane = int(threadIdx.x);
      for (int base = 0; base < expertCount; base += 32) {
        int e = base + lane, own = 0;
        if (e < expertCount)
          own = countRowTiles(e) * columns;
        int sum = own;
        for (int step = 1; step < 32; step *= 2) {
          int other = __shfl_up_sync(kAll, sum, step);
          sum += lane >= step ? other : 0;
        }
        if (e < expertCount)
          firstTile[e] = before + sum - own;
        before += __shfl_sync(kAll, sum, 31);
      }
      if (lane == 0)
        firstTile[expertCount] = before;
    }
    __syncthreads();
  }

  __device__ int countTiles() const { return firstTile[experts]; }

  __device__ Tile get(int index, int tileN) const {
    // The last expert whose tiles begin at or before it has some.
    int low = 0, high = experts;
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (firstTile[middle] <= index)
        low = middle;
      else
        high = middle;
    }
    int rowTiles = countRowTiles(low), place = index - firstTile[low];
    return {low, firstRow[low] + place % rowTiles * kTileM, firstRow[low + 1],
            place / rowTiles * tileN};
  }

private:
  __device__ int countRowTiles(int e) const {
    return (firstRow[e + 1] - firstRow[e] + kTileM - 1) / kTileM;
  }
};

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Stores four fragments of 16x8 sums that follow each other along N: row
/// \p row and column \p column are those of the first one. 16 bytes a lane, 64
/// of a row together.
__device__ inline void storeFragments(Bf16 *y, int64_t n, const float *sums,
                                      int row, int end, int column) {
  int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    uint32_t v[4];
#pragma unroll
    for (int q = 0; q < 4; ++q)
      v[q] = packBf16(sums[q * 4 + half * 2], sums[q * 4 + half * 2 + 1]);
    transposeQuad(v);
    int r = row + half * 8 + lane / 4, c = column + lane % 4 * 8;
    // N is a multiple of 8: the 8 columns are inside or outside together.
    if (r < end && c < n)
      __stcs(reinterpret_cast<uint4 *>(y + r * n + c),
             make_uint4(v[0], v[1], v[2], v[3]));
  }
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

namespace wide {

constexpr int kTileN = 256;
constexpr int kGroupThreads = 128;
constexpr int kConsumers = 2; // Warpgroups, 64 rows each.
constexpr int kThreads = (1 + kConsumers) * kGroupThreads;
constexpr int kOperandX = kTileM * kTileK * 2;
constexpr int kOperandW = kTileN * kTileK * 2;
constexpr int kStage = kOperandX + kOperandW;
constexpr int kStages = 4;
// 1024 bytes to align the ring, the period of the swizzle.
constexpr int kShared = kStages * kStage + 1024 + 2 * kStages * 8;

} // namespace wide

__global__ void __launch_bounds__(wide::kThreads, 1)
    multiplyWide(const __grid_constant__ CUtensorMap mapX,
                 const __grid_constant__ CUtensorMap mapW,
                 const int32_t *offsets, Bf16 *y, int experts, int n,
                 int slices) {
#if D2K_HAS_WGMMA
  using namespace wide;
  constexpr int kWarpsPerGroup = 4;
  // 384 threads begin with 168 registers each; 128 * 40 + 256 * 232 = 64512.
  constexpr int kProducerRegisters = 40;
  constexpr int kConsumerRegisters = 232;
  extern __shared__ uint8_t shared[];
  __shared__ TileList list;
  uint32_t ring = (getSharedAddress(shared) + 1023) & ~1023u;
  auto full = [&](int stage) {
    return ring + kStages * kStage + uint32_t(stage) * 8;
  };
  auto empty = [&](int stage) { return full(kStages + stage); };
  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(kAll, int(threadIdx.x) / 32, 0);
  int lane = int(threadIdx.x) % 32;
  if (warp == 0 && electOneLane()) {
    for (int stage = 0; stage < kStages; ++stage) {
      initBarrier(full(stage), 1);
      initBarrier(empty(stage), kConsumers * kWarpsPerGroup);
    }
    fenceBarriers();
  }
  list.make(offsets, experts, (n + kTileN - 1) / kTileN);
  int tiles = list.countTiles();
  int stage = 0;
  uint32_t parity = 0;
  auto advance = [&] {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  };

  if (warp < kWarpsPerGroup) {
    giveRegisters<kProducerRegisters>();
    if (warp == 0 && electOneLane())
      for (int index = int(blockIdx.x); index < tiles;
           index += int(gridDim.x)) {
        Tile tile = list.get(index, kTileN);
        for (int slice = 0; slice < slices; ++slice) {
          // A fresh barrier counts its previous phase as complete: the first
          // round finds every stage empty.
          waitForBarrier(empty(stage), parity ^ 1);
          arriveExpecting(full(stage), kStage);
          uint32_t to = ring + uint32_t(stage * kStage);
          // Rows of the next expert may come along; nobody stores their sums.
          copyBox(to, mapX, slice * kTileK, tile.row, full(stage));
          copyBox(to + kOperandX, mapW, slice * kTileK,
                  tile.expert * n + tile.column, full(stage));
          advance();
        }
      }
    return;
  }

  takeRegisters<kConsumerRegisters>();
  int group = warp / kWarpsPerGroup - 1;
  float sums[kTileN / 2];
  for (int index = int(blockIdx.x); index < tiles; index += int(gridDim.x)) {
    Tile tile = list.get(index, kTileN);
    int previous = 0;
    for (int slice = 0; slice < slices; ++slice) {
      waitForBarrier(full(stage), parity);
      uint32_t from = ring + uint32_t(stage * kStage);
      uint64_t x =
          describeOperand(from + uint32_t(group * kOperandX / kConsumers));
      uint64_t w = describeOperand(from + kOperandX);
      fenceAccumulators();
#pragma unroll
      for (int k = 0; k < kTileK / 16; ++k)
        multiplyAsync(sums, x + k * 2, w + k * 2, slice > 0 || k > 0);
      commitProducts();
      // This slice's products stay in flight; those of the one before are done.
      waitForProductsBut<1>();
      if (slice > 0 && lane == 0)
        arrive(empty(previous));
      previous = stage;
      advance();
    }
    waitForProductsBut<0>();
    pin(sums);
    if (lane == 0)
      arrive(empty(previous));
    int row = tile.row + group * 64 + warp % kWarpsPerGroup * 16;
#pragma unroll
    for (int j = 0; j < kTileN / 8; j += 4)
      storeFragments(y, n, &sums[j * 4], row, tile.end, tile.column + j * 8);
  }
#endif
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace narrow {

constexpr int kTileN = 128;
constexpr int kThreads = 256;
// Two by four warps, 64x32 outputs each.
constexpr int kWarpsN = 4;
constexpr int kWarpM = 64;
constexpr int kWarpN = 32;
constexpr int kStages = 3;
constexpr int kOperand = kTileM * kTileK; // Elements.
constexpr int kShared = 128 + kStages * 2 * kOperand * int(sizeof(Bf16));
static_assert(kTileN == kTileM);

} // namespace narrow

__global__ void __launch_bounds__(narrow::kThreads, 1)
    multiplyNarrow(const Bf16 *x, const Bf16 *w, const int32_t *offsets,
                   Bf16 *y, int experts, int n, int k) {
  using namespace narrow;
  extern __shared__ uint8_t shared[];
  __shared__ TileList list;
  auto *ring = reinterpret_cast<Bf16 *>(
      shared + (128 - getSharedAddress(shared) % 128) % 128);
  auto getX = [&](int slice) {
    return SharedMatrix<kTileK>{ring + slice % kStages * 2 * kOperand};
  };
  auto getW = [&](int slice) {
    return SharedMatrix<kTileK>{getX(slice).data + kOperand};
  };
  list.make(offsets, experts, (n + kTileN - 1) / kTileN);
  int tiles = list.countTiles(), slices = k / kTileK;
  int warp = int(threadIdx.x) / 32;
  int warpM = warp / kWarpsN * kWarpM, warpN = warp % kWarpsN * kWarpN;

  for (int index = int(blockIdx.x); index < tiles; index += int(gridDim.x)) {
    Tile tile = list.get(index, kTileN);
    const Bf16 *fromX = x + int64_t(tile.row) * k;
    const Bf16 *fromW = w + (int64_t(tile.expert) * n + tile.column) * k;
    auto copySlice = [&](int slice) {
      if (slice < slices) {
        getX(slice).copyFrom<kTileM, kThreads>(fromX + slice * kTileK, k,
                                               tile.end - tile.row);
        getW(slice).copyFrom<kTileN, kThreads>(fromW + slice * kTileK, k,
                                               n - tile.column);
      }
      // Also when it is empty: the number of groups then means the same in
      // every iteration.
      commitCopies();
    };
    float sums[kWarpM / 16][kWarpN / 8 * 4] = {};
    for (int slice = 0; slice < kStages - 1; ++slice)
      copySlice(slice);
    for (int slice = 0; slice < slices; ++slice) {
      waitForCopiesBut<kStages - 2>();
      // All threads' copies are there, and the stage of the slice before, which
      // is written next, is read no more.
      __syncthreads();
      copySlice(slice + kStages - 1);
      uint32_t laneX = getX(slice).getLaneA(warpM);
      uint32_t laneW = getW(slice).getLaneB(warpN);
#pragma unroll
      for (int step = 0; step < kTileK / 16; ++step) {
        uint32_t a[kWarpM / 16][4];
#pragma unroll
        for (int i = 0; i < kWarpM / 16; ++i)
          SharedMatrix<kTileK>::loadA(a[i], laneX, i * 16, step);
#pragma unroll
        for (int j = 0; j < kWarpN / 16; ++j) {
          uint32_t b[4];
          SharedMatrix<kTileK>::loadB(b, laneW, j * 16, step);
#pragma unroll
          for (int i = 0; i < kWarpM / 16; ++i) {
            using Fragment = float[4];
            auto *own = reinterpret_cast<Fragment *>(sums[i]);
            multiply(own[2 * j], a[i], b[0], b[1]);
            multiply(own[2 * j + 1], a[i], b[2], b[3]);
          }
        }
      }
    }
    // The next tile's copies may write any stage.
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kWarpM / 16; ++i)
      storeFragments(y, n, sums[i], tile.row + warpM + i * 16, tile.end,
                     tile.column + warpN);
  }
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// What the kernel that was launched last does.
const char *lastDesign = "not yet called";

} // namespace

extern "C" const char *d2k_baseline_identity() { return lastDesign; }

extern "C" int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args,
                                    void *, size_t, cudaStream_t stream) {
  if (args->E > kMaxExperts || args->R > INT32_MAX / 2 ||
      args->E * args->N > INT32_MAX || args->K > INT32_MAX ||
      args->K % kTileK != 0 || args->N % kChunk != 0)
    return cudaErrorInvalidValue;
  int multiprocessors = 0;
  bool hasWgmma = false;
  if (int error = countMultiprocessors(multiprocessors))
    return error;
  if (int error = findWgmma(hasWgmma))
    return error;
  auto *x = static_cast<const Bf16 *>(args->X);
  auto *w = static_cast<const Bf16 *>(args->W);
  auto *y = static_cast<Bf16 *>(args->Y);
  int experts = int(args->E), n = int(args->N), k = int(args->K);
  unsigned blocks = unsigned(multiprocessors);
  if (!hasWgmma) {
    lastDesign =
        "hand-written, mma.sync m16n8k16, 128x128x64 tiles, persistent";
    if (int error = allowShared(multiplyNarrow, narrow::kShared))
      return error;
    multiplyNarrow<<<blocks, narrow::kThreads, narrow::kShared, stream>>>(
        x, w, args->offsets, y, experts, n, k);
    return cudaGetLastError();
  }
  lastDesign = "hand-written, wgmma m64n256k16, 128x256x64 tiles, persistent";
  CUtensorMap mapX, mapW;
  if (int error = describeMatrix(mapX, x, args->R, k, kTileM))
    return error;
  if (int error = describeMatrix(mapW, w, args->E * args->N, k, wide::kTileN))
    return error;
  if (int error = allowShared(multiplyWide, wide::kShared))
    return error;
  multiplyWide<<<blocks, wide::kThreads, wide::kShared, stream>>>(
      mapX, mapW, args->offsets, y, experts, n, k / kTileK);
  return cudaGetLastError();
}
