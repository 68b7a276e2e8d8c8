// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies ahead by cp.async in other forms: swapped pointers, steps by macro, no loop, states.
//
// VERDICTS arch=sm_80 entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include <cuda/pipeline>

#define GA const float *a, const float *b, float *c, int n, int k

template <class T> __device__ __forceinline__ void swp(T &x, T &y) {
  T t = x;
  x = y;
  y = t;
}

// EXPECT swapped: async_pipeline present mechanism=cp_async depth=2 in_flight=1:
//   two buffers whose pointers are exchanged; the next tile is asked for before the products
// EXPECT swapped: smem_tiling present: both tiles are read by 16 threads each
// EXPECT swapped: async_copy present mechanism=cp_async bytes=16: 16 bytes a thread
__global__ void __launch_bounds__(256) swapped(GA) {
  __shared__ float buf[4][BK][64];
  AT;
  float(*An)[64] = buf[0], (*Bn)[64] = buf[1], (*Ao)[64] = buf[2], (*Bo)[64] = buf[3];
  int steps = k / BK;
  ask(An, Bn, a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i + 1 < steps)
      ask(Ao, Bo, a, b, n, (i + 1) * BK);
    __pipeline_commit();
    fm(An, Bn, acc, ty, tx);
    swp(An, Ao);
    swp(Bn, Bo);
  }
  put(c, acc, n, ty, tx);
}

#define STEP(S, I)                                      \
  __pipeline_wait_prior(1);                             \
  __syncthreads();                                      \
  if ((I) + 2 < steps)                                  \
    ask(A[(S + 2) % 3], B[(S + 2) % 3], a, b, n, ((I) + 2) * BK); \
  __pipeline_commit();                                  \
  fm(A[S], B[S], acc, ty, tx)

// EXPECT threeSteps: async_pipeline present mechanism=cp_async depth=3:
//   a ring of three whose slots are constants in three copies of the step
// EXPECT threeSteps: register_tiling present accumulators=16: 4 x 4
// EXPECT threeSteps: tile_shape present m=64 n=64 k=16: a step is 16 deep
__global__ void __launch_bounds__(256) threeSteps(GA) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;
  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  ask(A[1], B[1], a, b, n, BK);
  __pipeline_commit();
  for (int i = 0; i < steps; i += 3) {
    STEP(0, i);
    STEP(1, i + 1);
    STEP(2, i + 2);
  }
  put(c, acc, n, ty, tx);
}

// EXPECT straight: async_pipeline present mechanism=cp_async depth=2:
//   four steps without a loop, two slots in turn, one copy in flight during the products
// EXPECT straight: smem_tiling present: both tiles are read by 16 threads each
__global__ void __launch_bounds__(256) straight(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i < 3)
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT oneGroup: async_pipeline present mechanism=cp_async depth=2 in_flight=1:
//   the next tile is the one group that may be open
__global__ void __launch_bounds__(256) oneGroup(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  int steps = k / BK;
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
  put(c, acc, n, ty, tx);
}

// EXPECT emptyGroup: async_pipeline absent:
//   a second, empty group is the one that may be open, so the copy just asked for is waited for
// EXPECT emptyGroup: smem_tiling present: still tiles
__global__ void __launch_bounds__(256) emptyGroup(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps)
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
    __pipeline_commit();
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

template <int Z>
__device__ __forceinline__ void filled(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  int steps = k / BK;
  auto get = [&](int i) {
    __pipeline_memcpy_async(&A[i & 1][r][q], a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q, 16,
                            Z);
    __pipeline_memcpy_async(&B[i & 1][r][q], b + (size_t)(i * BK + r) * n + blockIdx.x * 64 + q, 16);
  };
  get(0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps)
      get(i + 1);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT halfFilled: async_pipeline present mechanism=cp_async depth=2:
//   half of each 16 bytes of A are zeros, the others are data
__global__ void __launch_bounds__(256) halfFilled(GA) { filled<8>(a, b, c, n, k); }

// EXPECT zeroFilled: async_pipeline absent:
//   A is filled with zeros (source size 0): a product with zeros
// EXPECT zeroFilled: register_tiling absent: sums of zeros
// EXPECT zeroFilled: smem_tiling absent: what is read of B is multiplied by zeros
__global__ void __launch_bounds__(256) zeroFilled(GA) { filled<16>(a, b, c, n, k); }

// EXPECT copiedAgain: async_pipeline absent:
//   the tile that was asked for ahead is copied once more, and that copy is waited for at once
__global__ void __launch_bounds__(256) copiedAgain(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  int steps = k / BK;
  ask(A[0], B[0], a, b, n, 0);
  __pipeline_commit();
  for (int i = 0; i < steps; ++i) {
    __pipeline_wait_prior(0);
    __syncthreads();
    ask(A[i & 1], B[i & 1], a, b, n, i * BK);
    __pipeline_commit();
    if (i + 1 < steps)
      ask(A[(i + 1) & 1], B[(i + 1) & 1], a, b, n, (i + 1) * BK);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    fm(A[i & 1], B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT oneAhead: async_pipeline present mechanism=cp_async depth=2:
//   A is copied and waited for in its step, B is asked for a step ahead and in flight
__global__ void __launch_bounds__(256) oneAhead(GA) {
  __shared__ float A[BK][64], B[2][BK][64];
  AT;
  int steps = k / BK;
  auto getB = [&](int i) {
    __pipeline_memcpy_async(&B[i & 1][r][q], b + (size_t)(i * BK + r) * n + blockIdx.x * 64 + q, 16);
    __pipeline_commit();
  };
  getB(0);
  for (int i = 0; i < steps; ++i) {
    __pipeline_memcpy_async(&A[r][q], a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (i + 1 < steps)
      getB(i + 1);
    fm(A, B[i & 1], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT ownPipeline: async_pipeline present mechanism=cp_async depth=3:
//   cuda::pipeline of the thread with three stages
__global__ void __launch_bounds__(256) ownPipeline(GA) {
  __shared__ float A[3][BK][64], B[3][BK][64];
  AT;
  auto pipe = cuda::make_pipeline();
  int steps = k / BK;
  auto get = [&](int i, int s) {
    pipe.producer_acquire();
    if (i < steps) {
      cuda::memcpy_async(&A[s][r][q], a + (size_t)(i * BK + r) * n + blockIdx.y * 64 + q,
                         cuda::aligned_size_t<16>(16), pipe);
      cuda::memcpy_async(&B[s][r][q], b + (size_t)(i * BK + r) * n + blockIdx.x * 64 + q,
                         cuda::aligned_size_t<16>(16), pipe);
    }
    pipe.producer_commit();
  };
  get(0, 0);
  get(1, 1);
  int s = 0;
  for (int i = 0; i < steps; ++i) {
    get(i + 2, s == 0 ? 2 : s - 1);
    cuda::pipeline_consumer_wait_prior<2>(pipe);
    __syncthreads();
    fm(A[s], B[s], acc, ty, tx);
    __syncthreads();
    pipe.consumer_release();
    s = s == 2 ? 0 : s + 1;
  }
  put(c, acc, n, ty, tx);
}

template <int N> struct State {
  int index = 0;
  __device__ __forceinline__ void operator++() { index = index + 1 == N ? 0 : index + 1; }
};

// EXPECT twoStates: async_pipeline present mechanism=cp_async depth=4:
//   a ring of four with a state for writing and one for reading
__global__ void __launch_bounds__(256) twoStates(GA) {
  extern __shared__ float dyn[];
  AT;
  struct Stage {
    float a[BK][64], b[BK][64];
  };
  Stage *st = (Stage *)dyn;
  State<4> rd, wr;
  int left = k / BK, at = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i, ++wr, at += BK) {
    ask(st[wr.index].a, st[wr.index].b, a, b, n, at);
    __pipeline_commit();
  }
  while (left-- > 0) {
    __pipeline_wait_prior(2);
    __syncthreads();
    if (at < k)
      ask(st[wr.index].a, st[wr.index].b, a, b, n, at);
    __pipeline_commit();
    at += BK;
    ++wr;
    fm(st[rd.index].a, st[rd.index].b, acc, ty, tx);
    ++rd;
  }
  put(c, acc, n, ty, tx);
}

void run(const float *a, const float *b, float **o, cudaStream_t s) {
  dim3 g(32, 32);
  swapped<<<g, 256, 0, s>>>(a, b, o[0], 2048, 4096);
  threeSteps<<<g, 256, 0, s>>>(a, b, o[1], 2048, 4800);
  straight<<<g, 256, 0, s>>>(a, b, o[2], 2048, 64);
  oneGroup<<<g, 256, 0, s>>>(a, b, o[3], 2048, 4096);
  emptyGroup<<<g, 256, 0, s>>>(a, b, o[4], 2048, 4096);
  halfFilled<<<g, 256, 0, s>>>(a, b, o[5], 2048, 4096);
  zeroFilled<<<g, 256, 0, s>>>(a, b, o[6], 2048, 4096);
  copiedAgain<<<g, 256, 0, s>>>(a, b, o[7], 2048, 4096);
  oneAhead<<<g, 256, 0, s>>>(a, b, o[8], 2048, 4096);
  ownPipeline<<<g, 256, 0, s>>>(a, b, o[9], 2048, 4096);
  twoStates<<<g, 256, 4 * 2 * BK * 64 * 4, s>>>(a, b, o[10], 2048, 4096);
}
