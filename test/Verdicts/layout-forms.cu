// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One product by ldmatrix and mma.sync whose tiles lie in several layouts, written CuTe-like, and
// single accesses with strides.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

typedef __nv_bfloat16 bf;

// Element offset o: its bits M.. are changed by the bits M + S.. .
template <int B, int M, int S> struct Swizzle {
  static constexpr int mask = ((1 << B) - 1) << (M + S);
  __device__ __forceinline__ static int at(int r, int c) {
    int o = r * 64 + c;
    return o ^ ((o & mask) >> S);
  }
};
template <int LD> struct Rows {
  __device__ __forceinline__ static int at(int r, int c) { return r * LD + c; }
};
struct Rotated {
  __device__ __forceinline__ static int at(int r, int c) {
    return r * 64 + ((c / 8 + r) % 8) * 8 + c % 8;
  }
};

__device__ __forceinline__ void ldm(unsigned (&r)[4], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ __forceinline__ void mma(float *d, const unsigned *a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 64 x 64 by four warps, 64 deep. W says where elements are written, R where they are read.
template <class W, class R, int SIZE>
__device__ __forceinline__ void product(const bf *a, const bf *b, float *c, int n, int k) {
  __shared__ __align__(1024) bf A[SIZE], B[SIZE];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  float d[8][4] = {};
  for (int i = 0; i < k; i += 64) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int r = j * 16 + t / 8, e = t % 8 * 8;
      *(uint4 *)&A[W::at(r, e)] = *(const uint4 *)(a + (size_t)(blockIdx.y * 64 + r) * k + i + e);
      *(uint4 *)&B[W::at(r, e)] = *(const uint4 *)(b + (size_t)(blockIdx.x * 64 + r) * k + i + e);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 64; kk += 16) {
      unsigned fa[4];
      ldm(fa, &A[R::at(w * 16 + l % 16, kk + l / 16 * 8)]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned fb[4];
        ldm(fb, &B[R::at(j * 16 + l % 16, kk + l / 16 * 8)]);
        mma(d[2 * j], fa, fb[0], fb[2]);
        mma(d[2 * j + 1], fa, fb[1], fb[3]);
      }
    }
    __syncthreads();
  }
  float *o = c + (size_t)(blockIdx.y * 64 + w * 16 + l / 4) * n + blockIdx.x * 64 + l % 4 * 2;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    *(float2 *)(o + j * 8) = make_float2(d[j][0], d[j][1]);
    *(float2 *)(o + 8 * n + j * 8) = make_float2(d[j][2], d[j][3]);
  }
}

#define PA const bf *a, const bf *b, float *c, int n, int k

// EXPECT sw333: smem_swizzle present kind=xor bits=3: Swizzle<3,3,3> on both sides
// EXPECT sw333: smem_bank_conflict present op=ldmatrix degree=1: eight rows in eight chunks
// EXPECT sw333: smem_padding absent: rows are as long as the tile is wide
// EXPECT sw333: tile_shape present m=64 n=64 k=64: the tile of a block
__global__ void __launch_bounds__(128) sw333(PA) {
  product<Swizzle<3, 3, 3>, Swizzle<3, 3, 3>, 4096>(a, b, c, n, k);
}

// EXPECT sw233: smem_swizzle present kind=xor bits=2: two row bits, from eight lanes a bank to two
// EXPECT sw233: smem_bank_conflict present op=ldmatrix degree=2: rows 0 and 4 share a chunk
__global__ void __launch_bounds__(128) sw233(PA) {
  product<Swizzle<2, 3, 3>, Swizzle<2, 3, 3>, 4096>(a, b, c, n, k);
}

// EXPECT sw033: smem_swizzle absent: Swizzle<0,3,3> changes nothing
// EXPECT sw033: smem_bank_conflict present op=ldmatrix degree=8: rows of 128 bytes
// EXPECT sw033: smem_tiling present: B is read by four warps
__global__ void __launch_bounds__(128) sw033(PA) {
  product<Swizzle<0, 3, 3>, Swizzle<0, 3, 3>, 4096>(a, b, c, n, k);
}

// EXPECT sw336: smem_swizzle absent:
//   Swizzle<3,3,6> takes row bits 3 to 5, the same for the eight rows of an ldmatrix:
//   the degree is not lowered
// EXPECT sw336: smem_bank_conflict present op=ldmatrix degree=8: as without
__global__ void __launch_bounds__(128) sw336(PA) {
  product<Swizzle<3, 3, 6>, Swizzle<3, 3, 6>, 4096>(a, b, c, n, k);
}

// EXPECT swRead: smem_swizzle absent: the read side only: wrong data
__global__ void __launch_bounds__(128) swRead(PA) {
  product<Rows<64>, Swizzle<3, 3, 3>, 4096>(a, b, c, n, k);
}

// EXPECT swRotated: smem_swizzle present kind=rotate: chunk + row modulo eight on both sides
// EXPECT swRotated: smem_bank_conflict present op=ldmatrix degree=1: eight chunks
__global__ void __launch_bounds__(128) swRotated(PA) { product<Rotated, Rotated, 4096>(a, b, c, n, k); }

// EXPECT pad72: smem_padding present bytes=16: rows of 72 halves
// EXPECT pad72: smem_bank_conflict present op=ldmatrix degree=1: 144 bytes a row
// EXPECT pad72: smem_swizzle absent: in order
__global__ void __launch_bounds__(128) pad72(PA) { product<Rows<72>, Rows<72>, 64 * 72>(a, b, c, n, k); }

// EXPECT pad128: smem_padding absent: 128 halves a row are 256 bytes: the degree stays 8
// EXPECT pad128: smem_bank_conflict present op=ldmatrix degree=8: all rows in the same banks
__global__ void __launch_bounds__(128) pad128(PA) {
  product<Rows<128>, Rows<128>, 64 * 128>(a, b, c, n, k);
}

template <int S> __device__ __forceinline__ void strided(const float *a, float *c) {
  __shared__ float s[256 * S];
#pragma unroll
  for (int j = 0; j < S; ++j)
    s[j * 256 + threadIdx.x] = a[(size_t)(blockIdx.x * S + j) * 256 + threadIdx.x];
  __syncthreads();
  float v = 0;
#pragma unroll
  for (int j = 0; j < S; ++j)
    v = v * 1.5f + s[threadIdx.x * S + j];
  c[blockIdx.x * 256 + threadIdx.x] = v;
}
// EXPECT stride6: smem_bank_conflict in ptx present op=load degree=2: single words, six apart
// EXPECT stride6: smem_bank_conflict in cubin present op=load degree=1: ptxas makes LDS.64 (first verdict was wrong)
// EXPECT stride6: smem_tiling absent: each value is read once
__global__ void __launch_bounds__(256) stride6(const float *a, float *c) { strided<6>(a, c); }
// EXPECT stride5: smem_bank_conflict present op=load degree=1: five words a lane: odd
__global__ void __launch_bounds__(256) stride5(const float *a, float *c) { strided<5>(a, c); }

void run(const bf *a, const bf *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  sw333<<<g, 128, 0, s>>>(a, b, o[0], 2048, 4096);
  sw233<<<g, 128, 0, s>>>(a, b, o[1], 2048, 4096);
  sw033<<<g, 128, 0, s>>>(a, b, o[2], 2048, 4096);
  sw336<<<g, 128, 0, s>>>(a, b, o[3], 2048, 4096);
  swRead<<<g, 128, 0, s>>>(a, b, o[4], 2048, 4096);
  swRotated<<<g, 128, 0, s>>>(a, b, o[5], 2048, 4096);
  pad72<<<g, 128, 0, s>>>(a, b, o[6], 2048, 4096);
  pad128<<<g, 128, 0, s>>>(a, b, o[7], 2048, 4096);
  stride6<<<1024, 256, 0, s>>>((const float *)a, o[8]);
  stride5<<<1024, 256, 0, s>>>((const float *)a, o[9]);
}
