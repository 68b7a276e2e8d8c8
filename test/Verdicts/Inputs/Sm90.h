// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers in shared memory, bulk copies and wgmma, as one PTX instruction each.

#pragma once
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

typedef __nv_bfloat16 bf;

// The address in the window of shared memory.
__device__ __forceinline__ uint32_t sa(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
// An mbarrier for `n` arrivals a phase.
__device__ __forceinline__ void mbInit(uint64_t *b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sa(b)), "r"(n));
}
// Arrives, and expects `n` bytes of copies.
__device__ __forceinline__ void mbTx(uint64_t *b, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sa(b)), "r"(n)
               : "memory");
}
// Arrives.
__device__ __forceinline__ void mbArrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sa(b)) : "memory");
}
// Waits until the phase of parity `ph` is complete.
#define MBWAIT(b, ph)                                                                                      \
  do {                                                                                                     \
    uint32_t ok_;                                                                                          \
    do {                                                                                                   \
      asm volatile(                                                                                        \
          "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0,1,0,p;\n}" \
          : "=r"(ok_)                                                                                      \
          : "r"(sa(b)), "r"(ph)                                                                            \
          : "memory");                                                                                     \
    } while (!ok_);                                                                                        \
  } while (0)
// A box of a 2D tensor map to shared memory.
__device__ __forceinline__ void tma2(void *d, const CUtensorMap *m, uint64_t *b, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(sa(d)),
      "l"(m), "r"(sa(b)), "r"(x), "r"(y)
      : "memory");
}
// `n` bytes to shared memory.
__device__ __forceinline__ void bulkLoad(void *d, const void *s, int n, uint64_t *b) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(sa(d)),
      "l"(s), "r"(n), "r"(sa(b))
      : "memory");
}
// `n` bytes from shared memory.
__device__ __forceinline__ void bulkStore(void *d, const void *s, int n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(d), "r"(sa(s)),
               "r"(n)
               : "memory");
}
__device__ __forceinline__ void bulkCommit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void bulkWait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
__device__ __forceinline__ void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void wgFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void wgWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// A matrix descriptor: rows of 128 bytes, K-major, swizzled by 128 bytes.
__device__ __forceinline__ uint64_t desc128(const void *p) {
  uint64_t a = sa(p);
  return ((a & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
// d += a b of 64 x 64 x 16.
__device__ __forceinline__ void wg64(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}
// Stores the sums of a warpgroup, 64 x 64, as bf16.
__device__ __forceinline__ void put64(const float (&d)[32], bf *c, int n, int row, int col) {
  int t = threadIdx.x % 128, w = t / 32, l = t % 32;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    *(__nv_bfloat162 *)(c + (size_t)(row + w * 16 + l / 4) * n + col + j * 8 + l % 4 * 2) =
        __floats2bfloat162_rn(d[4 * j], d[4 * j + 1]);
    *(__nv_bfloat162 *)(c + (size_t)(row + w * 16 + l / 4 + 8) * n + col + j * 8 + l % 4 * 2) =
        __floats2bfloat162_rn(d[4 * j + 2], d[4 * j + 3]);
  }
}
// 64 x 64 x 64: four steps.
__device__ __forceinline__ void mma4(float (&d)[32], const bf *a, const bf *b) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
    wg64(d, desc128(a + k * 16), desc128(b + k * 16));
}
