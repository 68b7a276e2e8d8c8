// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose rows are gathered (experts, pages) or whose weights are packed, in hand-written
// styles: rings over gathered rows, dequantised tiles, split sums.
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
__device__ __forceinline__ void load4(unsigned *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}
// Rows of 32 bf16 in chunks of 8, swizzled.
__device__ __forceinline__ int place(int r, int chunk) {
  return r * 32 + ((chunk ^ (r >> 1 & 3)) << 3);
}

// The sums of a 64 x 64 tile by four warps in 16 rows each.
struct Sums {
  float d[8][4];
  __device__ __forceinline__ void step(const bf *A, const bf *B, int w, int l) {
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      unsigned a[4];
      load4(a, A + place(w * 16 + (l & 15), kk * 2 + (l >> 4)));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned b[4];
        load4(b, B + place(j * 16 + (l & 7) + (l >> 4) * 8, kk * 2 + (l >> 3 & 1)));
        mma(d[2 * j], a, b[0], b[1]);
        mma(d[2 * j + 1], a, b[2], b[3]);
      }
    }
  }
};

// EXPECT experts: async_pipeline present mechanism=cp_async depth=3:
//   two tiles ahead, rows by an index
// EXPECT experts: smem_swizzle present kind=xor: chunk ^ row bits on both sides
// EXPECT experts: tensor_core present family=mma_sync a=bf16: mma.sync
// EXPECT experts: smem_tiling present: fragments are read by ldmatrix
// EXPECT experts: async_copy present mechanism=cp_async bytes=16: 16 bytes a copy
// EXPECT experts: epilogue_fusion present: each row times the weight of its expert
// EXPECT experts: matrix_fragment_access present op=ldmatrix: both operands
// EXPECT experts: warp_specialization absent: all warps copy and multiply
// EXPECT experts: persistent_kernel absent: a tile a block
// EXPECT experts: smem_padding absent: rows as long as the tile is wide
__global__ void __launch_bounds__(128)
    experts(const bf *x, const bf *w, const int *rows, const float *gate, float *y, int n, int k) {
  __shared__ alignas(128) bf A[3][64 * 32], B[3][64 * 32];
  int t = threadIdx.x, warp = t / 32, l = t % 32;
  const bf *from[2], *weights = w + ((size_t)blockIdx.z * n + blockIdx.x * 64) * k;
#pragma unroll
  for (int j = 0; j < 2; ++j)
    from[j] = x + (size_t)rows[(blockIdx.z * gridDim.y + blockIdx.y) * 64 + t / 4 + j * 32] * k;
  auto ask = [&](int s, int i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int r = t / 4 + j * 32, q = t % 4;
      __pipeline_memcpy_async(&A[s][place(r, q)], from[j] + i * 32 + q * 8, 16);
      __pipeline_memcpy_async(&B[s][place(r, q)], weights + (size_t)r * k + i * 32 + q * 8, 16);
    }
  };
  Sums sums = {};
  int steps = k / 32;
  for (int s = 0; s < 2; ++s) {
    ask(s, s);
    __pipeline_commit();
  }
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (i + 2 < steps)
      ask((i + 2) % 3, i + 2);
    __pipeline_commit();
    sums.step(A[i % 3], B[i % 3], warp, l);
  }
  int r = (blockIdx.z * gridDim.y + blockIdx.y) * 64 + warp * 16 + l / 4;
  float g0 = gate[r], g1 = gate[r + 8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float *o = y + (size_t)r * n + blockIdx.x * 64 + j * 8 + l % 4 * 2;
    *(float2 *)o = make_float2(sums.d[j][0] * g0, sums.d[j][1] * g0);
    *(float2 *)(o + 8 * n) = make_float2(sums.d[j][2] * g1, sums.d[j][3] * g1);
  }
}

// EXPECT unpacked: tensor_core present family=mma_sync a=bf16: mma.sync
// EXPECT unpacked: async_pipeline absent:
//   one buffer, loaded, unpacked and stored in the step that uses it
// EXPECT unpacked: async_copy absent: the weights go through registers
// EXPECT unpacked: smem_tiling present: fragments are read by ldmatrix
// EXPECT unpacked: epilogue_fusion absent: stored as it is
__global__ void __launch_bounds__(128)
    unpacked(const bf *x, const unsigned *w, const float *scales, float *y, int n, int k) {
  __shared__ alignas(128) bf A[64 * 32], B[64 * 32];
  int t = threadIdx.x, warp = t / 32, l = t % 32;
  Sums sums = {};
  for (int i = 0; i < k / 32; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int r = t / 4 + j * 32, q = t % 4;
      *(uint4 *)&A[place(r, q)] =
          *(const uint4 *)(x + (size_t)(blockIdx.y * 64 + r) * k + i * 32 + q * 8);
      unsigned u = w[((size_t)(blockIdx.x * 64 + r) * k + i * 32) / 8 + q];
      float f = scales[(size_t)(blockIdx.x * 64 + r) * (k / 32) + i];
      __nv_bfloat162 h[4];
#pragma unroll
      for (int e = 0; e < 4; ++e)
        h[e] = __floats2bfloat162_rn(((int)(u >> 8 * e & 15) - 8) * f,
                                     ((int)(u >> (8 * e + 4) & 15) - 8) * f);
      *(uint4 *)&B[place(r, q)] = *(uint4 *)h;
    }
    __syncthreads();
    sums.step(A, B, warp, l);
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float *o =
        y + (size_t)(blockIdx.y * 64 + warp * 16 + l / 4) * n + blockIdx.x * 64 + j * 8 + l % 4 * 2;
    *(float2 *)o = make_float2(sums.d[j][0], sums.d[j][1]);
    *(float2 *)(o + 8 * n) = make_float2(sums.d[j][2], sums.d[j][3]);
  }
}

// EXPECT lateIndex: async_pipeline absent:
//   the ring is asked for and drained in one step, though the indices of the next rows are loaded
//   ahead
// EXPECT lateIndex: tensor_core present family=mma_sync: mma.sync
__global__ void __launch_bounds__(128)
    lateIndex(const bf *x, const bf *w, const int *rows, float *y, int n, int k) {
  __shared__ alignas(128) bf A[2][64 * 32], B[2][64 * 32];
  int t = threadIdx.x, warp = t / 32, l = t % 32, steps = k / 32;
  Sums sums = {};
  int next[2] = {rows[t / 4], rows[t / 4 + 32]};
  for (int i = 0; i < steps; ++i) {
    int s = i & 1, now[2] = {next[0], next[1]};
    if (i + 1 < steps) {
      next[0] = rows[(i + 1) * 64 + t / 4];
      next[1] = rows[(i + 1) * 64 + t / 4 + 32];
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int r = t / 4 + j * 32, q = t % 4;
      __pipeline_memcpy_async(&A[s][place(r, q)], x + (size_t)now[j] * k + i * 32 + q * 8, 16);
      __pipeline_memcpy_async(&B[s][place(r, q)], w + (size_t)r * k + i * 32 + q * 8, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.step(A[s], B[s], warp, l);
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float *o = y + (size_t)(warp * 16 + l / 4) * n + j * 8 + l % 4 * 2;
    *(float2 *)o = make_float2(sums.d[j][0], sums.d[j][1]);
    *(float2 *)(o + 8 * n) = make_float2(sums.d[j][2], sums.d[j][3]);
  }
}

// EXPECT pagedScores: async_pipeline present mechanism=cp_async depth=2:
//   pages by a table, one ahead
// EXPECT pagedScores: smem_tiling present: each key of a page is read for four queries
// EXPECT pagedScores: tensor_core absent: scalar products
// EXPECT pagedScores: epilogue_fusion present: scores times a factor
__global__ void __launch_bounds__(128)
    pagedScores(const float *q, const float *keys, const int *table, float *o, int pages,
                float scale) {
  __shared__ alignas(16) float page[2][32][64];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  auto ask = [&](int s, int i) {
    const float *from = keys + (size_t)table[blockIdx.x * pages + i] * 2048;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      int e = (j * 128 + t) * 4;
      __pipeline_memcpy_async(&page[s][e / 64][e % 64], from + e, 16);
    }
    __pipeline_commit();
  };
  ask(0, 0);
  for (int i = 0; i < pages; ++i) {
    if (i + 1 < pages)
      ask((i + 1) & 1, i + 1);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float d = 0;
#pragma unroll
    for (int e = 0; e < 64; ++e)
      d += q[(blockIdx.x * 4 + w) * 64 + e] * page[i & 1][l][e];
    o[((size_t)blockIdx.x * 4 + w) * pages * 32 + i * 32 + l] = d * scale;
    __syncthreads();
  }
}

// EXPECT splitSums: tensor_core absent: scalar products
// EXPECT splitSums: register_tiling present accumulators=16: 4 x 4 sums of 8 operands
// EXPECT splitSums: smem_tiling absent: no shared memory
// EXPECT splitSums: epilogue_fusion absent: the sums are added to the output by atomics as they are
// EXPECT splitSums: async_pipeline absent: operands are used by the step that loads them
__global__ void __launch_bounds__(64)
    splitSums(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  float s[4][4] = {};
  int r = (blockIdx.y * 8 + threadIdx.x / 8) * 4, q = (blockIdx.x * 8 + threadIdx.x % 8) * 4;
#pragma unroll 1
  for (int i = blockIdx.z; i < k; i += gridDim.z) {
    float x[4], y[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      x[j] = a[(size_t)i * n + r + j];
      y[j] = b[(size_t)i * n + q + j];
    }
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int v = 0; v < 4; ++v)
        s[u][v] += x[u] * y[v];
  }
#pragma unroll
  for (int u = 0; u < 4; ++u)
#pragma unroll
    for (int v = 0; v < 4; ++v)
      atomicAdd(&c[(size_t)(r + u) * n + q + v], s[u][v]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  experts<<<dim3(16, 4, 8), 128, 0, s>>>((bf *)a, (bf *)b, (int *)a, b, o[0], 1024, 2048);
  unpacked<<<dim3(16, 16), 128, 0, s>>>((bf *)a, (unsigned *)b, b, o[1], 1024, 2048);
  lateIndex<<<1, 128, 0, s>>>((bf *)a, (bf *)b, (int *)b, o[2], 64, 2048);
  pagedScores<<<64, 128, 0, s>>>(a, b, (int *)b, o[3], 64, 0.1f);
  splitSums<<<dim3(32, 32, 8), 64, 0, s>>>(a, b, o[4], 1024, 2048);
}
