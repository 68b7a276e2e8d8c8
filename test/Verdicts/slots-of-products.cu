// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose operands lie where copies put them, and others that read elsewhere in the same
// array.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/WgmmaGemm.h"

__device__ __forceinline__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sa(to)), "l"(from) : "memory");
}

// Tiles of 16 x 16 halves of A and of 8 x 16 of B for one warp; copies go to slot `TO`, ldmatrix
// reads slot `FROM`. What is stored depends on `x`, too.
template <int TO, int FROM>
__device__ __forceinline__ void warpProduct(const __half *a, const __half *b, float *o, int k,
                                            const float *x) {
  __shared__ alignas(128) __half s[2][24 * 16];
  int t = threadIdx.x;
  float d[4] = {};
  for (int i = 0; i < k / 16; ++i) {
    copy16(&s[TO][t * 8], a + (size_t)(t / 2) * k + i * 16 + (t & 1) * 8);
    if (t < 16)
      copy16(&s[TO][256 + t * 8], b + (size_t)(t / 2) * k + i * 16 + (t & 1) * 8);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    uint32_t p[4], q[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3])
                 : "r"(sa(&s[FROM][(t & 15) * 16 + (t >> 4) * 8]))
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(q[0]), "=r"(q[1])
                 : "r"(sa(&s[FROM][256 + (t & 7) * 16 + (t >> 3 & 1) * 8]))
                 : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j)
    o[(blockIdx.x * 4 + j) * 32 + t] = d[j] + x[j * 32 + t];
}

// EXPECT sameSlot: tensor_core present family=mma_sync: reads what was copied
// EXPECT sameSlot: smem_tiling present: by ldmatrix
// EXPECT sameSlot: async_copy present: cp.async
__global__ void __launch_bounds__(32) sameSlot(const __half *a, const __half *b, float *o, int k,
                                               const float *x) {
  warpProduct<0, 0>(a, b, o, k, x);
}

// EXPECT emptySlot: tensor_core absent: ldmatrix reads slot 1, which nobody fills
// EXPECT emptySlot: smem_tiling absent: what is copied is not read
// EXPECT emptySlot: async_copy absent: what is copied is not read
__global__ void __launch_bounds__(32) emptySlot(const __half *a, const __half *b, float *o, int k,
                                                const float *x) {
  warpProduct<0, 1>(a, b, o, k, x);
}

// One copy brings 128 rows of A, of which each of two warpgroups multiplies 64.
struct alignas(1024) Tall {
  bf a[128 * 64], b[64 * 64];
  uint64_t full;
};
#define TALL                                                             \
  extern __shared__ uint8_t raw[];                                       \
  Tall &s = *(Tall *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw);   \
  if (threadIdx.x == 0) {                                                \
    mbInit(&s.full, 1);                                                  \
    asm volatile("fence.mbarrier_init.release.cluster;");                \
  }                                                                      \
  __syncthreads();                                                       \
  int steps = k / 64, row = blockIdx.y * 128, col = blockIdx.x * 64
#define FILL(i)                         \
  if (threadIdx.x == 0) {               \
    mbTx(&s.full, 24576);               \
    tma2(s.a, &ma, &s.full, i *64, row); \
    tma2(s.b, &mb, &s.full, i *64, col); \
  }                                     \
  MBWAIT(&s.full, (i) & 1)

// EXPECT tallTile: tensor_core present family=wgmma: each warpgroup has its half of one box
// EXPECT tallTile: smem_tiling present: the matrix unit reads both tiles
// EXPECT tallTile: tma present op=load: tensor maps
__global__ void __launch_bounds__(256) tallTile(ARGS) {
  TALL;
  int wg = threadIdx.x / 128;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    FILL(i);
    wgFence();
    mma4(d, s.a + wg * 4096, s.b);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row + wg * 64, col);
}

// EXPECT bothHalves: tensor_core present family=wgmma: one warpgroup multiplies one half after the
//   other
// EXPECT bothHalves: smem_tiling present: the matrix unit reads both tiles
__global__ void __launch_bounds__(128) bothHalves(ARGS) {
  TALL;
  float d[32] = {}, e[32] = {};
  for (int i = 0; i < steps; ++i) {
    FILL(i);
    wgFence();
    mma4(d, s.a, s.b);
    mma4(e, s.a + 4096, s.b);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
  put64(e, c, n, row + 64, col);
}

void run(bf *a, bf *b, bf **o, const __half *h, float **f, const float *x, cudaStream_t st) {
  sameSlot<<<64, 32, 0, st>>>(h, h, f[0], 256, x);
  emptySlot<<<64, 32, 0, st>>>(h, h, f[1], 256, x);
  CUtensorMap ma = mk(a, 2048, 4096, CU_TENSOR_MAP_SWIZZLE_128B, 128), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Tall) + 1024;
  cudaFuncSetAttribute(tallTile, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  cudaFuncSetAttribute(bothHalves, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  tallTile<<<dim3(32, 16), 256, sh, st>>>(ma, mb, o[0], 2048, 4096);
  bothHalves<<<dim3(32, 16), 128, sh, st>>>(ma, mb, o[1], 2048, 4096);
}
