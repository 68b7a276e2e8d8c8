// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of bf16 by tcgen05 in tiles of 128 x 64 x 64, whose tiles TMA brings into slots of shared
// memory and whose sums stand in tensor memory.

#pragma once
#include "Sm90.h"

#ifndef TMEM_COLUMNS
#define TMEM_COLUMNS "64"
#endif

// A matrix descriptor: rows of 128 bytes, K-major, swizzled by 128 bytes.
__device__ __forceinline__ uint64_t d100(const void *p) {
  uint64_t a = sa(p);
  return ((a & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 46) | (2ull << 61);
}

// bf16 x bf16 to f32, 128 x 64.
constexpr uint32_t ID =
    (1u << 4) | (1u << 7) | (1u << 10) | ((64u / 8) << 17) | ((128u / 16) << 24);

// d (+)= a b of 128 x 64 x 16.
__device__ __forceinline__ void tc(uint32_t d, uint64_t a, uint64_t b, uint32_t acc) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::
          "r"(d),
      "l"(a), "l"(b), "r"(ID), "r"(acc)
      : "memory");
}

// Arrives when the products so far are done.
__device__ __forceinline__ void tcCommit(uint64_t *b) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(sa(b))
      : "memory");
}

// Eight columns to registers.
__device__ __forceinline__ void tld8(float *r, uint32_t a) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]), "=f"(r[4]), "=f"(r[5]), "=f"(r[6]),
                 "=f"(r[7])
               : "r"(a));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// Registers to eight columns.
__device__ __forceinline__ void tst8(const float *r, uint32_t a) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" ::"f"(r[0]),
               "f"(r[1]), "f"(r[2]), "f"(r[3]), "f"(r[4]), "f"(r[5]), "f"(r[6]), "f"(r[7]), "r"(a)
               : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

constexpr int ST = 4;

// Shared memory of a kernel.
struct alignas(1024) Sh {
  bf a[ST][128 * 64];
  bf b[ST][64 * 64];
  uint64_t full[ST], empty[ST], done;
  uint32_t tm;
};

// Every kernel's parameters.
#define ARGS                                                                                       \
  const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, float *c, int n, \
      int k

// Every kernel's begin: barriers, TMEM_COLUMNS of tensor memory, the output tile of the block.
#define HEAD                                                                                   \
  extern __shared__ uint8_t raw[];                                                             \
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw);                             \
  int w = threadIdx.x / 32;                                                                    \
  if (threadIdx.x == 0) {                                                                      \
    for (int i = 0; i < ST; ++i) {                                                             \
      mbInit(&s.full[i], 1);                                                                   \
      mbInit(&s.empty[i], 1);                                                                  \
    }                                                                                          \
    mbInit(&s.done, 1);                                                                        \
    asm volatile("fence.mbarrier_init.release.cluster;");                                      \
  }                                                                                            \
  if (w == 0)                                                                                  \
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], " TMEM_COLUMNS \
                 ";" ::"r"(sa(&s.tm))                                                          \
                 : "memory");                                                                  \
  asm volatile("tcgen05.fence::before_thread_sync;");                                          \
  __syncthreads();                                                                             \
  asm volatile("tcgen05.fence::after_thread_sync;");                                           \
  uint32_t tm = s.tm;                                                                          \
  int steps = k / 64, row = blockIdx.y * 128, col = blockIdx.x * 64;

// Every kernel's end.
#define FREE                                                                                       \
  asm volatile("tcgen05.fence::before_thread_sync;");                                              \
  __syncthreads();                                                                                 \
  if (w == 0) {                                                                                    \
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");                    \
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, " TMEM_COLUMNS ";" ::"r"(tm)); \
  }

// Asks for both tiles of step `i`.
__device__ __forceinline__ void load(Sh &s, const CUtensorMap *a, const CUtensorMap *b, int slot,
                                     int i, int row, int col) {
  mbTx(&s.full[slot], 16384 + 8192);
  tma2(s.a[slot], a, &s.full[slot], i * 64, row);
  tma2(s.b[slot], b, &s.full[slot], i * 64, col);
}

// A tensor map for boxes of `r` rows of 64.
inline CUtensorMap mk(void *p, int rows, int cols, int r) {
  CUtensorMap m;
  cuuint64_t d[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, st[1] = {(cuuint64_t)cols * 2};
  cuuint32_t box[2] = {64, (cuuint32_t)r}, es[2] = {1, 1};
  cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, d, st, box, es,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return m;
}
