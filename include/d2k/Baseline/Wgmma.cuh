// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of warpgroups on bf16, and the tensor copies and barriers that feed
// them, for the hand-written kernels of baselines on sm_90a. Elsewhere the
// device functions are not there: D2K_HAS_WGMMA says so.

#ifndef D2K_BASELINE_WGMMA_CUH
#define D2K_BASELINE_WGMMA_CUH

#include "d2k/Baseline/Device.h"
#include "d2k/Baseline/MatrixDescriptor.cuh"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define D2K_HAS_WGMMA 1
#else
#define D2K_HAS_WGMMA 0
#endif

namespace d2k::baseline {

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

/// Describes a row-major matrix at \p base, whose elements have \p bytes each,
/// in boxes of 128 bytes of columns and \p boxRows (at most 256) rows with the
/// swizzle of 128 bytes. Returns a cudaError. The driver's function is looked
/// up, so that nothing is linked against it.
inline int describeBoxes(CUtensorMap &map, CUtensorMapDataType type, int bytes,
                         const void *base, int64_t rows, int64_t columns,
                         int boxRows) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaError_t error = cudaGetDriverEntryPointByVersion(
          "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result))
    return error;
  if (result != cudaDriverEntryPointSuccess)
    return cudaErrorNotSupported;
  cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)};
  cuuint64_t rowStride[1] = {cuuint64_t(columns) * cuuint64_t(bytes)};
  cuuint32_t box[2] = {cuuint32_t(128 / bytes), cuuint32_t(boxRows)};
  cuuint32_t step[2] = {1, 1};
  auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  return encode(&map, type, 2, const_cast<void *>(base), sizes, rowStride, box,
                step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/// A bf16 matrix for copyBox, in boxes of 64 columns; elements outside become
/// zeros.
inline int describeMatrix(CUtensorMap &map, const void *base, int64_t rows,
                          int64_t columns, int boxRows) {
  return describeBoxes(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, rows,
                       columns, boxRows);
}

/// An fp32 matrix for addBox, in boxes of 32 columns; what is outside is left
/// out.
inline int describeSums(CUtensorMap &map, float *base, int64_t rows,
                        int64_t columns, int boxRows) {
  return describeBoxes(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, base, rows,
                       columns, boxRows);
}

#if D2K_HAS_WGMMA

//===----------------------------------------------------------------------===//
// Barriers and copies
//===----------------------------------------------------------------------===//

/// One lane of the warp, the same each time.
__device__ inline bool electOneLane() {
  uint32_t elected;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}\n"
               : "=r"(elected));
  return elected;
}

__device__ inline void initBarrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}

/// After initBarrier, before tensor copies that complete them.
__device__ inline void fenceBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

/// Until the phase of this parity is complete.
__device__ inline void waitForBarrier(uint32_t barrier, uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "retry:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra retry;\n"
               "}\n" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier)
               : "memory");
}

/// An arrival that also announces the \p bytes which copies bring.
__device__ inline void arriveExpecting(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], "
               "%1;\n" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

/// Copies the box at (column, row) to the shared address \p to.
__device__ inline void copyBox(uint32_t to, const CUtensorMap &map, int column,
                               int row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

/// Adds the box at the shared address \p from, which fenceForProducts has made
/// visible, to what is at (column, row); one of the operations that the
/// thread's next commitBulk makes a group of.
__device__ inline void addBox(const CUtensorMap &map, int column, int row,
                              uint32_t from) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile"
               ".bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(&map),
               "r"(column), "r"(row), "r"(from)
               : "memory");
}

__device__ inline void commitBulk() {
  asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
}

/// Until the thread's groups have read all that they take from shared memory.
__device__ inline void waitForBulkReads() {
  asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory");
}

/// Makes what this thread has written to shared memory visible to products and
/// tensor copies.
__device__ inline void fenceForProducts() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

/// Waits at a barrier of the block, 1 to 15, until \p threads are there, or
/// only arrives.
__device__ inline void meetAt(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arriveAt(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(barrier), "r"(threads) : "memory");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Registers of each thread of the warpgroup, from now on.
template <int kCount>
__device__ inline void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kCount));
}
template <int kCount>
__device__ inline void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kCount));
}

__device__ inline void fenceAccumulators() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}

__device__ inline void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}

/// Until all but the last \p kPending groups of products are done.
template <int kPending>
__device__ inline void waitForProductsBut() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending)
               : "memory");
}

/// Keeps the compiler from moving uses of the accumulators over a wait, and
/// what makes the registers of an operand over the products that read them.
template <int kCount>
__device__ inline void pin(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(sums[i])::"memory");
}
template <int kCount>
__device__ inline void pin(uint32_t (&operand)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile("" : "+r"(operand[i][j])::"memory");
}

/// Keeps the compiler from computing ahead of a loop, and keeping in registers,
/// what follows from a descriptor.
__device__ inline void pin(uint64_t &descriptor) {
  asm volatile("" : "+l"(descriptor));
}

#define D2K_SUMS4(i)                                                           \
  "+f"(sums[i]), "+f"(sums[(i) + 1]), "+f"(sums[(i) + 2]), "+f"(sums[(i) + 3])
#define D2K_SUMS16(i)                                                          \
  D2K_SUMS4(i), D2K_SUMS4((i) + 4), D2K_SUMS4((i) + 8), D2K_SUMS4((i) + 12)

/// sums[64x256] (+)= X[64x16] W[256x16]^T. Thread t of the warpgroup has, in
/// sums[4 j + 2 h + c], row t / 32 * 16 + 8 h + t % 32 / 4 and column 8 j +
/// t % 4 * 2 + c. What was in sums counts when \p accumulate is not 0.
__device__ inline void multiplyAsync(float (&sums)[128], uint64_t x, uint64_t w,
                                     int accumulate) {
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
      : D2K_SUMS16(0), D2K_SUMS16(16), D2K_SUMS16(32), D2K_SUMS16(48),
        D2K_SUMS16(64), D2K_SUMS16(80), D2K_SUMS16(96), D2K_SUMS16(112)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

/// The same with 128, 80 and 64 rows of W.
__device__ inline void multiplyAsync(float (&sums)[64], uint64_t x, uint64_t w,
                                     int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, "
      "accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16), D2K_SUMS16(32), D2K_SUMS16(48)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

__device__ inline void multiplyAsync(float (&sums)[40], uint64_t x, uint64_t w,
                                     int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %42, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, %40, %41, "
      "accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16), D2K_SUMS4(32), D2K_SUMS4(36)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

__device__ inline void multiplyAsync(float (&sums)[32], uint64_t x, uint64_t w,
                                     int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, %32, %33, accumulate, 1, 1, 0, 0;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16)
      : "l"(x), "l"(w), "r"(accumulate)
      : "memory");
}

/// sums[64xN] (+)= A[64x16] V[16xN], N 64, 128 or 256: A by registers, as
/// fragment a of mma.m16n8k16 for the 16 rows of each warp, V by
/// describeTransposed.
__device__ inline void multiplyAsync(float (&sums)[32], const uint32_t (&a)[4],
                                     uint64_t v, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, {%32, %33, %34, %35}, %36, accumulate, 1, 1, 1;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(v), "r"(accumulate)
      : "memory");
}

__device__ inline void multiplyAsync(float (&sums)[64], const uint32_t (&a)[4],
                                     uint64_t v, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, "
      "%67}, %68, accumulate, 1, 1, 1;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16), D2K_SUMS16(32), D2K_SUMS16(48)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(v), "r"(accumulate)
      : "memory");
}

__device__ inline void multiplyAsync(float (&sums)[128], const uint32_t (&a)[4],
                                     uint64_t v, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, "
      "%67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, "
      "%93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "
      "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, "
      "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, {%128, %129, %130, %131}, %132, accumulate, 1, 1, 1;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16), D2K_SUMS16(32), D2K_SUMS16(48),
        D2K_SUMS16(64), D2K_SUMS16(80), D2K_SUMS16(96), D2K_SUMS16(112)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(v), "r"(accumulate)
      : "memory");
}

/// sums[64x64] (+)= A[64x16] V[16x64], both by describeTransposed: the rows of
/// A are contiguous in shared memory.
__device__ inline void multiplyTransposedAsync(float (&sums)[32], uint64_t a,
                                               uint64_t v, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31}, %32, %33, accumulate, 1, 1, 1, 1;\n"
      "}\n"
      : D2K_SUMS16(0), D2K_SUMS16(16)
      : "l"(a), "l"(v), "r"(accumulate)
      : "memory");
}

#undef D2K_SUMS16
#undef D2K_SUMS4

#endif // D2K_HAS_WGMMA

} // namespace d2k::baseline

#endif // D2K_BASELINE_WGMMA_CUH
