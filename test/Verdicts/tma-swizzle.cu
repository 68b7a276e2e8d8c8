// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swizzles of tensor maps against the way the tile is read.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/WgmmaGemm.h"

// EXPECT szTma: smem_swizzle present kind=tma: map and descriptor both swizzle by 128 bytes
// EXPECT szTma: tma present op=load swizzle=128: so the tensor map says
__global__ void __launch_bounds__(128) szTma(ARGS) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT szMismatch: smem_swizzle absent: map without swizzle, descriptor says 128B: one side only
// EXPECT szMismatch: tma present op=load swizzle=none: so the tensor map says
__global__ void __launch_bounds__(128) szMismatch(ARGS) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT szPlain: smem_swizzle absent:
//   map 128B, but the threads read as if it were linear: one side
// EXPECT szPlain: tensor_core absent: no matrix instruction
__global__ void __launch_bounds__(128) szPlain(ARGS) {
  HEAD;
  float v = 0;
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    for (int j = 0; j < 64; ++j)
      v += __bfloat162float(s.a[0][(threadIdx.x & 63) * 64 + j]) *
           __bfloat162float(s.b[0][(threadIdx.x & 63) * 64 + j]);
    __syncthreads();
  }
  c[(size_t)(row + (threadIdx.x & 63)) * n + col + (threadIdx.x >> 6)] = __float2bfloat16(v);
}

// EXPECT szXor: smem_swizzle present kind=tma:
//   map 128B, read by plain 16-byte loads with chunk ^ (row & 7)
__global__ void __launch_bounds__(128) szXor(ARGS) {
  HEAD;
  float v = 0;
  int r = threadIdx.x & 63;
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    for (int j = 0; j < 8; ++j) {
      uint4 x = *(const uint4 *)&s.a[0][r * 64 + ((j ^ (r & 7)) * 8)],
            y = *(const uint4 *)&s.b[0][r * 64 + ((j ^ (r & 7)) * 8)];
      const __nv_bfloat162 *p = (const __nv_bfloat162 *)&x, *q = (const __nv_bfloat162 *)&y;
      for (int u = 0; u < 4; ++u) {
        float2 f = __bfloat1622float2(p[u]), g = __bfloat1622float2(q[u]);
        v += f.x * g.x + f.y * g.y;
      }
    }
    __syncthreads();
  }
  c[(size_t)(row + r) * n + col + (threadIdx.x >> 6)] = __float2bfloat16(v);
}

// EXPECT szXorNone: smem_swizzle absent: map without swizzle, read with xor: one side
__global__ void __launch_bounds__(128) szXorNone(ARGS) {
  HEAD;
  float v = 0;
  int r = threadIdx.x & 63;
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    for (int j = 0; j < 8; ++j) {
      uint4 x = *(const uint4 *)&s.a[0][r * 64 + ((j ^ (r & 7)) * 8)],
            y = *(const uint4 *)&s.b[0][r * 64 + ((j ^ (r & 7)) * 8)];
      const __nv_bfloat162 *p = (const __nv_bfloat162 *)&x, *q = (const __nv_bfloat162 *)&y;
      for (int u = 0; u < 4; ++u) {
        float2 f = __bfloat1622float2(p[u]), g = __bfloat1622float2(q[u]);
        v += f.x * g.x + f.y * g.y;
      }
    }
    __syncthreads();
  }
  c[(size_t)(row + r) * n + col + (threadIdx.x >> 6)] = __float2bfloat16(v);
}

void run(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  CUtensorMap na = mk(a, 2048, 4096, CU_TENSOR_MAP_SWIZZLE_NONE),
              nb = mk(b, 2048, 4096, CU_TENSOR_MAP_SWIZZLE_NONE);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(szTma);
  szTma<<<g, 128, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ATTR(szMismatch);
  szMismatch<<<g, 128, sh, st>>>(na, nb, o[1], 2048, 4096);
  ATTR(szPlain);
  szPlain<<<g, 128, sh, st>>>(ma, mb, o[2], 2048, 4096);
  ATTR(szXor);
  szXor<<<g, 128, sh, st>>>(ma, mb, o[3], 2048, 4096);
  ATTR(szXorNone);
  szXorNone<<<g, 128, sh, st>>>(na, nb, o[4], 2048, 4096);
}
