// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention by mma.sync with two and three stages of keys and values.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf;

__device__ __forceinline__ void mma(float *d, const unsigned *a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void ldm4(unsigned *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}

__device__ __forceinline__ void ldm4t(unsigned *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}

__device__ __forceinline__ unsigned pack(float x, float y) {
  __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
  return *(unsigned *)&h;
}

__device__ __forceinline__ int sw(int r, int c8) {
  return r * 64 + ((c8 ^ (r & 7)) << 3);
}

template <int STAGES, bool ATONCE>
__device__ __forceinline__ void attn(const bf *q, const bf *k, const bf *v, bf *o, int n,
                                     float scale) {
  extern __shared__ bf sm[];
  bf *Q = sm, *K = sm + 4096, *V = K + STAGES * 4096;
  int t = threadIdx.x, w = t / 32, l = t % 32;
  size_t head = (size_t)blockIdx.y * n * 64;
  auto get = [&](bf *d, const bf *s) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int e = j * 128 + t, r = e / 8, c = e % 8;
      __pipeline_memcpy_async(d + sw(r, c), s + r * 64 + c * 8, 16);
    }
  };
  get(Q, q + head + blockIdx.x * 4096);
  int tiles = n / 64;
  if (!ATONCE)
    for (int s = 0; s < STAGES - 1; ++s) {
      get(K + s * 4096, k + head + s * 4096);
      get(V + s * 4096, v + head + s * 4096);
      __pipeline_commit();
    }
  else {
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  float acc[8][4] = {}, m0 = -1e30f, m1 = -1e30f, s0 = 0, s1 = 0;
  for (int i = 0; i < tiles; ++i) {
    int slot = i % STAGES;
    if (ATONCE) {
      get(K + slot * 4096, k + head + i * 4096);
      get(V + slot * 4096, v + head + i * 4096);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else
      __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    if (!ATONCE) {
      int nx = i + STAGES - 1;
      if (nx < tiles) {
        get(K + nx % STAGES * 4096, k + head + (size_t)nx * 4096);
        get(V + nx % STAGES * 4096, v + head + (size_t)nx * 4096);
      }
      __pipeline_commit();
    }
    const bf *Ks = K + slot * 4096, *Vs = V + slot * 4096;
    float p[8][4] = {};
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      unsigned a[4];
      ldm4(a, Q + sw(w * 16 + (l & 15), kk * 2 + (l >> 4)));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned b[4];
        ldm4(b, Ks + sw(j * 16 + (l & 7) + (l >> 4) * 8, kk * 2 + (l >> 3 & 1)));
        mma(p[2 * j], a, b[0], b[1]);
        mma(p[2 * j + 1], a, b[2], b[3]);
      }
    }
    float x0 = m0, x1 = m1;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      x0 = fmaxf(x0, fmaxf(p[j][0], p[j][1]));
      x1 = fmaxf(x1, fmaxf(p[j][2], p[j][3]));
    }
    x0 = fmaxf(x0, __shfl_xor_sync(~0u, x0, 1));
    x0 = fmaxf(x0, __shfl_xor_sync(~0u, x0, 2));
    x1 = fmaxf(x1, __shfl_xor_sync(~0u, x1, 1));
    x1 = fmaxf(x1, __shfl_xor_sync(~0u, x1, 2));
    float f0 = exp2f((m0 - x0) * scale), f1 = exp2f((m1 - x1) * scale);
    m0 = x0;
    m1 = x1;
    s0 *= f0;
    s1 *= f1;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      acc[j][0] *= f0;
      acc[j][1] *= f0;
      acc[j][2] *= f1;
      acc[j][3] *= f1;
      p[j][0] = exp2f((p[j][0] - m0) * scale);
      p[j][1] = exp2f((p[j][1] - m0) * scale);
      p[j][2] = exp2f((p[j][2] - m1) * scale);
      p[j][3] = exp2f((p[j][3] - m1) * scale);
      s0 += p[j][0] + p[j][1];
      s1 += p[j][2] + p[j][3];
    }
#pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      unsigned a[4] = {pack(p[2 * kk][0], p[2 * kk][1]), pack(p[2 * kk][2], p[2 * kk][3]),
                       pack(p[2 * kk + 1][0], p[2 * kk + 1][1]),
                       pack(p[2 * kk + 1][2], p[2 * kk + 1][3])};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned b[4];
        ldm4t(b, Vs + sw(kk * 16 + (l & 15), j * 2 + (l >> 4)));
        mma(acc[2 * j], a, b[0], b[1]);
        mma(acc[2 * j + 1], a, b[2], b[3]);
      }
    }
    if (ATONCE)
      __syncthreads();
  }
  s0 += __shfl_xor_sync(~0u, s0, 1);
  s0 += __shfl_xor_sync(~0u, s0, 2);
  s1 += __shfl_xor_sync(~0u, s1, 1);
  s1 += __shfl_xor_sync(~0u, s1, 2);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    bf *d = o + head + (size_t)(blockIdx.x * 64 + w * 16 + l / 4) * 64 + j * 8 + l % 4 * 2;
    *(__nv_bfloat162 *)d = __floats2bfloat162_rn(acc[j][0] / s0, acc[j][1] / s0);
    *(__nv_bfloat162 *)(d + 8 * 64) = __floats2bfloat162_rn(acc[j][2] / s1, acc[j][3] / s1);
  }
}

#define AARGS const bf *q, const bf *k, const bf *v, bf *o, int n, float scale

// EXPECT fa3: async_pipeline present mechanism=cp_async depth=3: three stages of K and V
// EXPECT fa3: smem_swizzle present kind=xor bits=3: row & 7 on both sides
// EXPECT fa3: tensor_core present family=mma_sync a=bf16: both products
// EXPECT fa3: matrix_fragment_access present op=ldmatrix transposed=true: fragments of V
// EXPECT fa3: matrix_fragment_access present op=ldmatrix transposed=false: fragments of K
// EXPECT fa3: smem_tiling present: K, V read by all four warps
// EXPECT fa3: epilogue_fusion present: the results are divided by the row sums
// EXPECT fa3: warp_specialization absent: all warps run the same code
// EXPECT fa3: fast_math absent: exp2f is an ordinary function
// EXPECT fa3: smem_padding absent: rows are as long as the tile is wide
__global__ void __launch_bounds__(128) fa3(AARGS) {
  attn<3, false>(q, k, v, o, n, scale);
}

// EXPECT fa2: async_pipeline present mechanism=cp_async depth=2: two stages
__global__ void __launch_bounds__(128) fa2(AARGS) {
  attn<2, false>(q, k, v, o, n, scale);
}

// EXPECT faOnce: async_pipeline absent:
//   copied and waited for in the same iteration (3 slots in turn)
// EXPECT faOnce: smem_swizzle present kind=xor: places by row & 7 on both sides
__global__ void __launch_bounds__(128) faOnce(AARGS) {
  attn<3, true>(q, k, v, o, n, scale);
}

void run(bf *a, bf *b, bf *c, bf **o, cudaStream_t s) {
  cudaFuncSetAttribute(fa3, cudaFuncAttributeMaxDynamicSharedMemorySize, 57344);
  cudaFuncSetAttribute(faOnce, cudaFuncAttributeMaxDynamicSharedMemorySize, 57344);
  fa3<<<dim3(64, 32), 128, 57344, s>>>(a, b, c, o[0], 4096, 0.18f);
  fa2<<<dim3(64, 32), 128, 40960, s>>>(a, b, c, o[1], 4096, 0.18f);
  faOnce<<<dim3(64, 32), 128, 57344, s>>>(a, b, c, o[2], 4096, 0.18f);
}
