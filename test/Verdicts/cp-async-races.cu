// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rings that are none: what is read was never waited for, is waited for at once, or is
// overwritten while it is read.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include "Inputs/Sm90.h"

// EXPECT ring3wait0: async_pipeline absent:
//   waits for all groups in the iteration that asked for them, before it computes
__global__ void __launch_bounds__(256)
    ring3wait0(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    int slot = i % 3;
    ask(A[slot], B[slot], a, b, n, i * BK);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    fm(A[slot], B[slot], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT ringOne: async_pipeline absent:
//   the ring has one slot: the next tile is asked for behind the products and waited for at once
__global__ void __launch_bounds__(256)
    ringOne(const float *a, const float *b, float *c, int n, int k) {
  constexpr int STAGES = 1;
  __shared__ float A[STAGES][BK][64], B[STAGES][BK][64];
  AT;

  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(STAGES - 1);
    __syncthreads();
    fm(A[i % STAGES], B[i % STAGES], acc, ty, tx);
    __syncthreads();
    if (i + STAGES < steps)
      ask(A[i % STAGES], B[i % STAGES], a, b, n, (i + STAGES) * BK);
    __pipeline_commit();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT never: async_pipeline absent:
//   the slot that is read was asked for in this iteration and never waited for: a race
__global__ void __launch_bounds__(256)
    never(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    int slot = i % 3;
    ask(A[slot], B[slot], a, b, n, i * BK);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    fm(A[slot], B[slot], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT prefetchUnused: async_pipeline absent:
//   the ring is filled ahead and never read: the products read a tile that plain stores put there
__global__ void __launch_bounds__(256)
    prefetchUnused(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64], PA[BK][64], PB[BK][64];
  AT;

  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps)
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
    __pipeline_commit();
    __pipeline_wait_prior(1);

    *(float4 *)&PA[r][q] = *(const float4 *)(a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q);
    *(float4 *)&PB[r][q] = *(const float4 *)(b + (size_t)(i * BK + r) * n + blockIdx.x * 64 + q);
    __syncthreads();
    fm(PA, PB, acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT prologueOnly: async_pipeline absent:
//   three tiles are asked for before the loop; inside, each tile is asked for and drained at once
__global__ void __launch_bounds__(256)
    prologueOnly(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[4][BK][64], B[4][BK][64];
  AT;

  for (int i = 0; i < 3; ++i) {
    ask(A[i], B[i], a, b, n, i * BK);
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < 3; ++i)
    fm(A[i], B[i], acc, ty, tx);
  for (int i = 3; i < k / BK; ++i) {
    __syncthreads();
    ask(A[i & 3], B[i & 3], a, b, n, i * BK);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    fm(A[i & 3], B[i & 3], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT emptyGroups: async_pipeline absent:
//   two empty groups are committed behind each copy, so that a wait for all but two waits for the
//   copy itself
__global__ void __launch_bounds__(256)
    emptyGroups(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  for (int i = 0; i < k / BK; ++i) {
    int s = i % 3;
    ask(A[s], B[s], a, b, n, i * BK);
    __pipeline_commit();
    __pipeline_commit();
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    fm(A[s], B[s], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT offByOne: async_pipeline absent:
//   two tiles ahead, and a wait for all but two groups waits for nothing
// EXPECT offByOne: smem_tiling absent: no completion wait for the tile that is read
__global__ void __launch_bounds__(256)
    offByOne(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  ask(A[1], B[1], a, b, n, BK);
  __pipeline_commit();
  int steps = k / BK, slot = 0;
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(2);
    __syncthreads();
    fm(A[slot], B[slot], acc, ty, tx);
    int next = slot + 2;
    if (next >= 3)
      next -= 3;
    if (i + 2 < steps)
      ask(A[next], B[next], a, b, n, (i + 2) * BK);
    __pipeline_commit();
    if (++slot == 3)
      slot = 0;
  }
  put(c, acc, n, ty, tx);
}

// EXPECT noWait: async_pipeline absent: ring, but no wait at all: barriers only
// EXPECT noWait: smem_tiling absent: a barrier does not complete cp.async
__global__ void __launch_bounds__(256)
    noWait(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  ask(A[1], B[1], a, b, n, BK);
  __pipeline_commit();
  int steps = k / BK, slot = 0;
  for (int i = 0; i < steps; ++i) {
    __syncthreads();
    fm(A[slot], B[slot], acc, ty, tx);
    int next = slot + 2;
    if (next >= 3)
      next -= 3;
    if (i + 2 < steps)
      ask(A[next], B[next], a, b, n, (i + 2) * BK);
    __pipeline_commit();
    if (++slot == 3)
      slot = 0;
  }
  __pipeline_wait_prior(0);
  put(c, acc, n, ty, tx);
}

// EXPECT noCommit: async_pipeline absent:
//   never commits: wait_prior(1) waits for groups that do not exist
__global__ void __launch_bounds__(256)
    noCommit(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps)
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT wrongSlot: async_pipeline absent:
//   the next tile is copied to the other slot, but the products always read slot 0, refilled and
//   waited for at once
__global__ void __launch_bounds__(256)
    wrongSlot(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    ask(A[0], B[0], a, b, n, i * BK);
    __pipeline_commit();
    ask(A[1], B[1], a, b, n, (i + 1) * BK);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[0], B[0], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT aheadButDrained: async_pipeline absent:
//   asks two tiles ahead, but drains everything before the products
__global__ void __launch_bounds__(256)
    aheadButDrained(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  ask(A[1], B[1], a, b, n, BK);
  __pipeline_commit();
  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    int slot = i % 3, next = (i + 2) % 3;
    if (i + 2 < steps)
      ask(A[next], B[next], a, b, n, (i + 2) * BK);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    fm(A[slot], B[slot], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT deadCond: async_pipeline absent:
//   the pipelined path stands under a flag that is 0 in the launch; the path that runs is serial
__global__ void __launch_bounds__(256)
    deadCond(const float *a, const float *b, float *c, int n, int k, int fast) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;
  if (fast == 77) {
    ask(A[0], B[0], a, b, n, 0);
    __pipeline_commit();
    for (int i = 0; i < steps; ++i) {
      if (i + 1 < steps)
        ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      __syncthreads();
      fm(A[i & 1], B[i & 1], acc, ty, tx);
      __syncthreads();
    }
  } else {
    for (int i = 0; i < k; ++i) {
      float x = a[(size_t)i * n + blockIdx.y * 64 + ty * 4],
            y = b[(size_t)i * n + blockIdx.x * 64 + tx * 4];
      acc[0][0] += x * y;
    }
  }
  put(c, acc, n, ty, tx);
}

// EXPECT twoGroupsBad: async_pipeline absent:
//   2 groups a stage, wait_prior(6): waits for nothing (6 outstanding)
// EXPECT twoGroupsBad: smem_tiling absent:
//   2 groups a stage, wait_prior(6): waits for nothing (6 outstanding)
__global__ void __launch_bounds__(256)
    twoGroupsBad(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[4][BK][64], B[4][BK][64];
  AT;

  int steps = k / BK;

  for (int i = 0; i < 3; ++i) {
    __pipeline_memcpy_async(&A[i][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&B[i][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
  }
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(6);
    __syncthreads();
    if (i + 3 < steps) {
      __pipeline_memcpy_async(&A[(i + 3) & 3][r][q],
                              a + (size_t)((i + 3) * BK + r) * n + blockIdx.y * 64 + q, 16);
    }
    __pipeline_commit();
    if (i + 3 < steps) {
      __pipeline_memcpy_async(&B[(i + 3) & 3][r][q],
                              b + (size_t)((i + 3) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    __pipeline_commit();
    fm(A[i & 3], B[i & 3], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT sameSlot: async_pipeline absent:
//   asks for tile i+2 into slot i%2 BEFORE the products read that slot: it overwrites what is
//   being read
__global__ void __launch_bounds__(256)
    sameSlot(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&A[i][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[i][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
  }
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(1);
    __syncthreads();
    __pipeline_memcpy_async(&A[i & 1][r][q],
                            a + (size_t)((i + 2) * BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[i & 1][r][q],
                            b + (size_t)((i + 2) * BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT oneBuf: async_pipeline absent:
//   one buffer; the next tile is asked for into it before the products, waited for behind them:
//   overwrites what is read
__global__ void __launch_bounds__(256)
    oneBuf(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[1][BK][64], B[1][BK][64];
  AT;

  int steps = k / BK;

  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((0) * BK + r) * n + blockIdx.y * 64 + q, 16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((0) * BK + r) * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < steps; ++i) {
    __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((i + 1) * BK + r) * n + blockIdx.y * 64 + q,
                            16);
    __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((i + 1) * BK + r) * n + blockIdx.x * 64 + q,
                            16);
    __pipeline_commit();
    fm(A[0], B[0], acc, ty, tx);
    __pipeline_wait_prior(0);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT staleSlot: async_pipeline not-present:
//   reads the slot of the step before (i+1)&1: reads tile i-1 twice removed
__global__ void __launch_bounds__(256)
    staleSlot(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((0) * BK + r) * n + blockIdx.y * 64 + q, 16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((0) * BK + r) * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    __pipeline_memcpy_async(&A[(i + 1) & 1][r][q],
                            a + (size_t)((i + 1) * BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[(i + 1) & 1][r][q],
                            b + (size_t)((i + 1) * BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[(i + 1) & 1], B[(i + 1) & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT noBar: async_pipeline not-present:
//   waits for its own copies, but no block barrier: other threads' copies may not be there
// EXPECT noBar: smem_tiling absent:
//   waits for its own copies, but no block barrier: other threads' copies may not be there
__global__ void __launch_bounds__(256)
    noBar(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((0) * BK + r) * n + blockIdx.y * 64 + q, 16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((0) * BK + r) * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) {
      __pipeline_memcpy_async(&A[(i + 1) & 1][r][q],
                              a + (size_t)((i + 1) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[(i + 1) & 1][r][q],
                              b + (size_t)((i + 1) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    fm(A[i & 1], B[i & 1], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT barThenWait: async_pipeline not-present:
//   the barrier stands BEFORE the wait: other threads' copies may not be there
// EXPECT barThenWait: smem_tiling absent:
//   the barrier stands BEFORE the wait: other threads' copies may not be there
__global__ void __launch_bounds__(256)
    barThenWait(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((0) * BK + r) * n + blockIdx.y * 64 + q, 16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((0) * BK + r) * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    __syncthreads();
    if (i + 1 < steps) {
      __pipeline_memcpy_async(&A[(i + 1) & 1][r][q],
                              a + (size_t)((i + 1) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[(i + 1) & 1][r][q],
                              b + (size_t)((i + 1) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    fm(A[i & 1], B[i & 1], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

#define GEMMHEAD                                                          \
  __shared__ float A[16][64], B[16][64];                                  \
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, r = threadIdx.x / 16, \
      q = threadIdx.x % 16 * 4;                                           \
  float acc[4][4] = {};

#define GEMMFMA                     \
  for (int kk = 0; kk < 16; ++kk) { \
    float x[4], y[4];               \
    for (int j = 0; j < 4; ++j) {   \
      x[j] = A[kk][ty * 4 + j];     \
      y[j] = B[kk][tx * 4 + j];     \
    }                               \
    for (int u = 0; u < 4; ++u)     \
      for (int v = 0; v < 4; ++v)   \
        acc[u][v] += x[u] * y[v];   \
  }

#define GEMMPUT                                                                              \
  for (int u = 0; u < 4; ++u)                                                                \
    *(float4 *)(c + (size_t)(blockIdx.y * 64 + ty * 4 + u) * n + blockIdx.x * 64 + tx * 4) = \
        make_float4(acc[u][0], acc[u][1], acc[u][2], acc[u][3]);

// EXPECT regDead: async_pipeline absent:
//   the next tile is loaded into registers ahead, but the store takes a tile that is loaded anew
__global__ void __launch_bounds__(256)
    regDead(const float *a, const float *b, float *c, int n, int k) {
  GEMMHEAD;

  float4 na = *(const float4 *)(a + (size_t)r * n + blockIdx.y * 64 + q), sink = na;
  for (int i = 0; i < k; i += 16) {
    float4 ra = *(const float4 *)(a + (size_t)(i + r) * n + blockIdx.y * 64 + q),
           rb = *(const float4 *)(b + (size_t)(i + r) * n + blockIdx.x * 64 + q);
    *(float4 *)&A[r][q] = ra;
    *(float4 *)&B[r][q] = rb;
    __syncthreads();
    asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(na.x), "=f"(na.y), "=f"(na.z), "=f"(na.w)
                 : "l"(a + (size_t)(i + 16 + r) * n + blockIdx.y * 64 + q));
    GEMMFMA;

    __syncthreads();
  }
  GEMMPUT;
}

// EXPECT regOne: async_pipeline absent: only a pointer is computed ahead, not the data
__global__ void __launch_bounds__(256)
    regOne(const float *a, const float *b, float *c, int n, int k) {
  GEMMHEAD;

  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  const float *na = pa + 16 * n, *nb = pb + 16 * n;
  for (int i = 0; i < k; i += 16) {
    *(float4 *)&A[r][q] = *(const float4 *)pa;
    *(float4 *)&B[r][q] = *(const float4 *)pb;
    __syncthreads();
    pa = na;
    pb = nb;
    na += 16 * n;
    nb += 16 * n;
    GEMMFMA;

    __syncthreads();
  }
  GEMMPUT;
}

static void runPart1(float *p, float *q, int n, cudaStream_t st, float **o) {
  dim3 g(32, 32);
  ring3wait0<<<g, 256, 0, st>>>(p, q, o[0], 2048, 4096);
  ringOne<<<g, 256, 0, st>>>(p, q, o[1], 2048, 4096);
  never<<<g, 256, 0, st>>>(p, q, o[2], 2048, 4096);
  prefetchUnused<<<g, 256, 0, st>>>(p, q, o[3], 2048, 4096);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  prologueOnly<<<g, 256, 0, s>>>(a, b, o[4], 2048, 4096);
  emptyGroups<<<g, 256, 0, s>>>(a, b, o[5], 2048, 4096);
}

static void runPart3(float *p, float *q, int n, cudaStream_t st, float **o) {
  dim3 g(32, 32);
  offByOne<<<g, 256, 0, st>>>(p, q, o[6], 2048, 4096);
  noWait<<<g, 256, 0, st>>>(p, q, o[7], 2048, 4096);
  noCommit<<<g, 256, 0, st>>>(p, q, o[8], 2048, 4096);
  wrongSlot<<<g, 256, 0, st>>>(p, q, o[9], 2048, 4096);
  aheadButDrained<<<g, 256, 0, st>>>(p, q, o[10], 2048, 4096);
  deadCond<<<g, 256, 0, st>>>(p, q, o[11], 2048, 4096, 0);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  twoGroupsBad<<<g, 256, 0, s>>>(a, b, o[12], 2048, 4096);
}

static void runPart5(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  sameSlot<<<g, 256, 0, s>>>(a, b, o[13], 2048, 4096);
  oneBuf<<<g, 256, 0, s>>>(a, b, o[14], 2048, 4096);
  staleSlot<<<g, 256, 0, s>>>(a, b, o[15], 2048, 4096);
  noBar<<<g, 256, 0, s>>>(a, b, o[16], 2048, 4096);
  barThenWait<<<g, 256, 0, s>>>(a, b, o[17], 2048, 4096);
}

static void runPart6(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  regDead<<<g, 256, 0, s>>>(a, b, o[18], 2048, 2048);
  regOne<<<g, 256, 0, s>>>(a, b, o[19], 2048, 2048);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, 0, s, o);
  runPart2(a, b, o, s);
  runPart3(a, b, 0, s, o);
  runPart4(a, b, o, s);
  runPart5(a, b, o, s);
  runPart6(a, b, o, s);
}
