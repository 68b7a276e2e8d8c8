// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Padding, swizzles and bank conflicts of tiles in shared memory: transposes whose places are
// permuted on both sides, on one side, or in a way that lowers nothing.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"
#include <cuda_fp16.h>

// EXPECT trXorBoth: smem_swizzle present kind=xor bits=5: 32x32 transpose, col ^ row on both sides
// EXPECT trXorBoth: smem_bank_conflict present degree=1: conflict free
// EXPECT trXorBoth: smem_padding absent: rows are as long as the tile is wide
// EXPECT trXorBoth: smem_tiling absent: pure reordering
__global__ void trXorBoth(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 32; r += 8)
    t[r][tx ^ r] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx][r ^ tx];
}

// EXPECT trXorWrite: smem_swizzle absent: only the write side is permuted
__global__ void trXorWrite(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 32; r += 8)
    t[r][tx ^ r] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx][r];
}

// EXPECT trRot: smem_swizzle present kind=rotate: (col + row) & 31 on both sides
__global__ void trRot(const float *a, float *b, int n) {
  __shared__ float t[32 * 32];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 32; r += 8)
    t[r * 32 + ((tx + r) & 31)] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx * 32 + ((r + tx) % 32)];
}

// EXPECT rowXor: smem_swizzle absent:
//   permuted on both sides, but every access walks a row: no degree is lowered
// EXPECT rowXor: smem_tiling absent: each byte read once
__global__ void rowXor(const float *a, float *b, int n) {
  __shared__ float t[8][32];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  t[ty][tx ^ ty] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  int q = 7 - ty;
  b[blockIdx.x * 256 + threadIdx.x] = t[q][tx ^ q];
}

// EXPECT rowPad: smem_padding absent:
//   rows of 33 words, but all accesses walk rows: nothing is lowered
// EXPECT rowPad: coalesced_global_access present direction=load share=1: consecutive
__global__ void rowPad(const float *a, float *b, int n) {
  __shared__ float t[8][33];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  t[ty][tx] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  b[blockIdx.x * 256 + threadIdx.x] = t[7 - ty][31 - tx];
}

// EXPECT trPad64: smem_padding absent:
//   padding of 32 words: stride still a multiple of 32 banks, degree stays 32
// EXPECT trPad64: smem_bank_conflict present degree=32 op=load: column read with stride 64 words
__global__ void trPad64(const float *a, float *b, int n) {
  __shared__ float t[32][64];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 32; r += 8)
    t[r][tx] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx][r];
}

// EXPECT trHalf: smem_padding present bytes=4:
//   half tile, 64 x (64+2): column read of 2-byte elements
__global__ void trHalf(const __half *a, __half *b, int n) {
  __shared__ __half t[64][66];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 64; r += 8) {
    __half2 v =
        *(const __half2 *)(a + (size_t)(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + 2 * tx);
    *(__half2 *)&t[r][2 * tx] = v;
  }
  __syncthreads();
  for (int r = ty; r < 64; r += 8) {
    __half2 v = __halves2half2(t[2 * tx][r], t[2 * tx + 1][r]);
    *(__half2 *)(b + (size_t)(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + 2 * tx) = v;
  }
}

// EXPECT padLoop: smem_padding present bytes=4:
//   rows of 33 words; the loop over rows starts at the number of the warp
__global__ void padLoop(const float *a, float *b, int n) {
  __shared__ float t[32][33];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  for (int r = ty; r < 32; r += 8)
    t[r][tx] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = ty; r < 32; r += 8)
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx][r];
}

// EXPECT padFlat: smem_padding present bytes=4: same, block (32, 8), constant loop, unrolled
__global__ void padFlat(const float *a, float *b, int n) {
  __shared__ float t[32][33];
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[ty + r][tx] = a[(blockIdx.y * 32 + ty + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + ty + r) * n + blockIdx.y * 32 + tx] = t[tx][ty + r];
}

// EXPECT xorFlat: smem_swizzle present kind=xor bits=5: block (32, 8), unrolled
__global__ void xorFlat(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[ty + r][tx ^ (ty + r)] = a[(blockIdx.y * 32 + ty + r) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + ty + r) * n + blockIdx.y * 32 + tx] = t[tx][(ty + r) ^ tx];
}

// EXPECT xorLoopBounds: smem_swizzle present kind=xor bits=5: rolled loop, fixed bounds
__global__ void __launch_bounds__(256) xorLoopBounds(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int r = ty + 8 * i;
    t[r][tx ^ r] = a[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + tx];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    int r = ty + 8 * i;
    b[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + tx] = t[tx][r ^ tx];
  }
}

// EXPECT halfFlat: smem_padding present bytes=4: half, constant loops
__global__ void halfFlat(const __half *a, __half *b, int n) {
  __shared__ __half t[64][66];
  int tx = threadIdx.x, ty = threadIdx.y;
#pragma unroll
  for (int i = 0; i < 64; i += 8) {
    int r = ty + i;
    *(__half2 *)&t[r][2 * tx] =
        *(const __half2 *)(a + (size_t)(blockIdx.y * 64 + r) * n + blockIdx.x * 64 + 2 * tx);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; i += 8) {
    int r = ty + i;
    *(__half2 *)(b + (size_t)(blockIdx.x * 64 + r) * n + blockIdx.y * 64 + 2 * tx) =
        __halves2half2(t[2 * tx][r], t[2 * tx + 1][r]);
  }
}

// EXPECT xorConst: smem_swizzle absent: columns xor a constant 5 on both sides: no row bits
__global__ void xorConst(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[y + r][x ^ 5] = a[(blockIdx.y * 32 + y + r) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + y + r) * n + blockIdx.y * 32 + x] = t[x][(y + r) ^ 5];
}

// EXPECT xorBlock: smem_swizzle absent: columns xor the block number: no row bits, degree stays 32
__global__ void xorBlock(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x & 31;
  for (int r = 0; r < 32; r += 8)
    t[y + r][x ^ z] = a[(blockIdx.y * 32 + y + r) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + y + r) * n + blockIdx.y * 32 + x] = t[x][(y + r) ^ z];
}

// EXPECT xorHalf: smem_swizzle present kind=xor: only the low three row bits: degree 32 -> 4
__global__ void xorHalf(const float *a, float *b, int n) {
  __shared__ float t[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[y + r][x ^ ((y + r) & 7)] = a[(blockIdx.y * 32 + y + r) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + y + r) * n + blockIdx.y * 32 + x] = t[x][(y + r) ^ (x & 7)];
}

// EXPECT padHead: smem_padding absent: one spare word in front of the array: rows still 32 words
__global__ void padHead(const float *a, float *b, int n) {
  __shared__ float raw[32 * 32 + 1];
  float *t = raw + 1;
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[(y + r) * 32 + x] = a[(blockIdx.y * 32 + y + r) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + y + r) * n + blockIdx.y * 32 + x] = t[x * 32 + y + r];
}

// EXPECT padDeclared: smem_padding absent: declared [32][33], but addressed with a stride of 32
__global__ void padDeclared(const float *a, float *b, int n) {
  __shared__ float raw[32][33];
  float *t = &raw[0][0];
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = 0; r < 32; r += 8)
    t[(y + r) * 32 + x] = a[(blockIdx.y * 32 + y + r) * n + blockIdx.x * 32 + x];
  __syncthreads();
  for (int r = 0; r < 32; r += 8)
    b[(blockIdx.x * 32 + y + r) * n + blockIdx.y * 32 + x] = t[x * 32 + y + r];
}

// EXPECT bcFloat4: smem_bank_conflict present degree=1 op=load:
//   float4 reads of consecutive lanes: free
__global__ void __launch_bounds__(256) bcFloat4(const float4 *a, float4 *o) {
  __shared__ float4 s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 32];
}

// EXPECT bcStride2: smem_bank_conflict in ptx present degree=2 op=load: every second word
// EXPECT bcStride2: smem_bank_conflict in cubin present degree=1 op=load:
//   ptxas merges the two loads into one of 8 bytes
__global__ void __launch_bounds__(128) bcStride2(const float *a, float *o) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  s[threadIdx.x + 128] = a[blockIdx.x * 256 + 128 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 128 + threadIdx.x] = s[2 * threadIdx.x] + s[2 * threadIdx.x + 1] * 3.f;
}

// EXPECT bcBroadcast: smem_bank_conflict present degree=1 op=load:
//   all lanes read one word (loop variable)
__global__ void __launch_bounds__(256) bcBroadcast(const float *a, float *o) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float v = 0;
  for (int i = 0; i < 256; ++i)
    v += s[i];
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT bcBytes: smem_bank_conflict present degree=1 op=load: bytes: four lanes share a word
__global__ void __launch_bounds__(256) bcBytes(const unsigned char *a, unsigned char *o) {
  __shared__ unsigned char s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x] ^ 3;
}

// EXPECT bcDouble: smem_bank_conflict present degree=2 op=load:
//   doubles at stride 2: half-warps served apart, 2-way
__global__ void __launch_bounds__(128) bcDouble(const double *a, double *o) {
  __shared__ double s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  s[threadIdx.x + 128] = a[blockIdx.x * 256 + 128 + threadIdx.x];
  __syncthreads();
  o[blockIdx.x * 128 + threadIdx.x] = s[2 * threadIdx.x];
}

static void runPart1(float *p, float *q, int n, cudaStream_t st, float **o) {
  trXorBoth<<<dim3(64, 64), 256, 0, st>>>(p, o[0], 2048);
  trXorWrite<<<dim3(64, 64), 256, 0, st>>>(p, o[1], 2048);
  trRot<<<dim3(64, 64), 256, 0, st>>>(p, o[2], 2048);
  rowXor<<<64, 256, 0, st>>>(p, o[3], 2048);
  rowPad<<<64, 256, 0, st>>>(p, o[4], 2048);
  trPad64<<<dim3(64, 64), 256, 0, st>>>(p, o[5], 2048);
  trHalf<<<dim3(32, 32), 256, 0, st>>>((__half *)p, (__half *)o[6], 2048);
}

static void runPart2(float *p, float *q, int n, cudaStream_t st, float **o) {
  padLoop<<<dim3(64, 64), 256, 0, st>>>(p, o[7], 2048);
  padFlat<<<dim3(64, 64), dim3(32, 8), 0, st>>>(p, o[8], 2048);
  xorFlat<<<dim3(64, 64), dim3(32, 8), 0, st>>>(p, o[9], 2048);
  xorLoopBounds<<<dim3(64, 64), 256, 0, st>>>(p, o[10], 2048);
  halfFlat<<<dim3(32, 32), dim3(32, 8), 0, st>>>((__half *)p, (__half *)o[11], 2048);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(64, 64), t(32, 8);
  xorConst<<<g, t, 0, s>>>(a, o[12], 2048);
  xorBlock<<<g, t, 0, s>>>(a, o[13], 2048);
  xorHalf<<<g, t, 0, s>>>(a, o[14], 2048);
  padHead<<<g, t, 0, s>>>(a, o[15], 2048);
  padDeclared<<<g, t, 0, s>>>(a, o[16], 2048);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  bcFloat4<<<64, 256, 0, s>>>((float4 *)a, (float4 *)o[17]);
  bcStride2<<<64, 128, 0, s>>>(a, o[18]);
  bcBroadcast<<<64, 256, 0, s>>>(a, o[19]);
  bcBytes<<<64, 256, 0, s>>>((unsigned char *)a, (unsigned char *)o[20]);
  bcDouble<<<64, 128, 0, s>>>((double *)a, (double *)o[21]);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, 0, s, o);
  runPart2(a, b, 0, s, o);
  runPart3(a, b, o, s);
  runPart4(a, b, o, s);
}
