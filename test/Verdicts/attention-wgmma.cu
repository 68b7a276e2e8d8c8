// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention by wgmma with a producer warp: products one after the other, and overlapped with the
// softmax.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

struct alignas(1024) Sh {
  bf q[64 * 64];
  bf k[2][64 * 64];
  bf v[2][64 * 64];
  bf p[64 * 64];
  uint64_t qb, kf[2], vf[2], ke[2], ve[2];
};

__device__ __forceinline__ void wg64z(float (&d)[32], uint64_t a, uint64_t b, int sc) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0;}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(sc));
}

__device__ __forceinline__ void wgPV(float (&d)[32], const unsigned *a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ unsigned pk(float x, float y) {
  __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
  return *(unsigned *)&h;
}

#define ARGS                                                                       \
  const __grid_constant__ CUtensorMap mq, const __grid_constant__ CUtensorMap mk_, \
      const __grid_constant__ CUtensorMap mv, bf *o, int n, float sc

#define HEAD                                                       \
  extern __shared__ uint8_t raw[];                                 \
  Sh &s = *(Sh *)((sa(raw) + 1023) / 1024 * 1024 - sa(raw) + raw); \
  if (threadIdx.x == 0) {                                          \
    mbInit(&s.qb, 1);                                              \
    for (int i = 0; i < 2; ++i) {                                  \
      mbInit(&s.kf[i], 1);                                         \
      mbInit(&s.vf[i], 1);                                         \
      mbInit(&s.ke[i], 128);                                       \
      mbInit(&s.ve[i], 128);                                       \
    }                                                              \
    asm volatile("fence.mbarrier_init.release.cluster;");          \
  }                                                                \
  __syncthreads();                                                 \
  int tiles = n / 64, row = blockIdx.x * 64;

#define PROD                                   \
  if (threadIdx.x == 128) {                    \
    mbTx(&s.qb, 8192);                         \
    tma2(s.q, &mq, &s.qb, 0, row);             \
    for (int i = 0; i < tiles; ++i) {          \
      int b = i & 1, ph = i >> 1 & 1;          \
      MBWAIT(&s.ke[b], ph ^ 1);                \
      mbTx(&s.kf[b], 8192);                    \
      tma2(s.k[b], &mk_, &s.kf[b], 0, i * 64); \
      MBWAIT(&s.ve[b], ph ^ 1);                \
      mbTx(&s.vf[b], 8192);                    \
      tma2(s.v[b], &mv, &s.vf[b], 0, i * 64);  \
    }                                          \
  }

__device__ __forceinline__ void soft(float (&p)[32], float (&acc)[32], float *m, float *l,
                                     unsigned (&f)[16], float sc) {
  float x0 = m[0], x1 = m[1];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    x0 = fmaxf(x0, fmaxf(p[4 * j], p[4 * j + 1]));
    x1 = fmaxf(x1, fmaxf(p[4 * j + 2], p[4 * j + 3]));
  }
  x0 = fmaxf(x0, __shfl_xor_sync(~0u, x0, 1));
  x0 = fmaxf(x0, __shfl_xor_sync(~0u, x0, 2));
  x1 = fmaxf(x1, __shfl_xor_sync(~0u, x1, 1));
  x1 = fmaxf(x1, __shfl_xor_sync(~0u, x1, 2));
  float f0 = exp2f((m[0] - x0) * sc), f1 = exp2f((m[1] - x1) * sc);
  m[0] = x0;
  m[1] = x1;
  l[0] *= f0;
  l[1] *= f1;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    acc[4 * j] *= f0;
    acc[4 * j + 1] *= f0;
    acc[4 * j + 2] *= f1;
    acc[4 * j + 3] *= f1;
    float a = exp2f((p[4 * j] - x0) * sc), b = exp2f((p[4 * j + 1] - x0) * sc),
          c = exp2f((p[4 * j + 2] - x1) * sc), d = exp2f((p[4 * j + 3] - x1) * sc);
    l[0] += a + b;
    l[1] += c + d;
    f[2 * j] = pk(a, b);
    f[2 * j + 1] = pk(c, d);
  }
}

#define OUT                            \
  {                                    \
    float l0 = l[0], l1 = l[1];        \
    l0 += __shfl_xor_sync(~0u, l0, 1); \
    l0 += __shfl_xor_sync(~0u, l0, 2); \
    l1 += __shfl_xor_sync(~0u, l1, 1); \
    l1 += __shfl_xor_sync(~0u, l1, 2); \
    for (int j = 0; j < 8; ++j) {      \
      acc[4 * j] /= l0;                \
      acc[4 * j + 1] /= l0;            \
      acc[4 * j + 2] /= l1;            \
      acc[4 * j + 3] /= l1;            \
    }                                  \
    put64(acc, o, 64, row, 0);         \
  }

// EXPECT faSerial: async_mma_overlap absent: S = QK, wait 0, softmax, PV, wait 0: nothing overlaps
// EXPECT faSerial: warp_specialization present roles=copy+matrix: producer warp
// EXPECT faSerial: async_pipeline present mechanism=tma depth=2: two slots each
// EXPECT faSerial: tensor_core present family=wgmma a=bf16: both products
__global__ void __launch_bounds__(160) faSerial(ARGS) {
  HEAD;

  if (threadIdx.x >= 128) {
    PROD;
  } else {
    float acc[32] = {}, m[2] = {-1e30f, -1e30f}, l[2] = {};
    MBWAIT(&s.qb, 0);
    for (int i = 0; i < tiles; ++i) {
      int b = i & 1, ph = i >> 1 & 1;
      float p[32];
      unsigned f[16];
      MBWAIT(&s.kf[b], ph);
      wgFence();
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        wg64z(p, desc128(s.q + kk * 16), desc128(s.k[b] + kk * 16), kk);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.ke[b]);
      soft(p, acc, m, l, f, sc);
      MBWAIT(&s.vf[b], ph);
      wgFence();
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        wgPV(acc, f + 4 * kk, desc128(s.v[b] + kk * 16 * 64));
      wgCommit();
      wgWait<0>();
      mbArrive(&s.ve[b]);
    }
    OUT;
  }
}

// EXPECT faOverlap: async_mma_overlap in ptx present outstanding=1:
//   the scores of the next tile are issued before the values of this one, and waited for while
//   those run (ptxas serialises the wgmma of this kernel, so the machine code is not compared)
__global__ void __launch_bounds__(160) faOverlap(ARGS) {
  HEAD;

  if (threadIdx.x >= 128) {
    PROD;
  } else {
    float acc[32] = {}, m[2] = {-1e30f, -1e30f}, l[2] = {}, p[32];
    unsigned f[16];
    MBWAIT(&s.qb, 0);
    MBWAIT(&s.kf[0], 0);
    wgFence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
      wg64z(p, desc128(s.q + kk * 16), desc128(s.k[0] + kk * 16), kk);
    wgCommit();
    wgWait<0>();
    mbArrive(&s.ke[0]);
    soft(p, acc, m, l, f, sc);
    for (int i = 1; i < tiles; ++i) {
      int b = i & 1, ph = i >> 1 & 1, vb = (i - 1) & 1, vp = (i - 1) >> 1 & 1;
      MBWAIT(&s.kf[b], ph);
      wgFence();
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        wg64z(p, desc128(s.q + kk * 16), desc128(s.k[b] + kk * 16), kk);
      wgCommit();
      MBWAIT(&s.vf[vb], vp);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        wgPV(acc, f + 4 * kk, desc128(s.v[vb] + kk * 16 * 64));
      wgCommit();
      wgWait<1>();
      mbArrive(&s.ke[b]);
      float dummy[32] = {};
      float pm = -1e30f;
#pragma unroll
      for (int j = 0; j < 32; ++j)
        pm = fmaxf(pm, p[j]);
      wgWait<0>();
      mbArrive(&s.ve[vb]);
      soft(p, acc, m, l, f, sc);
      l[0] += pm * 0.f;
    }
    int vb = (tiles - 1) & 1, vp = (tiles - 1) >> 1 & 1;
    MBWAIT(&s.vf[vb], vp);
    wgFence();
#pragma unroll
    for (int kk = 0; kk < 4; ++kk)
      wgPV(acc, f + 4 * kk, desc128(s.v[vb] + kk * 16 * 64));
    wgCommit();
    wgWait<0>();
    OUT;
  }
}

CUtensorMap mk(void *p, int rows) {
  CUtensorMap m;
  cuuint64_t d[2] = {64, (cuuint64_t)rows}, st[1] = {128};
  cuuint32_t box[2] = {64, 64}, es[2] = {1, 1};
  cuTensorMapEncodeTiled(&m, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, p, d, st, box, es,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return m;
}

void run(bf *q, bf *k, bf *v, bf **o, cudaStream_t st) {
  CUtensorMap a = mk(q, 4096), b = mk(k, 4096), c = mk(v, 4096);
  size_t sh = sizeof(Sh) + 1024;
  cudaFuncSetAttribute(faSerial, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  cudaFuncSetAttribute(faOverlap, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  faSerial<<<64, 160, sh, st>>>(a, b, c, o[0], 4096, 0.18f);
  faOverlap<<<64, 160, sh, st>>>(a, b, c, o[1], 4096, 0.18f);
}
