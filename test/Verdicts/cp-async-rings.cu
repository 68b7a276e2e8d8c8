// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines of cp.async and of loads into registers ahead, in the forms that are written: rings,
// double buffers, peeled tails, groups of one or two, cuda::pipeline.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// EXPECT ring3: async_pipeline present mechanism=cp_async depth=3 in_flight=1:
//   wait_prior<1> at the top then ask for tile k+2 after the wait: 1 outstanding at the wait, 2
//   after the issue
// EXPECT ring3: register_tiling present accumulators=16: 4x4 a thread
// EXPECT ring3: smem_tiling present: both tiles are read by 16 threads each
// EXPECT ring3: tile_shape present m=64 n=64 k=16: 64 x 64 sums a block, 16 deep
__global__ void __launch_bounds__(256)
    ring3(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  ask(A[1], B[1], a, b, n, BK);
  __pipeline_commit();
  int steps = k / BK, slot = 0;
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(1);
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

// EXPECT twoPhase: async_pipeline present mechanism=cp_async depth=2 in_flight=1:
//   double buffer, next asked for before the wait
__global__ void __launch_bounds__(256)
    twoPhase(const float *a, const float *b, float *c, int n, int k) {
  extern __shared__ float dyn[];
  AT;

  float (*A)[BK][64] = (float (*)[BK][64])dyn;
  float (*B)[BK][64] = (float (*)[BK][64])(dyn + 2 * BK * 64);
  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) {
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
      __pipeline_commit();
      __pipeline_wait_prior(1);
    } else
      __pipeline_wait_prior(0);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT regAhead: async_pipeline present mechanism=register_prefetch depth=2:
//   next tile loaded into registers before the products, stored after
__global__ void __launch_bounds__(256)
    regAhead(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  __shared__ float A[BK][64], B[BK][64];
  AT;

  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  float4 ra = *(const float4 *)pa, rb = *(const float4 *)pb;
  for (int i = 0; i < k; i += BK) {
    *(float4 *)&A[r][q] = ra;
    *(float4 *)&B[r][q] = rb;
    __syncthreads();
    if (i + BK < k) {
      ra = *(const float4 *)(pa + (size_t)(i + BK) * n);
      rb = *(const float4 *)(pb + (size_t)(i + BK) * n);
    }
    fm(A, B, acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT regBehind: async_pipeline absent:
//   loaded behind the products, behind the barrier, stored at once
// EXPECT regBehind: smem_tiling present: still tiling
__global__ void __launch_bounds__(256)
    regBehind(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  __shared__ float A[BK][64], B[BK][64];
  AT;

  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  for (int i = 0; i < k; i += BK) {
    float4 ra = *(const float4 *)(pa + (size_t)i * n), rb = *(const float4 *)(pb + (size_t)i * n);
    *(float4 *)&A[r][q] = ra;
    *(float4 *)&B[r][q] = rb;
    __syncthreads();
    fm(A, B, acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT blockPipe: async_pipeline present depth=2:
//   cuda::pipeline with block scope shared state, 2 stages
__global__ void __launch_bounds__(256)
    blockPipe(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto g = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(g, &st);
  AT;

  auto req = [&](int i) {
    pipe.producer_acquire();
    if (i * BK < k) {
      cuda::memcpy_async(&A[i & 1][r][q], a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q,
                         cuda::aligned_size_t<16>(16), pipe);
      cuda::memcpy_async(&B[i & 1][r][q], b + (size_t)(i * BK + r) * n + blockIdx.x * 64 + q,
                         cuda::aligned_size_t<16>(16), pipe);
    }
    pipe.producer_commit();
  };
  req(0);
  for (int i = 0; i * BK < k; ++i) {
    req(i + 1);
    pipe.consumer_wait();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    pipe.consumer_release();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT cgCopy: async_pipeline absent:
//   cg::memcpy_async with cg::wait before the products: copied and waited for in the same
//   iteration
// EXPECT cgCopy: async_copy present mechanism=cp_async: block-wide asynchronous copy
__global__ void __launch_bounds__(256)
    cgCopy(const float *a, const float *b, float *c, int n, int k) {
  __shared__ alignas(16) float A[BK][64], B[BK][64];
  auto g = cg::this_thread_block();
  AT;

  for (int i = 0; i < k; i += BK) {
    // operands packed by tile: contiguous
    cg::memcpy_async(g, &A[0][0], a + ((size_t)blockIdx.y * k + i) * 64,
                     cuda::aligned_size_t<16>(BK * 64 * 4));
    cg::memcpy_async(g, &B[0][0], b + ((size_t)blockIdx.x * k + i) * 64,
                     cuda::aligned_size_t<16>(BK * 64 * 4));
    cg::wait(g);
    fm(A, B, acc, ty, tx);
    g.sync();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT onlyB: async_pipeline present mechanism=cp_async depth=3:
//   A is loaded and used at once, but B comes two tiles ahead: its copies are outstanding during
//   the products
__global__ void __launch_bounds__(256)
    onlyB(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[BK][64], B[3][BK][64];
  AT;

  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)r * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&B[1][r][q], b + (size_t)(BK + r) * n + blockIdx.x * 64 + q, 16);
  __pipeline_commit();
  for (int i = 0; i < k / BK; ++i) {
    *(float4 *)&A[r][q] = *(const float4 *)(a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q);
    __pipeline_wait_prior(1);
    __syncthreads();
    if ((i + 2) * BK < k)
      __pipeline_memcpy_async(&B[(i + 2) % 3][r][q],
                              b + (size_t)((i + 2) * BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
    fm(A, B[i % 3], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT aheadUnrolled: async_pipeline present depth=4:
//   4 slots, groups of one, unroll 2 by hand, wait at the end of the body
__global__ void __launch_bounds__(256)
    aheadUnrolled(const float *a, const float *b, float *c, int n, int k) {
  extern __shared__ float d[];
  float (*A)[BK][64] = (float (*)[BK][64])d, (*B)[BK][64] = (float (*)[BK][64])(d + 4 * BK * 64);
  AT;

#pragma unroll
  for (int i = 0; i < 3; ++i) {
    ask(A[i], B[i], a, b, n, i * BK);
    __pipeline_commit();
  }
  __pipeline_wait_prior(2);
  __syncthreads();
  for (int i = 0; i < k / BK; i += 2) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      int j = i + u;
      if ((j + 3) * BK < k)
        ask(A[(j + 3) & 3], B[(j + 3) & 3], a, b, n, (j + 3) * BK);
      __pipeline_commit();
      fm(A[j & 3], B[j & 3], acc, ty, tx);
      __pipeline_wait_prior(2);
      __syncthreads();
    }
  }
  put(c, acc, n, ty, tx);
}

// EXPECT regTwo: async_pipeline present mechanism=register_prefetch:
//   shared double buffer + register prefetch, one barrier a step
__global__ void __launch_bounds__(256)
    regTwo(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  *(float4 *)&A[0][r][q] = *(const float4 *)pa;
  *(float4 *)&B[0][r][q] = *(const float4 *)pb;
  __syncthreads();
  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    float4 x, y;
    if (i + 1 < steps) {
      x = *(const float4 *)(pa + (size_t)(i + 1) * BK * n);
      y = *(const float4 *)(pb + (size_t)(i + 1) * BK * n);
    }
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    if (i + 1 < steps) {
      *(float4 *)&A[(i + 1) & 1][r][q] = x;
      *(float4 *)&B[(i + 1) & 1][r][q] = y;
    }
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT dblSerial: async_pipeline absent:
//   two shared buffers, but the next tile is loaded and stored behind the products: nothing is in
//   flight
__global__ void __launch_bounds__(256)
    dblSerial(const float *__restrict__ a, const float *__restrict__ b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  const float *pa = a + (size_t)r * n + blockIdx.y * 64 + q,
              *pb = b + (size_t)r * n + blockIdx.x * 64 + q;
  *(float4 *)&A[0][r][q] = *(const float4 *)pa;
  *(float4 *)&B[0][r][q] = *(const float4 *)pb;
  __syncthreads();
  int steps = k / BK;
  for (int i = 0; i < steps; ++i) {
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
    if (i + 1 < steps) {
      *(float4 *)&A[(i + 1) & 1][r][q] = *(const float4 *)(pa + (size_t)(i + 1) * BK * n);
      *(float4 *)&B[(i + 1) & 1][r][q] = *(const float4 *)(pb + (size_t)(i + 1) * BK * n);
    }
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT twoGroups: async_pipeline present mechanism=cp_async depth=4:
//   A and B in groups of their own: 2 a stage, wait_prior(4)
// EXPECT twoGroups: smem_tiling present: A and B in groups of their own: 2 a stage, wait_prior(4)
__global__ void __launch_bounds__(256)
    twoGroups(const float *a, const float *b, float *c, int n, int k) {
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
    __pipeline_wait_prior(4);
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

// EXPECT tailDrain: async_pipeline present mechanism=cp_async depth=4:
//   last steps peeled with smaller waits
// EXPECT tailDrain: smem_tiling present: last steps peeled with smaller waits
__global__ void __launch_bounds__(256)
    tailDrain(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[4][BK][64], B[4][BK][64];
  AT;

  int steps = k / BK;

  for (int i = 0; i < 3; ++i) {
    __pipeline_memcpy_async(&A[i][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[i][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
  }
  int i = 0;
  for (; i + 3 < steps; ++i) {
    __pipeline_wait_prior(2);
    __syncthreads();
    __pipeline_memcpy_async(&A[(i + 3) & 3][r][q],
                            a + (size_t)((i + 3) * BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[(i + 3) & 3][r][q],
                            b + (size_t)((i + 3) * BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
    fm(A[i & 3], B[i & 3], acc, ty, tx);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  for (; i < steps; ++i)
    fm(A[i & 3], B[i & 3], acc, ty, tx);
  put(c, acc, n, ty, tx);
}

// EXPECT condWait: async_pipeline present mechanism=cp_async depth=3:
//   wait_prior(1), on the last step wait_prior(0); ask only if there is a next
// EXPECT condWait: smem_tiling present:
//   wait_prior(1), on the last step wait_prior(0); ask only if there is a next
__global__ void __launch_bounds__(256)
    condWait(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  int steps = k / BK;

  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&A[i][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[i][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
  }
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps)
      __pipeline_wait_prior(1);
    else
      __pipeline_wait_prior(0);
    __syncthreads();
    if (i + 2 < steps) {
      __pipeline_memcpy_async(&A[(i + 2) % 3][r][q],
                              a + (size_t)((i + 2) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[(i + 2) % 3][r][q],
                              b + (size_t)((i + 2) * BK + r) * n + blockIdx.x * 64 + q, 16);
      __pipeline_commit();
    }
    fm(A[i % 3], B[i % 3], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT rwPtr: async_pipeline present mechanism=cp_async depth=4:
//   read and write slot counters that wrap
// EXPECT rwPtr: smem_tiling present: read and write slot counters that wrap
__global__ void __launch_bounds__(256)
    rwPtr(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[4][BK][64], B[4][BK][64];
  AT;

  int steps = k / BK;

  int ws = 0, rs = 0;
  for (int i = 0; i < 3; ++i) {
    __pipeline_memcpy_async(&A[ws][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[ws][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
    ws = ws == 3 ? 0 : ws + 1;
  }
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(2);
    __syncthreads();
    if (i + 3 < steps) {
      __pipeline_memcpy_async(&A[ws][r][q],
                              a + (size_t)((i + 3) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[ws][r][q],
                              b + (size_t)((i + 3) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    __pipeline_commit();
    fm(A[rs], B[rs], acc, ty, tx);
    ws = ws == 3 ? 0 : ws + 1;
    rs = rs == 3 ? 0 : rs + 1;
  }
  put(c, acc, n, ty, tx);
}

// EXPECT down: async_pipeline present mechanism=cp_async depth=2:
//   K counted downwards, double buffer, toggled by ^= 1
// EXPECT down: smem_tiling present: K counted downwards, double buffer, toggled by ^= 1
__global__ void __launch_bounds__(256)
    down(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  int s = 0;
  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((steps - 1) * BK + r) * n + blockIdx.y * 64 + q,
                          16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((steps - 1) * BK + r) * n + blockIdx.x * 64 + q,
                          16);
  __pipeline_commit();
  for (int i = steps - 1; i >= 0; --i) {
    if (i > 0) {
      __pipeline_memcpy_async(&A[s ^ 1][r][q],
                              a + (size_t)((i - 1) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[s ^ 1][r][q],
                              b + (size_t)((i - 1) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[s], B[s], acc, ty, tx);
    __syncthreads();
    s ^= 1;
  }
  put(c, acc, n, ty, tx);
}

// EXPECT asmWaitAll: async_pipeline present mechanism=cp_async depth=2:
//   cp.async.wait_all at the end of the body, behind the products
// EXPECT asmWaitAll: smem_tiling present:
//   cp.async.wait_all at the end of the body, behind the products
__global__ void __launch_bounds__(256)
    asmWaitAll(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;

  int steps = k / BK;

  __pipeline_memcpy_async(&A[0][r][q], a + (size_t)((0) * BK + r) * n + blockIdx.y * 64 + q, 16);
  __pipeline_memcpy_async(&B[0][r][q], b + (size_t)((0) * BK + r) * n + blockIdx.x * 64 + q, 16);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps) {
      __pipeline_memcpy_async(&A[(i + 1) & 1][r][q],
                              a + (size_t)((i + 1) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[(i + 1) & 1][r][q],
                              b + (size_t)((i + 1) * BK + r) * n + blockIdx.x * 64 + q, 16);
    }
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT mbarNoinc: async_pipeline present mechanism=cp_async:
//   cp.async with cp.async.mbarrier.arrive.noinc on full barriers, 3 slots
// EXPECT mbarNoinc: smem_tiling present:
//   cp.async with cp.async.mbarrier.arrive.noinc on full barriers, 3 slots
__global__ void __launch_bounds__(256)
    mbarNoinc(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;

  int steps = k / BK;

  __shared__ unsigned long long full[3];
  if (threadIdx.x < 3)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;" ::"r"(
        (unsigned)__cvta_generic_to_shared(&full[threadIdx.x])));
  __syncthreads();
  auto arrive = [&](int s) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
                     (unsigned)__cvta_generic_to_shared(&full[s]))
                 : "memory");
  };
  for (int i = 0; i < 2; ++i) {
    __pipeline_memcpy_async(&A[i][r][q], a + (size_t)((i)*BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_memcpy_async(&B[i][r][q], b + (size_t)((i)*BK + r) * n + blockIdx.x * 64 + q, 16);
    arrive(i);
  }
  for (int i = 0; i < steps; ++i) {
    int s = i % 3;
    unsigned ok;
    do
      asm volatile(
          "{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0,1,0,p;}"
          : "=r"(ok)
          : "r"((unsigned)__cvta_generic_to_shared(&full[s])), "r"(i / 3 & 1)
          : "memory");
    while (!ok);
    __syncthreads();
    if (i + 2 < steps) {
      __pipeline_memcpy_async(&A[(i + 2) % 3][r][q],
                              a + (size_t)((i + 2) * BK + r) * n + blockIdx.y * 64 + q, 16);
      __pipeline_memcpy_async(&B[(i + 2) % 3][r][q],
                              b + (size_t)((i + 2) * BK + r) * n + blockIdx.x * 64 + q, 16);
      arrive((i + 2) % 3);
    }
    fm(A[s], B[s], acc, ty, tx);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT depthwise: async_pipeline present mechanism=cp_async depth=2:
//   rows of a depthwise convolution, double buffered with cp.async
__global__ void __launch_bounds__(128)
    depthwise(const float *a, const float *w, float *o, int rows) {
  __shared__ float s[2][132];
  float f0 = w[0], f1 = w[1], f2 = w[2];
  const float *p = a + (size_t)blockIdx.x * 128;
  auto ask = [&](int r) {
    if (threadIdx.x < 32)
      __pipeline_memcpy_async(&s[r & 1][threadIdx.x * 4], p + (size_t)r * 4096 + threadIdx.x * 4,
                              16);
    else if (threadIdx.x == 32)
      __pipeline_memcpy_async(&s[r & 1][128], p + (size_t)r * 4096 + 128, 16);
    __pipeline_commit();
  };
  ask(0);
  for (int r = 0; r < rows; ++r) {
    if (r + 1 < rows)
      ask(r + 1);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    o[(size_t)r * 4096 + blockIdx.x * 128 + threadIdx.x] = f0 * s[r & 1][threadIdx.x] +
                                                           f1 * s[r & 1][threadIdx.x + 1] +
                                                           f2 * s[r & 1][threadIdx.x + 2];
    __syncthreads();
  }
}

// EXPECT reduceAhead: async_pipeline present:
//   a plain sum with the next float4 loaded before the current one is added (software prefetch in
//   registers)
__global__ void reduceAhead(const float4 *a, float *o, int n) {
  int i = blockIdx.x * 256 + threadIdx.x, st = gridDim.x * 256;
  float4 cur = a[i];
  float s = 0;
  for (i += st; i < n; i += st) {
    float4 nx = a[i];
    s += cur.x * cur.x + cur.y * cur.y + cur.z * cur.z + cur.w * cur.w;
    cur = nx;
  }
  s += cur.x * cur.x + cur.y * cur.y + cur.z * cur.z + cur.w * cur.w;
  atomicAdd(o, s);
}

// EXPECT issueEarlyReadOther: async_pipeline present depth=1 in_flight=1:
//   keys, then values: two single buffers alternate; while one is used the other is in flight, and
//   a copy site writes one slot
__global__ void __launch_bounds__(256)
    issueEarlyReadOther(const float *kk, const float *vv, const float *q, float *c, int n) {
  __shared__ float K[64][64], V[64][64];
  __shared__ float S[64];
  int t = threadIdx.x;
  auto get = [&](float (*d)[64], const float *s, int i) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      int e = (r * 256 + t) * 4;
      __pipeline_memcpy_async(&d[e / 64][e % 64], s + (size_t)i * 4096 + e, 16);
    }
    __pipeline_commit();
  };
  float acc = 0;
  get(K, kk, 0);
  for (int i = 0; i < n; ++i) {
    get(V, vv, i);
    __pipeline_wait_prior(1);
    __syncthreads();
    if (t < 64) {
      float s = 0;
      for (int d = 0; d < 64; ++d)
        s += K[t][d] * q[d];
      S[t] = s;
    }
    __syncthreads();
    if (i + 1 < n)
      get(K, kk, i + 1);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    if (t < 64)
      for (int j = 0; j < 64; ++j)
        acc += S[j] * V[j][t];
    __syncthreads();
  }
  if (t < 64)
    c[t] = acc;
}

static void runPart1(float *p, float *q, int n, cudaStream_t st, float **o) {
  dim3 g(32, 32);
  ring3<<<g, 256, 0, st>>>(p, q, o[0], 2048, 4096);
  twoPhase<<<g, 256, 4 * BK * 64 * 4, st>>>(p, q, o[1], 2048, 4096);
  regAhead<<<g, 256, 0, st>>>(p, q, o[2], 2048, 4096);
  regBehind<<<g, 256, 0, st>>>(p, q, o[3], 2048, 4096);
  blockPipe<<<g, 256, 0, st>>>(p, q, o[4], 2048, 4096);
  cgCopy<<<g, 256, 0, st>>>(p, q, o[5], 2048, 4096);
}

static void runPart2(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  onlyB<<<g, 256, 0, s>>>(a, b, o[6], 2048, 4096);
  aheadUnrolled<<<g, 256, 32768, s>>>(a, b, o[7], 2048, 4096);
  regTwo<<<g, 256, 0, s>>>(a, b, o[8], 2048, 4096);
  dblSerial<<<g, 256, 0, s>>>(a, b, o[9], 2048, 4096);
}

static void runPart3(float *a, float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  twoGroups<<<g, 256, 0, s>>>(a, b, o[10], 2048, 4096);
  tailDrain<<<g, 256, 0, s>>>(a, b, o[11], 2048, 4096);
  condWait<<<g, 256, 0, s>>>(a, b, o[12], 2048, 4096);
  rwPtr<<<g, 256, 0, s>>>(a, b, o[13], 2048, 4096);
  down<<<g, 256, 0, s>>>(a, b, o[14], 2048, 4096);
  asmWaitAll<<<g, 256, 0, s>>>(a, b, o[15], 2048, 4096);
  mbarNoinc<<<g, 256, 0, s>>>(a, b, o[16], 2048, 4096);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  depthwise<<<31, 128, 0, s>>>(a, b, o[17], 512);
  reduceAhead<<<132, 256, 0, s>>>((float4 *)a, o[18], 1 << 22);
}

static void runPart5(float *p, float *q, int n, cudaStream_t st, float **o) {
  issueEarlyReadOther<<<1, 256, 0, st>>>(p, q, p + 64, o[19], 64);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1(a, b, 0, s, o);
  runPart2(a, b, o, s);
  runPart3(a, b, o, s);
  runPart4(a, b, o, s);
  runPart5(a, b, 0, s, o);
}
