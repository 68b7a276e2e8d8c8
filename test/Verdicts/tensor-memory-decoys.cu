// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tcgen05 whose sums are not what is read from tensor memory, and honest stages of sums.
//
// VERDICTS arch=sm_100a entry=run read=ptx,cubin

#define TMEM_COLUMNS "128"
#include "Inputs/Tcgen05.h"

// All steps, each waited for, into the columns from `to` on.
__device__ __forceinline__ void multiply(Sh &s, const CUtensorMap &ma, const CUtensorMap &mb,
                                         uint32_t to, int steps, int row, int col) {
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0) {
      load(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
        tc(to, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);
      tcCommit(&s.done);
    }
    MBWAIT(&s.done, i & 1);
    __syncthreads();
  }
  asm volatile("tcgen05.fence::after_thread_sync;");
}

// EXPECT sums: tensor_core present family=tcgen05: the sums are read and stored
// EXPECT sums: tmem_accumulator present columns=128: 128 columns, half of them used
// EXPECT sums: epilogue_fusion absent: stored as they are
__global__ void __launch_bounds__(128) sums(ARGS) {
  HEAD;
  multiply(s, ma, mb, tm, steps, row, col);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q];
  }
  FREE;
}

// EXPECT otherColumns: tensor_core absent:
//   the sums stand in columns 0 to 63; what is read stands in columns 64 to 127, where loaded data
//   was put
// EXPECT otherColumns: tmem_accumulator absent: no sums are read
__global__ void __launch_bounds__(128) otherColumns(ARGS, const float *x) {
  HEAD;
  multiply(s, ma, mb, tm, steps, row, col);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 8; ++j) {
    float v[8];
    for (int q = 0; q < 8; ++q)
      v[q] = x[(size_t)(row + threadIdx.x) * n + col + j * 8 + q];
    tst8(v, tm + (w << 21) + 64 + j * 8);
    tld8(v, tm + (w << 21) + 64 + j * 8);
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q] * 2.f;
  }
  FREE;
}

// EXPECT timesZero: tensor_core absent: every sum is multiplied by a literal zero
// EXPECT timesZero: tmem_accumulator absent: no sum reaches the output
__global__ void __launch_bounds__(128) timesZero(ARGS, const float *x) {
  HEAD;
  multiply(s, ma, mb, tm, steps, row, col);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = x[(size_t)(row + threadIdx.x) * n + col + j * 8 + q] * 3.f + v[q] * 0.f;
  }
  FREE;
}

// EXPECT unread: tensor_core absent: the sums are never read; scalar products make the output
// EXPECT unread: tmem_accumulator absent: the sums are never read
__global__ void __launch_bounds__(128) unread(ARGS, const float *x) {
  HEAD;
  multiply(s, ma, mb, tm, steps, row, col);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 64; ++j) {
    float v = 0;
    for (int i = 0; i < k; ++i)
      v += x[(size_t)(row + threadIdx.x) * k + i] * x[(size_t)(col + j) * k + i];
    o[j] = v;
  }
  FREE;
}

// EXPECT startedAnew: tensor_core present family=tcgen05: the products of the second pass are read
// EXPECT startedAnew: tmem_accumulator present: the second pass begins with sums of zero
__global__ void __launch_bounds__(128) startedAnew(ARGS) {
  HEAD;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < steps; ++i) {
      if (threadIdx.x == 0) {
        load(s, &ma, &mb, 0, i, row, col);
        MBWAIT(&s.full[0], (pass * steps + i) & 1);
        for (int kk = 0; kk < 4; ++kk)
          tc(tm, d100(s.a[0] + kk * 16), d100(s.b[0] + kk * 16), i + kk > 0);
        tcCommit(&s.done);
      }
      MBWAIT(&s.done, (pass * steps + i) & 1);
      __syncthreads();
    }
  asm volatile("tcgen05.fence::after_thread_sync;");
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q];
  }
  FREE;
}

// EXPECT gelu: epilogue_fusion present: the sums go through a function that is not linear
// EXPECT gelu: tensor_core present family=tcgen05: the sums are read
__global__ void __launch_bounds__(128) gelu(ARGS) {
  HEAD;
  multiply(s, ma, mb, tm, steps, row, col);
  float *o = c + (size_t)(row + threadIdx.x) * n + col;
  for (int j = 0; j < 8; ++j) {
    float v[8];
    tld8(v, tm + (w << 21) + j * 8);
    for (int q = 0; q < 8; ++q)
      o[j * 8 + q] = v[q] * normcdff(v[q]);
  }
  FREE;
}

void run(bf *a, bf *b, float **o, float *x, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096, 128), mb = mk(b, 2048, 4096, 64);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 16);
#define ROOM(kernel) \
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ROOM(sums);
  sums<<<g, 128, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ROOM(otherColumns);
  otherColumns<<<g, 128, sh, st>>>(ma, mb, o[1], 2048, 4096, x);
  ROOM(timesZero);
  timesZero<<<g, 128, sh, st>>>(ma, mb, o[2], 2048, 4096, x);
  ROOM(unread);
  unread<<<g, 128, sh, st>>>(ma, mb, o[3], 2048, 4096, x);
  ROOM(startedAnew);
  startedAnew<<<g, 128, sh, st>>>(ma, mb, o[4], 2048, 4096);
  ROOM(gelu);
  gelu<<<g, 128, sh, st>>>(ma, mb, o[5], 2048, 4096);
}
