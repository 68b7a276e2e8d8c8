// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of bf16 by wgmma in tiles of 64 x 64 x 64, whose tiles TMA brings into a ring of four
// slots with two barriers a slot.

#pragma once
#include "Sm90.h"

constexpr int ST = 4;

// Shared memory of a kernel.
struct alignas(1024) Sh {
  bf a[ST][64 * 64];
  bf b[ST][64 * 64];
  uint64_t full[ST], empty[ST];
};

// Every kernel's begin: barriers, and the output tile of the block.
#define HEAD                                                       \
  extern __shared__ uint8_t raw[];                                 \
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw); \
  int wg = threadIdx.x / 128;                                      \
  if (threadIdx.x == 0) {                                          \
    for (int i = 0; i < ST; ++i) {                                 \
      mbInit(&s.full[i], 1);                                       \
      mbInit(&s.empty[i], 128);                                    \
    }                                                              \
    asm volatile("fence.mbarrier_init.release.cluster;");          \
  }                                                                \
  __syncthreads();                                                 \
  int steps = k / 64, row = blockIdx.y * 64, col = blockIdx.x * 64;

// Asks for both tiles of step `i`.
__device__ __forceinline__ void issue(Sh &s, const CUtensorMap *a, const CUtensorMap *b, int slot,
                                      int i, int row, int col) {
  mbTx(&s.full[slot], 16384);
  tma2(s.a[slot], a, &s.full[slot], i * 64, row);
  tma2(s.b[slot], b, &s.full[slot], i * 64, col);
}

// Every kernel's parameters.
#define ARGS                                                                                    \
  const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, bf *c, int n, \
      int k

// A tensor map for boxes of 64 x 64, or of other rows.
inline CUtensorMap mk(void *p, int rows, int cols,
                      CUtensorMapSwizzle z = CU_TENSOR_MAP_SWIZZLE_128B, cuuint32_t high = 64) {
  CUtensorMap m;
  cuuint64_t d[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, st[1] = {(cuuint64_t)cols * 2};
  cuuint32_t box[2] = {64, high}, es[2] = {1, 1};
  cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, d, st, box, es,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, z, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return m;
}
