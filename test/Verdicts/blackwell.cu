// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tcgen05 and tensor memory, pairs of floats, and 32-byte loads.
//
// VERDICTS arch=sm_100a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

__device__ __forceinline__ uint64_t d100(const void *p) {
  uint64_t a = sa(p);
  return ((a & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 46) | (2ull << 61);
}

constexpr uint32_t ID =
    (1u << 4) | (1u << 7) | (1u << 10) | ((64u / 8) << 17) | ((128u / 16) << 24);

__device__ __forceinline__ void tc(uint32_t d, uint64_t a, uint64_t b, uint32_t acc) {
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::
          "r"(d),
      "l"(a), "l"(b), "r"(ID), "r"(acc)
      : "memory");
}

__device__ __forceinline__ void tcCommit(uint64_t *b) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(sa(b))
      : "memory");
}

__device__ __forceinline__ void tld8(float *r, uint32_t a) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]), "=f"(r[4]), "=f"(r[5]), "=f"(r[6]),
                 "=f"(r[7])
               : "r"(a));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void tst8(const float *r, uint32_t a) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" ::"f"(r[0]),
               "f"(r[1]), "f"(r[2]), "f"(r[3]), "f"(r[4]), "f"(r[5]), "f"(r[6]), "f"(r[7]), "r"(a)
               : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

constexpr int ST = 4;

struct alignas(1024) Sh {
  bf a[ST][128 * 64];
  bf b[ST][64 * 64];
  uint64_t full[ST], empty[ST], done;
  uint32_t tm;
};

#define ARGS                                                                                       \
  const __grid_constant__ CUtensorMap ma, const __grid_constant__ CUtensorMap mb, float *c, int n, \
      int k

#define HEAD                                                                                 \
  extern __shared__ uint8_t raw[];                                                           \
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw);                           \
  int w = threadIdx.x / 32;                                                                  \
  if (threadIdx.x == 0) {                                                                    \
    for (int i = 0; i < ST; ++i) {                                                           \
      mbInit(&s.full[i], 1);                                                                 \
      mbInit(&s.empty[i], 1);                                                                \
    }                                                                                        \
    mbInit(&s.done, 1);                                                                      \
    asm volatile("fence.mbarrier_init.release.cluster;");                                    \
  }                                                                                          \
  if (w == 0)                                                                                \
    asm volatile(                                                                            \
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(sa(&s.tm)) \
        : "memory");                                                                         \
  asm volatile("tcgen05.fence::before_thread_sync;");                                        \
  __syncthreads();                                                                           \
  asm volatile("tcgen05.fence::after_thread_sync;");                                         \
  uint32_t tm = s.tm;                                                                        \
  int steps = k / 64, row = blockIdx.y * 128, col = blockIdx.x * 64;

#define FREE                                                                         \
  asm volatile("tcgen05.fence::before_thread_sync;");                                \
  __syncthreads();                                                                   \
  if (w == 0) {                                                                      \
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");      \
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(tm)); \
  }

__device__ __forceinline__ void load(Sh &s, const CUtensorMap *a, const CUtensorMap *b, int slot,
                                     int i, int row, int col) {
  mbTx(&s.full[slot], 16384 + 8192);
  tma2(s.a[slot], a, &s.full[slot], i * 64, row);
  tma2(s.b[slot], b, &s.full[slot], i * 64, col);
}

// EXPECT t5ring: tensor_core present family=tcgen05 cta_group=1: warp-specialised tcgen05 GEMM
// EXPECT t5ring: tmem_accumulator present columns=64: 64 columns are allocated and freed
// EXPECT t5ring: async_pipeline present mechanism=tma depth=4:
//   a ring of four slots, full and empty barriers
// EXPECT t5ring: warp_specialization present: copy warp, matrix warp, epilogue
// EXPECT t5ring: register_tiling absent: not applicable
// EXPECT t5ring: epilogue_fusion absent: stored as it is
__global__ void __launch_bounds__(128) t5ring(ARGS) {
  HEAD;

  if (w == 0) {
    if (threadIdx.x == 0)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        load(s, &ma, &mb, slot, i, row, col);
      }
  } else if (w == 1) {
    if (threadIdx.x == 32) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.full[slot], ph);
        asm volatile("tcgen05.fence::after_thread_sync;");
#pragma unroll
        for (int kk = 0; kk < 4; ++kk)
          tc(tm, d100(s.a[slot] + kk * 16), d100(s.b[slot] + kk * 16), i + kk > 0);
        tcCommit(&s.empty[slot]);
      }
      tcCommit(&s.done);
    }
  }
  __syncwarp();
  MBWAIT(&s.done, 0);
  asm volatile("tcgen05.fence::after_thread_sync;");
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
    *(float4 *)(o + j * 8) = make_float4(v[0], v[1], v[2], v[3]);
    *(float4 *)(o + j * 8 + 4) = make_float4(v[4], v[5], v[6], v[7]);
  }
  FREE;
}

// EXPECT t5once: async_pipeline absent: copy, wait, product, wait in each iteration
// EXPECT t5once: tensor_core present family=tcgen05: matrix instructions make the output
// EXPECT t5once: async_mma_overlap absent: waits for each step's products at once
// EXPECT t5once: warp_specialization absent: all warps run the same code
__global__ void __launch_bounds__(128) t5once(ARGS) {
  HEAD;

  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0) {
      load(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        tc(tm, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);
      tcCommit(&s.done);
    }
    MBWAIT(&s.done, i & 1);
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
#pragma unroll
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q];
  }
  FREE;
}

// EXPECT t5scratch: tmem_accumulator absent:
//   tensor memory is only a scratch pad: written by tcgen05.st, read by tcgen05.ld, no matrix
//   instruction
// EXPECT t5scratch: tensor_core absent: no matrix instruction
__global__ void __launch_bounds__(128) t5scratch(ARGS, const float *x) {
  HEAD;

  float v[8], u[8];
  for (int j = 0; j < 8; ++j)
    v[j] = x[(blockIdx.x * 8 + j) * 128 + threadIdx.x];
  tst8(v, tm + (w << 21));
  tld8(u, tm + (w << 21));
  for (int j = 0; j < 8; ++j)
    c[(blockIdx.x * 8 + j) * 128 + threadIdx.x] = u[j] * 2.f;
  FREE;
}

// EXPECT t5lost: tensor_core absent:
//   loaded data overwrites the sums in tensor memory before they are read
// EXPECT t5lost: tmem_accumulator absent:
//   what the matrix unit wrote is overwritten before it is read
__global__ void __launch_bounds__(128) t5lost(ARGS, const float *x) {
  HEAD;

  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0) {
      load(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        tc(tm, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);
      tcCommit(&s.done);
    }
    MBWAIT(&s.done, i & 1);
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    for (int q = 0; q < 8; ++q)
      v[q] = x[(size_t)(row + threadIdx.x) * n + col + j * 8 + q];
    tst8(v, tm + (w << 21) + j * 8);
    tld8(v, tm + (w << 21) + j * 8);
#pragma unroll
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q] * 3.f;
  }
  FREE;
}

// EXPECT t5leak: tmem_accumulator absent: tensor memory is never freed
__global__ void __launch_bounds__(128) t5leak(ARGS) {
  HEAD;

  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0) {
      load(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        tc(tm, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);
      tcCommit(&s.done);
    }
    MBWAIT(&s.done, i & 1);
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
#pragma unroll
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q];
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

// EXPECT pk32: packed_math present type=f32x2: fma.rn.f32x2 dot products
__global__ void pk32(const float2 *a, const float2 *b, float *o, int k) {
  unsigned long long s = 0;
  const unsigned long long *pa = (const unsigned long long *)a + (size_t)blockIdx.x * k,
                           *pb = (const unsigned long long *)b;
  for (int i = threadIdx.x; i < k; i += 256)
    asm("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(s) : "l"(pa[i]), "l"(pb[i]));
  float2 r = *(float2 *)&s;
  atomicAdd(o + blockIdx.x, r.x + r.y);
}

// EXPECT pkIntr: packed_math present type=f32x2: __ffma2_rn intrinsic
__global__ void pkIntr(const float2 *a, const float2 *b, float2 *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  o[i] = __ffma2_rn(a[i], b[i], a[i]);
}

// EXPECT pkF2: packed_math absent: float2 by hand, two scalar FMAs (nvcc does not pair them)
__global__ void pkF2(const float2 *a, const float2 *b, float2 *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 x = a[i], y = b[i];
  o[i] = make_float2(fmaf(x.x, y.x, x.x), fmaf(x.y, y.y, x.y));
}

// EXPECT pkZero: packed_math absent: the pair's result is multiplied by a literal 0 afterwards
__global__ void pkZero(const float2 *a, const float2 *b, float *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float2 r = __ffma2_rn(a[i], b[i], a[i]);
  unsigned bits = __float_as_uint(r.x + r.y) & 0u;
  o[i] = a[i].x * 3.f + __uint_as_float(bits);
}

// EXPECT v32: vector_global_access present direction=load bytes=32: 32-byte loads of sm_100
__global__ void v32(const float *__restrict__ a, float *o) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float v[8];
  asm volatile("ld.global.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]),
                 "=f"(v[7])
               : "l"(a + 8 * i));
  float s = 0;
  for (int j = 0; j < 8; ++j)
    s += v[j] * v[j];
  o[i] = s;
}

static void runPart1(bf *a, bf *b, float **o, float *x, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096, 128), mb = mk(b, 2048, 4096, 64);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 16);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(t5ring);
  t5ring<<<g, 128, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ATTR(t5once);
  t5once<<<g, 128, sh, st>>>(ma, mb, o[1], 2048, 4096);
  ATTR(t5scratch);
  t5scratch<<<g, 128, sh, st>>>(ma, mb, o[2], 2048, 4096, x);
  ATTR(t5lost);
  t5lost<<<g, 128, sh, st>>>(ma, mb, o[3], 2048, 4096, x);
  ATTR(t5leak);
  t5leak<<<g, 128, sh, st>>>(ma, mb, o[4], 2048, 4096);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  pk32<<<64, 256, 0, s>>>((float2 *)a, (float2 *)b, o[5], 4096);
  pkIntr<<<64, 256, 0, s>>>((float2 *)a, (float2 *)b, (float2 *)o[6], 4096);
  pkF2<<<64, 256, 0, s>>>((float2 *)a, (float2 *)b, (float2 *)o[7], 4096);
  pkZero<<<64, 256, 0, s>>>((float2 *)a, (float2 *)b, o[8], 4096);
  v32<<<64, 256, 0, s>>>(a, o[9]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((bf *)a, (bf *)b, o, b, s);
  runPart2(a, b, o, s);
}
