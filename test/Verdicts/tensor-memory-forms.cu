// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tcgen05 with sums in one or two places of tensor memory, what is done with them, and pairs of floats.
//
// VERDICTS arch=sm_100a entry=run read=ptx,cubin

#define TMEM_COLUMNS "128"
#include "Inputs/Tcgen05.h"

// All steps of a tile by one thread, copies and products, into columns from `at`; `it` counts steps.
#define STEPS(at)                                                                   \
  for (int i = 0; i < steps; ++i) {                                                 \
    if (threadIdx.x == 0) {                                                         \
      load(s, &ma, &mb, 0, i, row, col);                                            \
      MBWAIT(&s.full[0], i & 1);                                                    \
      _Pragma("unroll") for (int kk = 0; kk < 4; ++kk)                              \
          tc(at, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);       \
      tcCommit(&s.done);                                                            \
    }                                                                               \
    MBWAIT(&s.done, i & 1);                                                         \
    __syncthreads();                                                                \
  }                                                                                 \
  asm volatile("tcgen05.fence::after_thread_sync;")

template <class F> __device__ __forceinline__ void rows(float *o, uint32_t tm, F f) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + j * 8);
#pragma unroll
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = f(v[q], j * 8 + q);
  }
}

// EXPECT biased: epilogue_fusion present ops=operand: a bias a column
// EXPECT biased: tmem_accumulator present columns=128: allocated, written, read, freed
// EXPECT biased: tensor_core present family=tcgen05 cta_group=1: the product
// EXPECT biased: async_pipeline absent: copied and waited for in a step
__global__ void __launch_bounds__(128) biased(ARGS, const float *bias) {
  HEAD;
  STEPS(tm);
  rows(c + (size_t)(row + threadIdx.x) * n + col, tm + (w << 21),
       [&](float v, int j) { return v + bias[col + j]; });
  FREE;
}

// EXPECT unread: tmem_accumulator absent: nothing reads the sums
// EXPECT unread: tensor_core absent: the output is the bias
__global__ void __launch_bounds__(128) unread(ARGS, const float *bias) {
  HEAD;
  STEPS(tm);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 64; ++j)
    o[j] = bias[col + j] * 2.f;
  FREE;
}

// EXPECT otherColumns: tmem_accumulator absent:
//   products go to columns 0 to 63, the output is read from 64 on, where threads put loaded data
// EXPECT otherColumns: tensor_core absent: the same
__global__ void __launch_bounds__(128) otherColumns(ARGS, const float *x) {
  HEAD;
  STEPS(tm);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    for (int q = 0; q < 8; ++q)
      v[q] = x[(size_t)(row + threadIdx.x) * n + col + j * 8 + q];
    tst8(v, tm + 64 + (w << 21) + j * 8);
  }
  rows(o, tm + 64 + (w << 21), [](float v, int) { return v * 2.f; });
  FREE;
}

// EXPECT upperColumns: tmem_accumulator present columns=128: products go to columns from 64 on
// EXPECT upperColumns: tensor_core present family=tcgen05: and are read there
// EXPECT upperColumns: epilogue_fusion absent: stored as they are
__global__ void __launch_bounds__(128) upperColumns(ARGS) {
  HEAD;
  STEPS(tm + 64);
  rows(c + (size_t)(row + threadIdx.x) * n + col, tm + 64 + (w << 21), [](float v, int) { return v; });
  FREE;
}

// EXPECT twoStages: tmem_accumulator present stages=2:
//   the sums of a tile stand beside those of the tile before, which are read meanwhile
// EXPECT twoStages: persistent_kernel in ptx present scheduler=static: 148 blocks, 512 tiles
// EXPECT twoStages: warp_specialization present: copies, products, epilogue in warps of their own
// EXPECT twoStages: async_pipeline present mechanism=tma depth=4: a ring of four slots
__global__ void __launch_bounds__(192) twoStages(ARGS) {
  __shared__ uint64_t made[2], taken[2];
  HEAD;
  int across = n / 64, tiles = (n / 128) * across;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      mbInit(&made[i], 1);
      mbInit(&taken[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (w == 4) {
    if (threadIdx.x == 128) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          MBWAIT(&s.empty[it % ST], (it / ST & 1) ^ 1);
          load(s, &ma, &mb, it % ST, i, t / across * 128, t % across * 64);
        }
    }
  } else if (w == 5) {
    if (threadIdx.x == 160) {
      int it = 0, nr = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x, ++nr) {
        MBWAIT(&taken[nr & 1], (nr / 2 & 1) ^ 1);
        asm volatile("tcgen05.fence::after_thread_sync;");
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST;
          MBWAIT(&s.full[slot], it / ST & 1);
          asm volatile("tcgen05.fence::after_thread_sync;");
#pragma unroll
          for (int kk = 0; kk < 4; ++kk)
            tc(tm + (nr & 1) * 64, d100(s.a[slot] + kk * 16), d100(s.b[slot] + kk * 16), i + kk > 0);
          tcCommit(&s.empty[slot]);
        }
        tcCommit(&made[nr & 1]);
      }
    }
  } else {
    int nr = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, ++nr) {
      MBWAIT(&made[nr & 1], nr / 2 & 1);
      asm volatile("tcgen05.fence::after_thread_sync;");
      rows(c + (size_t)(t / across * 128 + threadIdx.x) * n + t % across * 64,
           tm + (nr & 1) * 64 + (w << 21), [](float v, int) { return fmaxf(v, 0.f); });
      asm volatile("tcgen05.fence::before_thread_sync;");
      mbArrive(&taken[nr & 1]);
    }
  }
  FREE;
}

// EXPECT pairOfFloats: packed_math present type=f32x2: add.rn.f32x2
// EXPECT pairOfFloats: vector_global_access present direction=load bytes=8: pairs
__global__ void pairOfFloats(const float2 *a, const float2 *b, float2 *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned long long x = *(const unsigned long long *)&a[i], y = *(const unsigned long long *)&b[i], r;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y));
  *(unsigned long long *)&c[i] = r;
}
// EXPECT movedOnly: packed_math absent: 64-bit moves, and two single additions
__global__ void movedOnly(const float2 *a, const float2 *b, float2 *c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned long long r;
  float x = a[i].x + b[i].x * 2.f, y = a[i].y - b[i].y;
  asm("mov.b64 %0, {%1, %2};" : "=l"(r) : "f"(x), "f"(y));
  *(unsigned long long *)&c[i] = r;
}

void run(void *a, void *b, float **o, const float *x, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096, 128), mb = mk(b, 2048, 4096, 64);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 16);
#define GO(kern, grid, threads, ...)                                                \
  cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh); \
  kern<<<grid, threads, sh, st>>>(ma, mb, __VA_ARGS__)
  GO(biased, g, 128, o[0], 2048, 4096, x);
  GO(unread, g, 128, o[1], 2048, 4096, x);
  GO(otherColumns, g, 128, o[2], 2048, 4096, x);
  GO(upperColumns, g, 128, o[3], 2048, 4096);
  GO(twoStages, 148, 192, o[4], 2048, 4096);
  pairOfFloats<<<1024, 256, 0, st>>>((const float2 *)a, (const float2 *)b, (float2 *)o[5]);
  movedOnly<<<1024, 256, 0, st>>>((const float2 *)a, (const float2 *)b, (float2 *)o[6]);
}
