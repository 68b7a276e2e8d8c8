// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of tiles that are written down in other ways than as an array with rows: flat indices,
// structures, bytes, and permutations by addition, by a table, or of the wrong bits.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define PLACE                                                                                      \
  int x = threadIdx.x, y = threadIdx.y;                                                            \
  const float *from = a + (size_t)(blockIdx.y * 32) * 2048 + blockIdx.x * 32;                      \
  float *to = o + (size_t)(blockIdx.x * 32) * 2048 + blockIdx.y * 32

// EXPECT flatPadded: smem_padding present bytes=4: rows of 33 words in a flat array
// EXPECT flatPadded: smem_swizzle absent: places are in the order of the data
// EXPECT flatPadded: smem_bank_conflict present op=load degree=1: 33 is odd
__global__ void __launch_bounds__(256) flatPadded(const float *a, float *o) {
  __shared__ float s[32 * 33];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[(y + i) * 33 + x] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x * 33 + y + i];
}

// EXPECT evenPadded: smem_padding present bytes=8: rows of 34 words: two lanes a bank instead of 32
// EXPECT evenPadded: smem_bank_conflict present op=load degree=2: 34 = 2 mod 32
__global__ void __launch_bounds__(256) evenPadded(const float *a, float *o) {
  __shared__ float s[32][34];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x][y + i];
}

struct Row {
  float v[32];
  int used;
};
// EXPECT structRows: smem_padding absent: the word behind each row is used: it holds the row's number
// EXPECT structRows: smem_bank_conflict present op=load degree=1: a stride of 33 words
__global__ void __launch_bounds__(256) structRows(const float *a, float *o) {
  __shared__ Row s[32];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    s[y + i].v[x] = from[(size_t)(y + i) * 2048 + x];
    if (x == 0)
      s[y + i].used = y + i;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x].v[y + i] + s[x].used;
}

// EXPECT xorByAddition: smem_swizzle present:
//   x + y - 2 (x & y) is x ^ y, on both sides
// EXPECT xorByAddition: smem_bank_conflict present op=load degree=1: every lane another bank
__global__ void __launch_bounds__(256) xorByAddition(const float *a, float *o) {
  __shared__ float s[32][32];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    int r = y + i;
    s[r][x + r - 2 * (x & r)] = from[(size_t)r * 2048 + x];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    int r = y + i;
    to[(size_t)r * 2048 + x] = s[x][x + r - 2 * (x & r)];
  }
}

// EXPECT mirrored: smem_swizzle absent: columns are mirrored on both sides; no row has another order
// EXPECT mirrored: smem_bank_conflict present op=load degree=32: a column is in one bank
__global__ void __launch_bounds__(256) mirrored(const float *a, float *o) {
  __shared__ float s[32][32];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][31 - x] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x][31 - (y + i)];
}

// EXPECT highBitsOnly: smem_swizzle absent:
//   the bits that are changed are those of the row's number above four, which are zero
// EXPECT highBitsOnly: smem_bank_conflict present op=load degree=32: a column is in one bank
__global__ void __launch_bounds__(256) highBitsOnly(const float *a, float *o) {
  __shared__ float s[32][32];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x ^ ((y + i) >> 5)] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x][(y + i) ^ (x >> 5)];
}

// EXPECT crossed: smem_swizzle absent: written by x ^ row, read by x + row: other places than written
__global__ void __launch_bounds__(256) crossed(const float *a, float *o) {
  __shared__ float s[32][32];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x ^ (y + i)] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[x][(x + y + i) & 31];
}

// EXPECT paddedButRows: smem_padding absent: rows of 33 words that both sides walk along
// EXPECT paddedButRows: smem_bank_conflict present op=load degree=1: lanes read neighbours
__global__ void __launch_bounds__(256) paddedButRows(const float *a, float *o) {
  __shared__ float s[32][33];
  PLACE;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x] = from[(size_t)(y + i) * 2048 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    to[(size_t)(y + i) * 2048 + x] = s[31 - y - i][x];
}

// EXPECT worsePadded: smem_padding absent:
//   rows of 64 halves for 32: every row begins at the same bank
__global__ void __launch_bounds__(256) worsePadded(const __half *a, __half *o) {
  __shared__ __half s[32][64];
  int x = threadIdx.x, y = threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x] = a[(size_t)(blockIdx.y * 32 + y + i) * 2048 + blockIdx.x * 32 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    o[(size_t)(blockIdx.x * 32 + y + i) * 2048 + blockIdx.y * 32 + x] = s[x][y + i];
}

// EXPECT byBytes: smem_padding present bytes=4: rows of 36 bytes for 32 bytes of data
__global__ void __launch_bounds__(256) byBytes(const unsigned char *a, unsigned char *o) {
  __shared__ unsigned char s[32][36];
  int x = threadIdx.x, y = threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    s[y + i][x] = a[(size_t)(blockIdx.y * 32 + y + i) * 2048 + blockIdx.x * 32 + x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 32; i += 8)
    o[(size_t)(blockIdx.x * 32 + y + i) * 2048 + blockIdx.y * 32 + x] = s[x][y + i];
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(64, 64), t(32, 8);
  flatPadded<<<g, t, 0, s>>>(a, o[0]);
  evenPadded<<<g, t, 0, s>>>(a, o[1]);
  structRows<<<g, t, 0, s>>>(a, o[2]);
  xorByAddition<<<g, t, 0, s>>>(a, o[3]);
  mirrored<<<g, t, 0, s>>>(a, o[4]);
  highBitsOnly<<<g, t, 0, s>>>(a, o[5]);
  crossed<<<g, t, 0, s>>>(a, o[6]);
  paddedButRows<<<g, t, 0, s>>>(a, o[7]);
  worsePadded<<<g, t, 0, s>>>((__half *)a, (__half *)o[8]);
  byBytes<<<g, t, 0, s>>>((unsigned char *)a, (unsigned char *)o[9]);
}
