// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_bf16 for Hopper (sm_90a). One producer thread feeds a ring of shared
// memory stages by TMA (128-byte swizzle); two consumer warpgroups multiply out
// of it with wgmma, a 128 x kTileN tile per block. Blocks are persistent and
// come in clusters of two along M, which fetch W once for both by multicast.
// R travels through the same ring after the last slice of a tile, is added in
// fp32 in place, and the sums leave by TMA store from where R had been.
// Constraints: K and N are multiples of 8, K > 0; M is free.
// Measured on H200: docs/measurements/gemm_bf16-exemplars.md.

#include "d2k_gemm_bf16.h"

#include <cuda.h>
#include <cuda_bf16.h>

//===----------------------------------------------------------------------===//
// Shape of the design
//===----------------------------------------------------------------------===//

constexpr int kTileM = 128; // Rows of D per block; kTileN is 256 or 128.
constexpr int kTileK = 64;  // 128 bytes of bf16: one row of the swizzle.
constexpr int kCluster = 2; // Blocks along M that share W.

constexpr int kConsumerGroups = 2;
constexpr int kGroupThreads = 128;
constexpr int kThreads = (1 + kConsumerGroups) * kGroupThreads;
constexpr int kGroupM = kTileM / kConsumerGroups; // 64: the M of wgmma.
constexpr int kWarpsPerGroup = 4;

// 384 threads leave 168 registers each. The producer needs few, and a consumer
// keeps kTileN / 2 accumulators: registers move from the one to the others.
// 128 * 40 + 256 * 232 = 64512 of the 65536.
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;

// R and D move in chunks of 64 columns, the widest box of a 128-byte swizzle.
constexpr int kChunkN = 64;
constexpr int kChunkBytes = kTileM * kChunkN * 2;
constexpr int kGroupChunkBytes = kGroupM * kChunkN * 2;

constexpr int kRingBytes = 192 * 1024;

template <int kTileN>
struct Design {
  static constexpr int xBytes = kTileM * kTileK * 2;
  static constexpr int wBytes = kTileN * kTileK * 2;
  static constexpr int wShareBytes = wBytes / kCluster;
  static constexpr int stageBytes = xBytes + wBytes;
  static constexpr int stages = kRingBytes / stageBytes; // 4 or 6.
  // A stage takes R for 128 columns, as two chunks.
  static constexpr int residualN = 2 * kChunkN;
  static constexpr int residualBytes = 2 * kChunkBytes;
  static constexpr int residualStages = kTileN / residualN;
  static constexpr int accumulators = kGroupM * kTileN / kGroupThreads;
  static_assert(residualBytes <= stageBytes && residualStages < stages);
};

// 1024 bytes to align the ring (the period of the swizzle), 256 for barriers.
constexpr int kSharedBytes = kRingBytes + 1024 + 256;

// Pairs of row tiles that are walked together, column by column: with 8 pairs
// the 66 clusters of an H200 work on about 8 x 8 tiles of 256 x 256, and each
// byte of X and W that reaches L2 is used some 8 times there.
constexpr int kGroupPairs = 8;

//===----------------------------------------------------------------------===//
// PTX
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

__device__ __forceinline__ void syncGroup(int group) {
  // Barrier 0 is __syncthreads'.
  asm volatile("bar.sync %0, %1;\n" ::"r"(1 + group), "n"(kGroupThreads)
               : "memory");
}

__device__ __forceinline__ void initBarrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}

/// Waits until the phase of this parity is complete: full barriers, which only
/// copies and this block's producer complete.
__device__ __forceinline__ void waitFull(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "retry:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra retry;\n"
               "}\n" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// The same for empty barriers, at which the other block's consumers arrive.
__device__ __forceinline__ void waitEmpty(uint32_t barrier, uint32_t parity) {
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

/// The producer's arrival, which also announces the bytes that copies bring.
__device__ __forceinline__ void arriveExpecting(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], "
               "%1;\n" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

/// Arrives `count` times at the barrier of the same place in `block`, to give a
/// stage back. Relaxed, because there is nothing to publish: by then the stage
/// has been read by wgmma or by a TMA store, and that read has been waited for.
/// A release at cluster scope first drains all memory traffic of the thread;
/// with one a slice, and an acquire at cluster scope in the consumers' wait,
/// this kernel made 573 instead of 745 TFLOP/s at M = N = K = 8192.
__device__ __forceinline__ void arriveAt(uint32_t barrier, uint32_t block,
                                         int count) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
               "[there], %2;\n"
               "}\n" ::"r"(barrier),
               "r"(block), "r"(count)
               : "memory");
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

/// The same to both blocks, at the same place; each block's barrier is told.
__device__ __forceinline__ void loadBoxToCluster(uint32_t to,
                                                 const CUtensorMap &map,
                                                 int column, int row,
                                                 uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(to),
               "l"(&map), "r"(column), "r"(row), "r"(barrier),
               "h"(uint16_t((1 << kCluster) - 1))
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

/// Four 8x8 matrices; lane l gives the address of row l % 8 of matrix l / 8 and
/// holds elements (l / 4, 2 * (l % 4)) and the next: the layout of the
/// accumulators of wgmma.
__device__ __forceinline__ void loadMatrices(uint32_t (&out)[4],
                                             uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(from)
               : "memory");
}

__device__ __forceinline__ void storeMatrices(uint32_t to,
                                              const uint32_t (&in)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(
          to),
      "r"(in[0]), "r"(in[1]), "r"(in[2]), "r"(in[3])
      : "memory");
}

__device__ __forceinline__ void fenceAccumulators() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}

__device__ __forceinline__ void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}

template <int kLeft>
__device__ __forceinline__ void waitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kLeft) : "memory");
}

/// Keeps the compiler from moving uses of the accumulators over a wait, which
/// it would not otherwise connect with them.
template <int kCount>
__device__ __forceinline__ void pin(float (&acc)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(acc[i])::"memory");
}

/// Describes a K-major operand in shared memory (PTX ISA, "Matrix Descriptor
/// Format" of wgmma). Rows are 128 bytes in the 128-byte swizzle, so 8 rows are
/// one 1024-byte pattern, and patterns follow each other: stride offset 1024.
/// The leading offset has no meaning in this layout. Stepping 16 of K, 32
/// bytes, inside a row just adds to the address: the hardware swizzles address
/// bits.
__device__ __forceinline__ uint64_t describe(uint32_t address) {
  uint64_t descriptor = (address & 0x3ffff) >> 4;
  descriptor |= uint64_t(1) << 16;         // leading byte offset / 16
  descriptor |= uint64_t(1024 >> 4) << 32; // stride byte offset / 16
  descriptor |= uint64_t(1) << 62;         // 128-byte swizzle
  return descriptor;
}

// Accumulators as asm operands, sixteen at a time.
#define D2K_ACC4(i)                                                            \
  "+f"(acc[i]), "+f"(acc[(i) + 1]), "+f"(acc[(i) + 2]), "+f"(acc[(i) + 3])
#define D2K_ACC16(i)                                                           \
  D2K_ACC4(i), D2K_ACC4((i) + 4), D2K_ACC4((i) + 8), D2K_ACC4((i) + 12)

/// acc[64x256] (+)= X[64x16] . W[256x16]^T, operands by descriptor; the old
/// content of `acc` counts only when `accumulate` is not 0.
__device__ __forceinline__ void multiplyAsync(float (&acc)[128], uint64_t x,
                                              uint64_t w, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "
      "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "
      "%43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "
      "%57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, "
      "%71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "
      "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, "
      "%99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
      "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "
      "%121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : D2K_ACC16(0), D2K_ACC16(16), D2K_ACC16(32), D2K_ACC16(48),
        D2K_ACC16(64), D2K_ACC16(80), D2K_ACC16(96), D2K_ACC16(112)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

/// acc[64x128] (+)= X[64x16] . W[128x16]^T, operands by descriptor; the old
/// content of `acc` counts only when `accumulate` is not 0.
__device__ __forceinline__ void multiplyAsync(float (&acc)[64], uint64_t x,
                                              uint64_t w, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, "
      "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "
      "%43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "
      "%57, %58, %59, %60, %61, %62, %63}, %64, %65, accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : D2K_ACC16(0), D2K_ACC16(16), D2K_ACC16(32), D2K_ACC16(48)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

#undef D2K_ACC16
#undef D2K_ACC4

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Where a block is in the ring: the stage, and the parity of the phase that
/// the stage's full barrier completes next. Producer and consumers step through
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

/// The rows of tiles, in pairs of kTileM * kCluster, and the columns.
struct Tiles {
  int pairs;
  int columns;
};

/// Grouped order: all columns of kGroupPairs pairs of rows, then the next.
__device__ __forceinline__ int2 tileAt(int index, Tiles tiles) {
  int perGroup = kGroupPairs * tiles.columns;
  int firstPair = index / perGroup * kGroupPairs;
  int pairsHere = min(kGroupPairs, tiles.pairs - firstPair);
  int inGroup = index % perGroup;
  return make_int2(firstPair + inGroup % pairsHere, inGroup / pairsHere);
}

/// bf16(acc + residual) for two adjacent elements, rounded once.
__device__ __forceinline__ uint32_t addAndRound(float lo, float hi,
                                                uint32_t residual) {
  __nv_bfloat162 pair =
      __floats2bfloat162_rn(lo + __uint_as_float(residual << 16),
                            hi + __uint_as_float(residual & 0xffff0000u));
  return *reinterpret_cast<const uint32_t *>(&pair);
}

template <int kTileN>
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kThreads, 1)
    gemmBf16Wgmma(const __grid_constant__ CUtensorMap mapX,
                  const __grid_constant__ CUtensorMap mapW,
                  const __grid_constant__ CUtensorMap mapR,
                  const __grid_constant__ CUtensorMap mapD, Tiles tiles,
                  int slices) {
  using D = Design<kTileN>;
  extern __shared__ uint8_t shared[];
  uint32_t ring = (uint32_t(__cvta_generic_to_shared(shared)) + 1023) & ~1023u;
  uint32_t barriers = ring + kRingBytes;
  auto full = [&](int stage) { return barriers + stage * 8; };
  auto empty = [&](int stage) { return barriers + (D::stages + stage) * 8; };

  // The same for all lanes of a warp, and said so to the compiler.
  int warp = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  int lane = threadIdx.x % 32;
  uint32_t rank = blockInCluster();

  if (warp == 0 && electOneLane()) {
    for (int s = 0; s < D::stages; ++s) {
      // Full: the producer, plus the bytes it announced. Empty: every consumer
      // warp of both blocks, because W is written to both at once.
      initBarrier(full(s), 1);
      initBarrier(empty(s), kConsumerGroups * kWarpsPerGroup * kCluster);
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    prefetchMap(mapX);
    prefetchMap(mapW);
    prefetchMap(mapR);
    prefetchMap(mapD);
  }
  // No copy may reach the other block before its barriers are ready.
  syncCluster();

  int clusters = gridDim.x / kCluster;
  int firstTile = blockIdx.x / kCluster;
  int tileCount = tiles.pairs * tiles.columns;
  Position<D::stages> at;

  if (warp < kWarpsPerGroup) {
    // Producer: one thread issues every copy; the rest of its group only holds
    // the place that setmaxnreg, which works on whole warpgroups, asks for.
    asm volatile(
        "setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kProducerRegisters));
    if (warp == 0 && electOneLane()) {
      for (int tile = firstTile; tile < tileCount; tile += clusters) {
        int2 where = tileAt(tile, tiles);
        int m = (where.x * kCluster + rank) * kTileM;
        int n = where.y * kTileN;
        for (int slice = 0; slice < slices; ++slice) {
          uint32_t stage = ring + at.stage * D::stageBytes;
          // A fresh barrier counts its previous phase (parity 1) as complete:
          // the first round finds every stage empty.
          waitEmpty(empty(at.stage), at.parity ^ 1);
          arriveExpecting(full(at.stage), D::stageBytes);
          loadBox(stage, mapX, slice * kTileK, m, full(at.stage));
          // Each block fetches one half of the W tile for both.
          loadBoxToCluster(stage + D::xBytes + rank * D::wShareBytes, mapW,
                           slice * kTileK, n + rank * (kTileN / kCluster),
                           full(at.stage));
          at.advance();
        }
        for (int part = 0; part < D::residualStages; ++part) {
          uint32_t stage = ring + at.stage * D::stageBytes;
          int column = n + part * D::residualN;
          waitEmpty(empty(at.stage), at.parity ^ 1);
          arriveExpecting(full(at.stage), D::residualBytes);
          loadBox(stage, mapR, column, m, full(at.stage));
          loadBox(stage + kChunkBytes, mapR, column + kChunkN, m,
                  full(at.stage));
          at.advance();
        }
      }
    }
  } else {
    asm volatile(
        "setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kConsumerRegisters));
    int group = warp / kWarpsPerGroup - 1;
    int warpInGroup = warp % kWarpsPerGroup;

    // A warp may give a stage back as soon as its own products are done with
    // it. Lane 0 tells this block and lane 1 the other.
    auto release = [&](int stage) {
      if (lane < kCluster)
        arriveAt(empty(stage), lane, 1);
    };

    float acc[D::accumulators];
    for (int tile = firstTile; tile < tileCount; tile += clusters) {
      int previous = 0;
      for (int slice = 0; slice < slices; ++slice) {
        waitFull(full(at.stage), at.parity);
        uint32_t stageX = ring + at.stage * D::stageBytes;
        uint64_t x = describe(stageX + group * kGroupM * kTileK * 2);
        uint64_t w = describe(stageX + D::xBytes);
        fenceAccumulators();
#pragma unroll
        for (int k = 0; k < kTileK / 16; ++k)
          multiplyAsync(acc, x + k * 2, w + k * 2, slice > 0 || k > 0);
        commitProducts();
        // This slice's products stay in flight; the previous slice's are done.
        waitForProducts<1>();
        if (slice > 0)
          release(previous);
        previous = at.stage;
        at.advance();
      }
      waitForProducts<0>();
      pin(acc);
      release(previous);

      // Epilogue, in place on R. One thread of the group stores, and only it
      // knows when the store has read the stage: it gives the stage back for
      // all four warps, one part later, so that no one waits for the read.
      int2 where = tileAt(tile, tiles);
      int m = (where.x * kCluster + rank) * kTileM + group * kGroupM;
      int n = where.y * kTileN;
      auto releaseForGroup = [&](int stage) {
        for (uint32_t block = 0; block < kCluster; ++block)
          arriveAt(empty(stage), block, kWarpsPerGroup);
      };
      bool storer = warpInGroup == 0 && electOneLane();
#pragma unroll
      for (int part = 0; part < D::residualStages; ++part) {
        waitFull(full(at.stage), at.parity);
        uint32_t stage = ring + at.stage * D::stageBytes;
        // Lanes 0 to 15 address 16 rows of 8 columns, the others the next 8.
        int row = group * kGroupM + warpInGroup * 16 + lane % 16;
#pragma unroll
        for (int chunk = 0; chunk < D::residualN / kChunkN; ++chunk) {
#pragma unroll
          for (int q = 0; q < kChunkN / 16; ++q) {
            int unit = (q * 2 + lane / 16) ^ (row % 8); // TMA's swizzle.
            uint32_t place =
                stage + chunk * kChunkBytes + row * 128 + unit * 16;
            const float *sums =
                &acc[(part * D::residualN + chunk * kChunkN + q * 16) / 2];
            uint32_t residual[4], result[4];
            loadMatrices(residual, place);
#pragma unroll
            for (int i = 0; i < 4; ++i)
              result[i] =
                  addAndRound(sums[2 * i], sums[2 * i + 1], residual[i]);
            storeMatrices(place, result);
          }
        }
        fenceForStores();
        syncGroup(group);
        if (storer) {
          uint32_t from = stage + group * kGroupChunkBytes;
          int column = n + part * D::residualN;
          storeBox(mapD, column, m, from);
          storeBox(mapD, column + kChunkN, m, from + kChunkBytes);
          commitStores();
          if (part > 0) {
            waitForStoreReads<1>();
            releaseForGroup(previous);
          }
        }
        previous = at.stage;
        at.advance();
      }
      if (storer) {
        waitForStoreReads<0>();
        releaseForGroup(previous);
      }
      __syncwarp();
    }
  }
  // A block that left early would take down shared memory to which the other
  // still copies and arrives.
  __syncwarp();
  syncCluster();
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
  if (!encodeMatrix(mapX, args.X, args.M, args.K, kTileM) ||
      !encodeMatrix(mapW, args.W, args.N, args.K, kTileN / kCluster) ||
      !encodeMatrix(mapR, args.R, args.M, args.N, kTileM) ||
      !encodeMatrix(mapD, args.D, args.M, args.N, kGroupM))
    return cudaErrorInvalidValue;

  if (cudaError_t error = cudaFuncSetAttribute(
          gemmBf16Wgmma<kTileN>, cudaFuncAttributeMaxDynamicSharedMemorySize,
          kSharedBytes))
    return error;

  Tiles tiles = {int(ceilDiv(args.M, kTileM * kCluster)),
                 int(ceilDiv(args.N, kTileN))};
  int clusters = multiprocessors / kCluster;
  if (tiles.pairs * tiles.columns < clusters)
    clusters = tiles.pairs * tiles.columns;
  gemmBf16Wgmma<kTileN>
      <<<clusters * kCluster, kThreads, kSharedBytes, stream>>>(
          mapX, mapW, mapR, mapD, tiles, int(ceilDiv(args.K, kTileK)));
  return cudaGetLastError();
}

/// The time of a launch in rounds of tiles, in units of one column of a tile.
/// A 128-wide tile fetches more bytes per product; it was seen to take 1.05 to
/// 1.15 of the time of half a 256-wide one.
double cost(const d2k_gemm_bf16_args &args, int tileN, int multiprocessors) {
  int64_t tiles = ceilDiv(args.M, kTileM * kCluster) * ceilDiv(args.N, tileN);
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
