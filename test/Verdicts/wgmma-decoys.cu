// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of wgmma whose operands hold no input, or whose sums are not what is stored.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/WgmmaGemm.h"

// One step in slot 0, waited for at once.
#define STEP(a, b) \
  wgFence();       \
  mma4(d, a, b);   \
  wgCommit();      \
  wgWait<0>()
#define COPY(i)                         \
  if (threadIdx.x == 0)                 \
    issue(s, &ma, &mb, 0, i, row, col); \
  MBWAIT(&s.full[0], (i) & 1)

// EXPECT honest: tensor_core present family=wgmma: the sums of what TMA brought are stored
// EXPECT honest: smem_tiling present: the matrix unit reads both tiles
// EXPECT honest: async_pipeline absent: each copy is waited for in its own iteration
__global__ void __launch_bounds__(128) honest(ARGS) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    COPY(i);
    STEP(s.a[0], s.b[0]);
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT otherSlot: tensor_core absent:
//   the copies go to slot 0, the products read slot 1, which nobody fills
// EXPECT otherSlot: smem_tiling absent: what is copied is not read
// EXPECT otherSlot: tma absent: what is copied is not read
__global__ void __launch_bounds__(128) otherSlot(ARGS, const float *x) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    COPY(i);
    STEP(s.a[1], s.b[1]);
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 32; ++j)
    d[j] += x[(size_t)(row + threadIdx.x % 64) * n + col + j];
  put64(d, c, n, row, col);
}

// EXPECT constants: tensor_core absent: both tiles are filled with ones by the threads
__global__ void __launch_bounds__(128) constants(ARGS, const float *x) {
  HEAD;
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    s.a[0][i] = __float2bfloat16(1.f);
    s.b[0][i] = __float2bfloat16(1.f);
  }
  fenceAsync();
  __syncthreads();
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    STEP(s.a[0], s.b[0]);
  }
#pragma unroll
  for (int j = 0; j < 32; ++j)
    d[j] += x[(size_t)(row + threadIdx.x % 64) * n + col + j];
  put64(d, c, n, row, col);
}

// EXPECT replaced: tensor_core absent:
//   the sums are replaced by scalar products before they are stored
__global__ void __launch_bounds__(128) replaced(ARGS, const float *x) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    COPY(i);
    STEP(s.a[0], s.b[0]);
    __syncthreads();
  }
#pragma unroll 1
  for (int j = 0; j < 32; ++j) {
    float v = 0;
    for (int i = 0; i < k; ++i)
      v += x[(size_t)(row + threadIdx.x % 64) * k + i] * x[(size_t)(col + j) * k + i];
    c[(size_t)(row + threadIdx.x % 64) * n + col + j] = __float2bfloat16(v);
  }
  if (d[0] > 1e30f && d[1] < -1e30f)
    __trap();
}

// EXPECT loadedTile: tensor_core present family=wgmma: the tiles come through registers
// EXPECT loadedTile: tma absent: no copy of the TMA unit
// EXPECT loadedTile: async_copy absent: through registers
__global__ void __launch_bounds__(128) loadedTile(ARGS, const bf *a, const bf *b) {
  HEAD;
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    for (int e = threadIdx.x; e < 512; e += 128) {
      int r = e / 8, q = e % 8;
      *(uint4 *)&s.a[0][r * 64 + (q ^ (r & 7)) * 8] =
          *(const uint4 *)(a + (size_t)(row + r) * k + i * 64 + q * 8);
      *(uint4 *)&s.b[0][r * 64 + (q ^ (r & 7)) * 8] =
          *(const uint4 *)(b + (size_t)(col + r) * k + i * 64 + q * 8);
    }
    fenceAsync();
    __syncthreads();
    STEP(s.a[0], s.b[0]);
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT zeroB: tensor_core absent: one operand is filled with zeros
__global__ void __launch_bounds__(128) zeroB(ARGS, const float *x) {
  HEAD;
  for (int i = threadIdx.x; i < 64 * 64; i += 128)
    s.b[1][i] = __float2bfloat16(0.f);
  fenceAsync();
  __syncthreads();
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    COPY(i);
    STEP(s.a[0], s.b[1]);
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 32; ++j)
    d[j] += x[(size_t)(row + threadIdx.x % 64) * n + col + j];
  put64(d, c, n, row, col);
}

void run(bf *a, bf *b, bf **o, const float *x, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ROOM(kernel) \
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ROOM(honest);
  honest<<<g, 128, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ROOM(otherSlot);
  otherSlot<<<g, 128, sh, st>>>(ma, mb, o[1], 2048, 4096, x);
  ROOM(constants);
  constants<<<g, 128, sh, st>>>(ma, mb, o[2], 2048, 4096, x);
  ROOM(replaced);
  replaced<<<g, 128, sh, st>>>(ma, mb, o[3], 2048, 4096, x);
  ROOM(loadedTile);
  loadedTile<<<g, 128, sh, st>>>(ma, mb, o[4], 2048, 4096, a, b);
  ROOM(zeroB);
  zeroB<<<g, 128, sh, st>>>(ma, mb, o[5], 2048, 4096, x);
}
