// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 64 x 64 and 128 x 128 tiles by mma.sync, with ldmatrix, swizzles, padding and
// epilogues.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

typedef __nv_bfloat16 bf;

__device__ __forceinline__ void mma(float *d, const unsigned *a, const unsigned *b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void ldm4(unsigned *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}

template <int ST, int PAD, bool SW>
struct Gemm {
  static constexpr int LD = 32 + PAD;
  static __device__ __forceinline__ int at(int r, int c8) {
    return r * LD + (SW ? (c8 ^ (r >> 1 & 3)) : c8) * 8;
  }
  static __device__ __forceinline__ void run(const bf *a, const bf *b, bf *c, int n, int k,
                                             const float *scale) {
    extern __shared__ bf sm[];
    bf *A = sm, *B = sm + ST * 128 * LD;
    int t = threadIdx.x, w = t / 32, l = t % 32, wm = w / 4, wn = w % 4;
    const bf *ga = a + (size_t)blockIdx.y * 128 * k, *gb = b + (size_t)blockIdx.x * 128 * k;
    auto ask = [&](int s, int i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        int r = t / 4 + j * 64, q = t % 4;
        __pipeline_memcpy_async(A + s * 128 * LD + at(r, q), ga + (size_t)r * k + i * 32 + q * 8,
                                16);
        __pipeline_memcpy_async(B + s * 128 * LD + at(r, q), gb + (size_t)r * k + i * 32 + q * 8,
                                16);
      }
      __pipeline_commit();
    };
    float d[4][4][4] = {};
    int steps = k / 32;
#pragma unroll
    for (int s = 0; s < ST - 1; ++s)
      ask(s, s);
    for (int i = 0; i < steps; ++i) {
      __pipeline_wait_prior(ST - 2);
      __syncthreads();
      int s = i % ST;
#pragma unroll
      for (int kk = 0; kk < 2; ++kk) {
        unsigned fa[4][4], fb[4][2];
#pragma unroll
        for (int u = 0; u < 4; ++u)
          ldm4(fa[u], A + s * 128 * LD + at(wm * 64 + u * 16 + (l & 15), kk * 2 + (l >> 4)));
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          unsigned x[4];
          ldm4(x, B + s * 128 * LD +
                      at(wn * 32 + v * 16 + (l & 7) + (l >> 4) * 8, kk * 2 + (l >> 3 & 1)));
          fb[2 * v][0] = x[0];
          fb[2 * v][1] = x[1];
          fb[2 * v + 1][0] = x[2];
          fb[2 * v + 1][1] = x[3];
        }
#pragma unroll
        for (int u = 0; u < 4; ++u)
#pragma unroll
          for (int v = 0; v < 4; ++v)
            mma(d[u][v], fa[u], fb[v]);
      }
      if (i + ST - 1 < steps)
        ask((i + ST - 1) % ST, i + ST - 1);
      else
        __pipeline_commit();
    }
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        size_t r = blockIdx.y * 128 + wm * 64 + u * 16 + l / 4;
        int q = blockIdx.x * 128 + wn * 32 + v * 8 + l % 4 * 2;
        if (scale) {
          float z = scale[q];
          for (int j = 0; j < 4; ++j)
            d[u][v][j] *= z;
        }
        *(__nv_bfloat162 *)(c + r * n + q) = __floats2bfloat162_rn(d[u][v][0], d[u][v][1]);
        *(__nv_bfloat162 *)(c + (r + 8) * n + q) = __floats2bfloat162_rn(d[u][v][2], d[u][v][3]);
      }
  }
};

#define ARGS const bf *a, const bf *b, bf *c, int n, int k

// EXPECT gSw: tile_shape present m=128 n=128 k=32: 8 warps 2 x 4
// EXPECT gSw: register_tiling present accumulators=16 reuse=4: 4x4 fragments
// EXPECT gSw: async_pipeline present mechanism=cp_async depth=4: four stages, three asked for ahead
// EXPECT gSw: smem_swizzle present kind=xor bits=2: row bits 1, 2
// EXPECT gSw: smem_padding absent: rows are as long as the tile is wide
// EXPECT gSw: smem_tiling present: fragments of A are read by four warps, of B by two
// EXPECT gSw: smem_bank_conflict present op=ldmatrix degree=1: eight rows go to all banks
// EXPECT gSw: epilogue_fusion absent: none (constant nullptr)
// EXPECT gSw: warp_specialization absent: all warps run the same code
__global__ void __launch_bounds__(256) gSw(ARGS) {
  Gemm<4, 0, true>::run(a, b, c, n, k, nullptr);
}

// EXPECT gPad: smem_padding present bytes=16: rows of 40 halves
// EXPECT gPad: smem_swizzle absent: places are in the order of the data
// EXPECT gPad: async_pipeline present mechanism=cp_async depth=3: three stages, two asked for ahead
// EXPECT gPad: tile_shape present m=128 n=128 k=32: the tile of a block
__global__ void __launch_bounds__(256) gPad(ARGS) {
  Gemm<3, 8, false>::run(a, b, c, n, k, nullptr);
}

// EXPECT gPadBad: smem_padding absent:
//   padding of 32 halves (64 bytes): rows of 128 bytes, degree gets worse
// EXPECT gPadBad: async_pipeline absent:
//   two stages with wait_prior(0) at the top and the copy asked for BEHIND the products of the
//   step: nothing is in flight while the products run
__global__ void __launch_bounds__(256) gPadBad(ARGS) {
  Gemm<2, 32, false>::run(a, b, c, n, k, nullptr);
}

// EXPECT gScale: epilogue_fusion present: column scales
__global__ void __launch_bounds__(256) gScale(ARGS, const float *sc) {
  Gemm<4, 0, true>::run(a, b, c, n, k, sc);
}

void run(bf *a, bf *b, bf **o, float *sc, cudaStream_t s) {
  dim3 g(16, 16);
  cudaFuncSetAttribute(gSw, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cudaFuncSetAttribute(gScale, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  cudaFuncSetAttribute(gPad, cudaFuncAttributeMaxDynamicSharedMemorySize, 61440);
  cudaFuncSetAttribute(gPadBad, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  gSw<<<g, 256, 65536, s>>>(a, b, o[0], 2048, 4096);
  gPad<<<g, 256, 61440, s>>>(a, b, o[1], 2048, 4096);
  gPadBad<<<g, 256, 65536, s>>>(a, b, o[2], 2048, 4096);
  gScale<<<g, 256, 65536, s>>>(a, b, o[3], 2048, 4096, sc);
}
