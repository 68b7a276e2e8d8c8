// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tcgen05 and tensor memory, pairs of floats, and 32-byte loads.
//
// VERDICTS arch=sm_100a entry=run read=ptx,cubin

#include "Inputs/Tcgen05.h"

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
