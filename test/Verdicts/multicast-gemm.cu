// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TMA with multicast in a cluster, TMA stores, prefetches, and turns by mbarriers.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/Sm90.h"

constexpr int ST = 4;

struct alignas(1024) Sh {
  bf a[ST][64 * 64];
  bf b[ST][64 * 64];
  bf out[64 * 64];
  uint64_t full[ST], empty[ST];
};

#define ARGS                                                                      \
  const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, \
      const __grid_constant__ CUtensorMap mc, bf *c, int n, int k

__device__ __forceinline__ void cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

#define HEAD                                                       \
  extern __shared__ uint8_t raw[];                                 \
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw); \
  int wg = threadIdx.x / 128;                                      \
  uint32_t rank;                                                   \
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));     \
  if (threadIdx.x == 0) {                                          \
    for (int i = 0; i < ST; ++i) {                                 \
      mbInit(&s.full[i], 1);                                       \
      mbInit(&s.empty[i], 2);                                      \
    }                                                              \
    asm volatile("fence.mbarrier_init.release.cluster;");          \
  }                                                                \
  cluster();                                                       \
  int steps = k / 64, row = blockIdx.x * 64, col = blockIdx.y * 64;

// EXPECT mcGemm: tma present op=load multicast=true: half of B from each block, to both
// EXPECT mcGemm: cluster_launch present x=2: __cluster_dims__
// EXPECT mcGemm: distributed_smem present op=multicast: half of B goes to both blocks
// EXPECT mcGemm: async_pipeline present mechanism=tma depth=4: a ring of four slots
// EXPECT mcGemm: warp_specialization present roles=copy+matrix: a copying and a multiplying role
// EXPECT mcGemm: bulk_store_epilogue present op=tma_tensor: out through shared memory and TMA
// EXPECT mcGemm: tensor_core present family=wgmma: matrix instructions make the output
__global__ void __cluster_dims__(2) __launch_bounds__(256, 1) mcGemm(ARGS) {
  HEAD;

  if (wg == 1) {
    if (threadIdx.x == 128)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        mbTx(&s.full[slot], 16384);
        tma2(s.a[slot], &ma, &s.full[slot], i * 64, row);
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::
                "r"(sa(s.b[slot] + rank * 2048)),
            "l"(&mb), "r"(sa(&s.full[slot])), "r"(i * 64), "r"(col + (int)rank * 32),
            "h"((uint16_t)3)
            : "memory");
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      if (threadIdx.x < 2) {
        uint32_t r;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                     : "=r"(r)
                     : "r"(sa(&s.empty[slot])), "r"(threadIdx.x));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(r)
                     : "memory");
      }
    }
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      *(__nv_bfloat162 *)&s.out[(w * 16 + l / 4) * 64 + j * 8 + l % 4 * 2] =
          __floats2bfloat162_rn(d[4 * j], d[4 * j + 1]);
      *(__nv_bfloat162 *)&s.out[(w * 16 + l / 4 + 8) * 64 + j * 8 + l % 4 * 2] =
          __floats2bfloat162_rn(d[4 * j + 2], d[4 * j + 3]);
    }
    fenceAsync();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) {
      asm volatile(
          "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
              &mc),
          "r"(sa(s.out)), "r"(col), "r"(row)
          : "memory");
      bulkCommit();
      bulkWait();
    }
  }
  cluster();
}

// EXPECT tmaStFake: bulk_store_epilogue absent:
//   the TMA store takes the tile of A; the threads store the results
// EXPECT tmaStFake: tma present op=load: both operands come by TMA
__global__ void __launch_bounds__(128) tmaStFake(ARGS) {
  extern __shared__ uint8_t raw[];
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw);
  if (threadIdx.x == 0) {
    mbInit(&s.full[0], 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  int steps = k / 64, row = blockIdx.x * 64, col = blockIdx.y * 64;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0) {
      mbTx(&s.full[0], 16384);
      tma2(s.a[0], &ma, &s.full[0], i * 64, row);
      tma2(s.b[0], &mb, &s.full[0], i * 64, col);
    }
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            &mc),
        "r"(sa(s.a[0])), "r"(col), "r"(row)
        : "memory");
    bulkCommit();
    bulkWait();
  }
  __syncthreads();
  put64(d, c, n, row, col);
}

// EXPECT pfOnly: tma absent op=prefetch: cp.async.bulk.prefetch of data that the kernel never reads
__global__ void pfOnly(const float *a, const float *never, float *o) {
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(never + blockIdx.x * 1024),
                 "r"(4096)
                 : "memory");
  o[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
}

// EXPECT pfReal: tma present op=prefetch: prefetches the next rows, which it reads later
__global__ void pfReal(const float *a, float *o, int rows) {
  float v = 0;
  const float *p = a + (size_t)blockIdx.x * rows * 1024;
  for (int r = 0; r < rows; ++r) {
    if (threadIdx.x == 0 && r + 1 < rows)
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p + (size_t)(r + 1) * 1024),
                   "r"(4096)
                   : "memory");
    for (int j = 0; j < 4; ++j)
      v += p[(size_t)r * 1024 + j * 256 + threadIdx.x];
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT descOnly: tma absent: prefetch.tensormap only, data by plain loads
__global__ void descOnly(const __grid_constant__ CUtensorMap m, const float *a, float *o) {
  if (threadIdx.x == 0)
    asm volatile("prefetch.tensormap [%0];" ::"l"(&m) : "memory");
  o[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
}

// EXPECT pp: pingpong_schedule present:
//   turns by mbarriers: each group waits for its own turn barrier before its products and arrives
//   at the other's behind them
// EXPECT pp: persistent_kernel present scheduler=static: 132 blocks, 1024 tiles
// EXPECT pp: warp_specialization present: a producer and two consumers
__global__ void __launch_bounds__(384, 1) pp(ARGS, int tiles) {
  extern __shared__ uint8_t raw[];
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw);
  __shared__ uint64_t turn[2];
  int wg = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < ST; ++i) {
      mbInit(&s.full[i], 1);
      mbInit(&s.empty[i], 128);
    }
    mbInit(&turn[0], 128);
    mbInit(&turn[1], 128);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  int steps = k / 64, tn = n / 64;
  if (wg == 0) {
    if (threadIdx.x == 0) {
      unsigned it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          mbTx(&s.full[slot], 16384);
          tma2(s.a[slot], &ma, &s.full[slot], i * 64, t / tn * 64);
          tma2(s.b[slot], &mb, &s.full[slot], i * 64, t % tn * 64);
        }
    }
  } else if (wg == 1) {
    unsigned it = 0, turns = 0;
    for (int t = blockIdx.x; t < tiles; t += 2 * gridDim.x, ++turns) {
      float d[32] = {};
      MBWAIT(&turn[0], (turns & 1) ^ 1);
      for (int i = 0; i < steps; ++i, ++it) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      mbArrive(&turn[1]);
      put64(d, c, n, t / tn * 64, t % tn * 64);
      it += steps;
    }
  } else {
    unsigned it = steps, turns = 0;
    for (int t = blockIdx.x + gridDim.x; t < tiles; t += 2 * gridDim.x, ++turns) {
      float d[32] = {};
      MBWAIT(&turn[1], turns & 1);
      for (int i = 0; i < steps; ++i, ++it) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      mbArrive(&turn[0]);
      put64(d, c, n, t / tn * 64, t % tn * 64);
      it += steps;
    }
  }
}

CUtensorMap mk(void *p, int rows, int cols, int r) {
  CUtensorMap m;
  cuuint64_t d[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, st[1] = {(cuuint64_t)cols * 2};
  cuuint32_t box[2] = {64, (cuuint32_t)r}, es[2] = {1, 1};
  cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, d, st, box, es,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return m;
}

void run(bf *a, bf *b, bf **o, float *x, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096, 64), mb = mk(b, 2048, 4096, 32), mb64 = mk(b, 2048, 4096, 64),
              mc = mk(o[0], 2048, 2048, 64), mc1 = mk(o[1], 2048, 2048, 64);
  size_t sh = sizeof(Sh) + 1024;
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(mcGemm);
  mcGemm<<<dim3(32, 32), 256, sh, st>>>(ma, mb, mc, o[0], 2048, 4096);
  ATTR(tmaStFake);
  tmaStFake<<<dim3(32, 32), 128, sh, st>>>(ma, mb64, mc1, o[1], 2048, 4096);
  pfOnly<<<64, 256, 0, st>>>(x, (float *)a, (float *)o[2]);
  pfReal<<<64, 256, 0, st>>>(x, (float *)o[3], 64);
  descOnly<<<64, 256, 0, st>>>(ma, x, (float *)o[4]);
  ATTR(pp);
  pp<<<132, 384, sh, st>>>(ma, mb64, mc, o[5], 2048, 4096, 1024);
}
