// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16 for Blackwell (sm_100a). Two blocks of a cluster multiply one tile
// of 256 x kTileN with tcgen05.mma.cta_group::2: each fetches its half of the
// tile's rows of X and half of its rows of W by TMA into a ring of stages, and
// keeps its half of the sums in tensor memory. Roles by warp: one issues the
// copies, one (in the leading block) the products, one fetches R, four carry
// sums out. Sums have two buffers, so the epilogue of one tile runs under the
// products of the next. Blocks are persistent.
// Constraints: K and N are multiples of 8, K > 0; M is free.
//
// NOT YET RUN: this file has been compiled (nvcc 13.0, sm_100a) and checked
// against the PTX ISA 9.0, but no Blackwell GPU was at hand. Neither its
// results nor its speed have been measured.

#include "d2k_gemm_bf16.h"

#include <cuda.h>
#include <cuda_bf16.h>

//===----------------------------------------------------------------------===//
// Shape of the design
//===----------------------------------------------------------------------===//

constexpr int kCluster = 2;  // The pair of blocks that one product spans.
constexpr int kBlockM = 128; // Rows of D in one block: the tensor memory lanes.
constexpr int kTileM = kCluster * kBlockM; // kTileN is 256 or 128.
constexpr int kTileK = 64;    // 128 bytes of bf16: one row of the swizzle.
constexpr int kProductK = 16; // The K of one tcgen05.mma on bf16.

/// What each warp does. Epilogue warps must start at a multiple of 4: a warp
/// reaches the 32 lanes of tensor memory that its index modulo 4 selects.
enum Role {
  kCopyWarp = 0,
  kProductWarp = 1,
  kResidualWarp = 2,
  kFirstEpilogueWarp = 4,
};
constexpr int kEpilogueWarps = 4;
constexpr int kEpilogueThreads = kEpilogueWarps * 32;
constexpr int kThreads = 32 * (kFirstEpilogueWarp + kEpilogueWarps);

// R and D move in chunks of 64 columns, the widest box of a 128-byte swizzle.
// Two buffers: while one is worked on and stored, the other is filled.
constexpr int kChunkN = 64;
constexpr int kChunkBytes = kBlockM * kChunkN * 2;
constexpr int kChunkBuffers = 2;

constexpr int kAccumulators = 2; // Buffers of sums in tensor memory.

constexpr int kRingBytes = 192 * 1024;

template <int kTileN>
struct Design {
  static constexpr int xBytes = kBlockM * kTileK * 2;
  static constexpr int wBytes = kTileN / kCluster * kTileK * 2;
  static constexpr int stageBytes = xBytes + wBytes;
  static constexpr int stages = kRingBytes / stageBytes; // 6 or 8.
  static constexpr int chunks = kTileN / kChunkN;
  // One 32-bit column holds one fp32 column of D for 128 rows. 512 or 256: the
  // number must be a power of two of at least 32.
  static constexpr int tensorColumns = kAccumulators * kTileN;
};

// 1024 bytes to align the ring (the period of the swizzle), 256 for barriers.
constexpr int kSharedBytes =
    kRingBytes + kChunkBuffers * kChunkBytes + 1024 + 256;

// Rows of tiles that are walked together, column by column: the 74 pairs of
// blocks of a B200 then work on about 8 x 9 tiles, and each byte of X and W
// that reaches L2 is used some 8 times there.
constexpr int kGroupRows = 8;

//===----------------------------------------------------------------------===//
// PTX: barriers and copies
//===----------------------------------------------------------------------===//

__device__ __forceinline__ bool electOneLane() {
  uint32_t elected;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}\n"
               : "=r"(elected));
  return elected;
}

__device__ __forceinline__ uint32_t blockInCluster() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}

/// All threads of both blocks; what they wrote before is visible after it.
__device__ __forceinline__ void syncCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;\n" ::
                   : "memory");
}

__device__ __forceinline__ void syncEpilogue() {
  // Barrier 0 is __syncthreads'.
  asm volatile("bar.sync 1, %0;\n" ::"n"(kEpilogueThreads) : "memory");
}

__device__ __forceinline__ void initBarrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}

/// Waits until the phase of this parity is complete: barriers that only copies
/// and this block's threads complete.
__device__ __forceinline__ void waitBarrier(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "retry:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra retry;\n"
               "}\n" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// The same for barriers at which the other block's threads or products arrive.
__device__ __forceinline__ void waitBarrierOfPair(uint32_t barrier,
                                                  uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "retry:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
               "done, [%0], %1;\n"
               "@!done bra retry;\n"
               "}\n" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// A producer's arrival, which also announces the bytes that copies bring.
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], "
               "%1;\n" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile(
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];\n" ::"r"(barrier)
      : "memory");
}

/// Arrives at a barrier given by its cluster address (see `inLeader`).
__device__ __forceinline__ void arriveInCluster(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
               "[%0];\n" ::"r"(barrier)
               : "memory");
}

/// The cluster address of what has this address in the leading block.
__device__ __forceinline__ uint32_t inLeader(uint32_t address) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;\n"
               : "=r"(there)
               : "r"(address));
  return there;
}

__device__ __forceinline__ void prefetchMap(const CUtensorMap &map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}

/// Copies the box at (column, row) to this block; outside it writes zeros.
__device__ __forceinline__ void loadBox(uint32_t to, const CUtensorMap &map,
                                        int column, int row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// The same, telling a barrier of either block of the pair: `barrier` is a
/// cluster address.
__device__ __forceinline__ void loadBoxForPair(uint32_t to,
                                               const CUtensorMap &map,
                                               int column, int row,
                                               uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.cta_group::2 "
               "[%0], [%1, {%2, %3}], [%4];\n" ::"r"(to),
               "l"(&map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}

/// Stores a box; what lies outside the matrix is dropped.
__device__ __forceinline__ void storeBox(const CUtensorMap &map, int column,
                                         int row, uint32_t from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
               "[%0, {%1, %2}], [%3];\n" ::"l"(&map),
               "r"(column), "r"(row), "r"(from)
               : "memory");
}

__device__ __forceinline__ void commitStores() {
  asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
}

/// Until all but the newest kLeft groups have read their shared memory.
template <int kLeft>
__device__ __forceinline__ void waitForStoreReads() {
  asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(kLeft) : "memory");
}

/// Makes this thread's writes to shared memory visible to TMA.
__device__ __forceinline__ void fenceForStores() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

//===----------------------------------------------------------------------===//
// PTX: tensor memory and products
//===----------------------------------------------------------------------===//

/// Both blocks of the pair take the columns, one whole warp in each. The
/// address of the first is written to shared memory.
template <int kColumns>
__device__ __forceinline__ void allocateTensorMemory(uint32_t addressAt) {
  asm volatile(
      "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\n"
      "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n" ::"r"(
          addressAt),
      "n"(kColumns)
      : "memory");
}

template <int kColumns>
__device__ __forceinline__ void freeTensorMemory(uint32_t address) {
  asm volatile(
      "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;\n" ::"r"(address),
      "n"(kColumns)
      : "memory");
}

/// Order this thread's tensor memory operations before, or after, what it does
/// with barriers; those do not do it on their own.
__device__ __forceinline__ void fenceBeforeSync() {
  asm volatile("tcgen05.fence::before_thread_sync;\n" ::: "memory");
}
__device__ __forceinline__ void fenceAfterSync() {
  asm volatile("tcgen05.fence::after_thread_sync;\n" ::: "memory");
}

/// Describes a K-major operand in shared memory (PTX ISA, tcgen05 "Shared
/// Memory Descriptor"; not the layout of wgmma's). Rows are 128 bytes in the
/// 128-byte swizzle, so 8 rows are one 1024-byte pattern and patterns follow
/// each other: stride offset 1024. The leading offset has no meaning in this
/// layout. Patterns start at multiples of 1024, so the base offset is 0.
__device__ __forceinline__ uint64_t describe(uint32_t address) {
  uint64_t descriptor = (address & 0x3ffff) >> 4; // bits 0-13
  descriptor |= uint64_t(1) << 16;                // 16-29: leading offset / 16
  descriptor |= uint64_t(1024 >> 4) << 32;        // 32-45: stride offset / 16
  descriptor |= uint64_t(1) << 46;                // 46-48: always 0b001
  descriptor |= uint64_t(2) << 61;                // 61-63: 128-byte swizzle
  return descriptor;
}

/// Describes the product (PTX ISA, tcgen05 "Instruction Descriptor",
/// kind::f16): fp32 sums of bf16 products, both operands K-major, none negated.
__host__ __device__ constexpr uint32_t describeProduct(int m, int n) {
  return (1u << 4) |               // 4-5: D is fp32
         (1u << 7) |               // 7-9: A is bf16
         (1u << 10) |              // 10-12: B is bf16
         (uint32_t(n / 8) << 17) | // 17-22: N / 8
         (uint32_t(m / 16) << 24); // 24-28: M / 16
}
static_assert(describeProduct(256, 256) == 0x10400490);
static_assert(describeProduct(256, 128) == 0x10200490);

/// sums (+)= X . W^T for 16 of K. One thread of the pair issues it for both
/// blocks: block r finds rows r * 128 ... of X and r * N / 2 ... of W at the
/// same place in its own shared memory, and keeps rows r * 128 ... of the sums.
/// The old sums count only when `accumulate` is not 0.
__device__ __forceinline__ void multiplyAsync(uint32_t sums, uint64_t x,
                                              uint64_t w, uint32_t product,
                                              uint32_t accumulate) {
  asm volatile("{\n"
               ".reg .pred accumulate;\n"
               "setp.ne.b32 accumulate, %4, 0;\n"
               "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, "
               "accumulate;\n"
               "}\n" ::"r"(sums),
               "l"(x), "l"(w), "r"(product), "r"(accumulate)
               : "memory");
}

/// Arrives at this barrier of both blocks when all products that this thread
/// has issued are done. Implies fenceBeforeSync.
__device__ __forceinline__ void commitProducts(uint32_t barrier) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one"
      ".shared::cluster.multicast::cluster.b64 [%0], %1;\n" ::"r"(barrier),
      "h"(uint16_t((1 << kCluster) - 1))
      : "memory");
}

/// Reads 32 columns of the warp's 32 lanes; a thread gets one lane, one row of
/// D. The wait belongs to the same statement, or the compiler could move uses
/// of the registers between the two.
__device__ __forceinline__ void readSums(uint32_t (&out)[32],
                                         uint32_t address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
               "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
               "%26, %27, %28, %29, %30, %31"
               "}, [%32];\n"
               "tcgen05.wait::ld.sync.aligned;\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]),
                 "=r"(out[4]), "=r"(out[5]), "=r"(out[6]), "=r"(out[7]),
                 "=r"(out[8]), "=r"(out[9]), "=r"(out[10]), "=r"(out[11]),
                 "=r"(out[12]), "=r"(out[13]), "=r"(out[14]), "=r"(out[15]),
                 "=r"(out[16]), "=r"(out[17]), "=r"(out[18]), "=r"(out[19]),
                 "=r"(out[20]), "=r"(out[21]), "=r"(out[22]), "=r"(out[23]),
                 "=r"(out[24]), "=r"(out[25]), "=r"(out[26]), "=r"(out[27]),
                 "=r"(out[28]), "=r"(out[29]), "=r"(out[30]), "=r"(out[31])
               : "r"(address)
               : "memory");
}

/// 16 bytes of shared memory.
__device__ __forceinline__ uint4 loadShared(uint32_t from) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ void storeShared(uint32_t to, uint4 v) {
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};\n" ::"r"(to), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Where a role is in a ring: the stage, and the parity of the phase that
/// the stage's full barrier completes next. Both sides of a ring step through
/// the same sequence of stages.
template <int kStages>
struct Position {
  int stage = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The rows and columns of tiles.
struct Tiles {
  int rows;
  int columns;
};

/// Grouped order: all columns of kGroupRows rows, then the next rows.
__device__ __forceinline__ int2 tileAt(int index, Tiles tiles) {
  int perGroup = kGroupRows * tiles.columns;
  int firstRow = index / perGroup * kGroupRows;
  int rowsHere = min(kGroupRows, tiles.rows - firstRow);
  int inGroup = index % perGroup;
  return make_int2(firstRow + inGroup % rowsHere, inGroup / rowsHere);
}

/// bf16(sum + residual) for two adjacent elements, rounded once; sums as bits.
__device__ __forceinline__ uint32_t addAndRound(uint32_t lo, uint32_t hi,
                                                uint32_t residual) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(
      __uint_as_float(lo) + __uint_as_float(residual << 16),
      __uint_as_float(hi) + __uint_as_float(residual & 0xffff0000u));
  return *reinterpret_cast<const uint32_t *>(&pair);
}

template <int kTileN>
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    gemmBf16Tcgen05(const __grid_constant__ CUtensorMap mapX,
                    const __grid_constant__ CUtensorMap mapW,
                    const __grid_constant__ CUtensorMap mapR,
                    const __grid_constant__ CUtensorMap mapD, Tiles tiles,
                    int slices) {
  using D = Design<kTileN>;
  extern __shared__ uint8_t shared[];
  uint32_t ring = (uint32_t(__cvta_generic_to_shared(shared)) + 1023) & ~1023u;
  uint32_t chunkBuffers = ring + kRingBytes;
  uint32_t barriers = chunkBuffers + kChunkBuffers * kChunkBytes;
  // Pairs of barriers: full (content is there) and empty (may be overwritten).
  auto full = [&](int i) { return barriers + i * 8; };
  auto empty = [&](int i) { return full(D::stages + i); };
  auto sumsFull = [&](int i) { return empty(D::stages + i); };
  auto sumsEmpty = [&](int i) { return sumsFull(kAccumulators + i); };
  auto chunkFull = [&](int i) { return sumsEmpty(kAccumulators + i); };
  auto chunkEmpty = [&](int i) { return chunkFull(kChunkBuffers + i); };
  uint32_t tensorMemoryAt = chunkEmpty(kChunkBuffers);

  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  int lane = threadIdx.x % 32;
  uint32_t rank = blockInCluster();

  if (warp == kCopyWarp && electOneLane()) {
    for (int s = 0; s < D::stages; ++s) {
      // Of the full barriers only the leader's are used: the bytes of both
      // blocks are counted there. A stage is empty in both blocks when the
      // products that read it are done, which commitProducts tells both.
      initBarrier(full(s), 1);
      initBarrier(empty(s), 1);
    }
    for (int a = 0; a < kAccumulators; ++a) {
      // Of the empty ones only the leader's are used, by both epilogues.
      initBarrier(sumsFull(a), 1);
      initBarrier(sumsEmpty(a), kEpilogueWarps * kCluster);
    }
    for (int b = 0; b < kChunkBuffers; ++b) {
      initBarrier(chunkFull(b), 1);
      initBarrier(chunkEmpty(b), 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    prefetchMap(mapX);
    prefetchMap(mapW);
    prefetchMap(mapR);
    prefetchMap(mapD);
  }
  __syncwarp();
  if (warp == kResidualWarp) {
    allocateTensorMemory<D::tensorColumns>(tensorMemoryAt);
    fenceBeforeSync();
  }
  // Barriers and tensor memory are ready in both blocks.
  syncCluster();
  fenceAfterSync();
  uint32_t tensorMemory;
  asm volatile("ld.shared.b32 %0, [%1];\n"
               : "=r"(tensorMemory)
               : "r"(tensorMemoryAt)
               : "memory");

  int clusters = gridDim.x / kCluster;
  int firstTile = blockIdx.x / kCluster;
  int tileCount = tiles.rows * tiles.columns;

  if (warp == kCopyWarp) {
    if (electOneLane()) {
      Position<D::stages> at;
      for (int tile = firstTile; tile < tileCount; tile += clusters) {
        int2 where = tileAt(tile, tiles);
        int m = where.x * kTileM + rank * kBlockM;
        int n = where.y * kTileN + rank * (kTileN / kCluster);
        for (int slice = 0; slice < slices; ++slice) {
          uint32_t stage = ring + at.stage * D::stageBytes;
          // A fresh barrier counts its previous phase (parity 1) as complete:
          // the first round finds every stage empty.
          waitBarrierOfPair(empty(at.stage), at.parity ^ 1);
          // The leader announces both blocks' bytes. The other's may come
          // first: the phase cannot end before the leader's arrival.
          if (rank == 0)
            arriveExpecting(full(at.stage), kCluster * D::stageBytes);
          uint32_t barrier = inLeader(full(at.stage));
          loadBoxForPair(stage, mapX, slice * kTileK, m, barrier);
          loadBoxForPair(stage + D::xBytes, mapW, slice * kTileK, n, barrier);
          at.advance();
        }
      }
      // The last arrivals at this block's empty barriers come from the leader.
      // Stay until they are in: shared memory must outlive them.
      for (int s = 0; s < D::stages; ++s) {
        waitBarrierOfPair(empty(at.stage), at.parity ^ 1);
        at.advance();
      }
    }
  } else if (warp == kProductWarp) {
    if (rank == 0 && electOneLane()) {
      constexpr uint32_t kProduct = describeProduct(kTileM, kTileN);
      Position<D::stages> at;
      Position<kAccumulators> sums;
      for (int tile = firstTile; tile < tileCount; tile += clusters) {
        // Both epilogues have read the sums that were here two tiles ago.
        waitBarrierOfPair(sumsEmpty(sums.stage), sums.parity ^ 1);
        fenceAfterSync();
        uint32_t to = tensorMemory + sums.stage * kTileN;
        for (int slice = 0; slice < slices; ++slice) {
          waitBarrier(full(at.stage), at.parity);
          fenceAfterSync();
          uint32_t stage = ring + at.stage * D::stageBytes;
          uint64_t x = describe(stage);
          uint64_t w = describe(stage + D::xBytes);
          // A step of 16 along K is 32 bytes inside the swizzled row, and just
          // adds to the address: the hardware swizzles address bits.
#pragma unroll
          for (int k = 0; k < kTileK / kProductK; ++k)
            multiplyAsync(to, x + k * (kProductK * 2 >> 4),
                          w + k * (kProductK * 2 >> 4), kProduct,
                          slice > 0 || k > 0);
          commitProducts(empty(at.stage));
          at.advance();
        }
        commitProducts(sumsFull(sums.stage));
        sums.advance();
      }
    }
  } else if (warp == kResidualWarp) {
    if (electOneLane()) {
      Position<kChunkBuffers> buffer;
      for (int tile = firstTile; tile < tileCount; tile += clusters) {
        int2 where = tileAt(tile, tiles);
        int m = where.x * kTileM + rank * kBlockM;
        for (int chunk = 0; chunk < D::chunks; ++chunk) {
          waitBarrier(chunkEmpty(buffer.stage), buffer.parity ^ 1);
          arriveExpecting(chunkFull(buffer.stage), kChunkBytes);
          loadBox(chunkBuffers + buffer.stage * kChunkBytes, mapR,
                  where.y * kTileN + chunk * kChunkN, m,
                  chunkFull(buffer.stage));
          buffer.advance();
        }
      }
    }
  } else if (warp >= kFirstEpilogueWarp) {
    int row = (warp - kFirstEpilogueWarp) * 32 + lane;
    bool storer = warp == kFirstEpilogueWarp && electOneLane();
    Position<kChunkBuffers> buffer;
    Position<kAccumulators> sums;
    for (int tile = firstTile; tile < tileCount; tile += clusters) {
      int2 where = tileAt(tile, tiles);
      int m = where.x * kTileM + rank * kBlockM;
      waitBarrierOfPair(sumsFull(sums.stage), sums.parity);
      fenceAfterSync();
      // Bits 16 to 31 of an address are the lane: the warp's first.
      uint32_t from = tensorMemory + sums.stage * kTileN +
                      (uint32_t(warp - kFirstEpilogueWarp) * 32 << 16);
      for (int chunk = 0; chunk < D::chunks; ++chunk) {
        uint32_t place = chunkBuffers + buffer.stage * kChunkBytes;
        waitBarrier(chunkFull(buffer.stage), buffer.parity);
        // In place: D replaces R, 8 columns at a time.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          uint32_t v[32];
          readSums(v, from + chunk * kChunkN + half * 32);
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            int unit = (half * 4 + q) ^ (row % 8); // TMA's swizzle.
            uint32_t at = place + row * 128 + unit * 16;
            uint4 r = loadShared(at);
            storeShared(
                at, make_uint4(addAndRound(v[8 * q], v[8 * q + 1], r.x),
                               addAndRound(v[8 * q + 2], v[8 * q + 3], r.y),
                               addAndRound(v[8 * q + 4], v[8 * q + 5], r.z),
                               addAndRound(v[8 * q + 6], v[8 * q + 7], r.w)));
          }
        }
        if (chunk == D::chunks - 1) {
          // The sums are in registers: the products of the tile after the next
          // may overwrite them. The leader issues those.
          fenceBeforeSync();
          __syncwarp();
          if (lane == 0)
            arriveInCluster(inLeader(sumsEmpty(sums.stage)));
        }
        fenceForStores();
        syncEpilogue();
        if (storer) {
          storeBox(mapD, where.y * kTileN + chunk * kChunkN, m, place);
          commitStores();
          // The buffer is free for R once the store has read it.
          waitForStoreReads<0>();
          arrive(chunkEmpty(buffer.stage));
        }
        buffer.advance();
      }
      sums.advance();
    }
  }

  // Neither block may leave, or give up its tensor memory, while the other can
  // still copy, multiply or arrive into it.
  __syncwarp();
  fenceBeforeSync();
  syncCluster();
  fenceAfterSync();
  if (warp == kResidualWarp)
    freeTensorMemory<D::tensorColumns>(tensorMemory);
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

/// The driver's encoder, looked up once: no link against libcuda.
EncodeTiled encodeTiled() {
  static const EncodeTiled function = []() -> EncodeTiled {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                         12000, cudaEnableDefault,
                                         &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
      return nullptr;
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

/// A row-major bf16 matrix read or written in boxes of 64 columns (128 bytes).
bool encodeMatrix(CUtensorMap &map, const void *base, int64_t rows,
                  int64_t columns, int boxRows) {
  cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)};
  cuuint64_t rowStride[1] = {cuuint64_t(columns) * 2};
  cuuint32_t box[2] = {64, cuuint32_t(boxRows)};
  cuuint32_t step[2] = {1, 1};
  return encodeTiled()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
                       const_cast<void *>(base), sizes, rowStride, box, step,
                       CU_TENSOR_MAP_INTERLEAVE_NONE,
                       CU_TENSOR_MAP_SWIZZLE_128B,
                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <int kTileN>
int launch(const d2k_gemm_bf16_args &args, int multiprocessors,
           cudaStream_t stream) {
  CUtensorMap mapX, mapW, mapR, mapD;
  if (!encodeMatrix(mapX, args.X, args.M, args.K, kBlockM) ||
      !encodeMatrix(mapW, args.W, args.N, args.K, kTileN / kCluster) ||
      !encodeMatrix(mapR, args.R, args.M, args.N, kBlockM) ||
      !encodeMatrix(mapD, args.D, args.M, args.N, kBlockM))
    return cudaErrorInvalidValue;

  if (cudaError_t error = cudaFuncSetAttribute(
          gemmBf16Tcgen05<kTileN>, cudaFuncAttributeMaxDynamicSharedMemorySize,
          kSharedBytes))
    return error;

  Tiles tiles = {int(ceilDiv(args.M, kTileM)), int(ceilDiv(args.N, kTileN))};
  int clusters = multiprocessors / kCluster;
  if (tiles.rows * tiles.columns < clusters)
    clusters = tiles.rows * tiles.columns;
  gemmBf16Tcgen05<kTileN>
      <<<clusters * kCluster, kThreads, kSharedBytes, stream>>>(
          mapX, mapW, mapR, mapD, tiles, int(ceilDiv(args.K, kTileK)));
  return cudaGetLastError();
}

/// The time of a launch in rounds of tiles, in units of one column of a tile.
/// A 128-wide tile fetches more bytes per product; the factor is a guess that
/// wgmma.cu's measured one (1.05 to 1.15) suggests.
double cost(const d2k_gemm_bf16_args &args, int tileN, int multiprocessors) {
  int64_t tiles = ceilDiv(args.M, kTileM) * ceilDiv(args.N, tileN);
  int64_t rounds = ceilDiv(tiles, multiprocessors / kCluster);
  return double(rounds * tileN) * (tileN == 128 ? 1.1 : 1.0);
}

} // namespace

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *, size_t,
                             cudaStream_t stream) {
  if (args->M <= 0 || args->N <= 0)
    return cudaSuccess;
  // TMA asks for row strides in multiples of 16 bytes and 32-bit coordinates.
  constexpr int64_t kLargest = int64_t(1) << 30;
  if (args->K <= 0 || args->K % 8 || args->N % 8 || args->M > kLargest ||
      args->N > kLargest || args->K > kLargest ||
      ceilDiv(args->M, kTileM) * ceilDiv(args->N, 128) > kLargest)
    return cudaErrorInvalidValue;
  if (!encodeTiled())
    return cudaErrorNotSupported;

  int device = 0, multiprocessors = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return error;
  if (cudaError_t error = cudaDeviceGetAttribute(
          &multiprocessors, cudaDevAttrMultiProcessorCount, device))
    return error;

  // Two widths, because a few large tiles can leave the last round of blocks
  // half empty.
  if (cost(*args, 256, multiprocessors) <= cost(*args, 128, multiprocessors))
    return launch<256>(*args, multiprocessors, stream);
  return launch<128>(*args, multiprocessors, stream);
}
