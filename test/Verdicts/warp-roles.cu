// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps with work of their own, without matrix instructions.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/Sm90.h"

// EXPECT nbRoles: warp_specialization present roles=compute+copy:
//   loader warps and math warps hand over by bar.sync / bar.arrive
__global__ void __launch_bounds__(256)
    nbRoles(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[2][16][64], B[2][16][64];
  int t = threadIdx.x;
  if (t >= 128) {
    t -= 128;
    for (int i = 0; i < k / 16; ++i) {
      int s = i & 1;
      asm volatile("bar.sync %0, 256;" ::"r"(1 + s) : "memory");
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        int e = (j * 128 + t) * 4, r = e / 64, q = e % 64;
        *(float4 *)&A[s][r][q] =
            *(const float4 *)(a + (size_t)(i * 16 + r) * n + blockIdx.y * 64 + q);
        *(float4 *)&B[s][r][q] =
            *(const float4 *)(b + (size_t)(i * 16 + r) * n + blockIdx.x * 64 + q);
      }
      asm volatile("bar.arrive %0, 256;" ::"r"(3 + s) : "memory");
    }
  } else {
    float acc[8][4] = {};
    int ty = t / 16, tx = t % 16;
    asm volatile("bar.arrive 1, 256;" ::: "memory");
    asm volatile("bar.arrive 2, 256;" ::: "memory");
    for (int i = 0; i < k / 16; ++i) {
      int s = i & 1;
      asm volatile("bar.sync %0, 256;" ::"r"(3 + s) : "memory");
#pragma unroll
      for (int kk = 0; kk < 16; ++kk)
#pragma unroll
        for (int x = 0; x < 8; ++x)
#pragma unroll
          for (int y = 0; y < 4; ++y)
            acc[x][y] += A[s][kk][ty * 8 + x] * B[s][kk][tx * 4 + y];
      if (i + 2 < k / 16)
        asm volatile("bar.arrive %0, 256;" ::"r"(1 + s) : "memory");
    }
#pragma unroll
    for (int x = 0; x < 8; ++x)
      *(float4 *)(c + (size_t)(blockIdx.y * 64 + ty * 8 + x) * n + blockIdx.x * 64 + tx * 4) =
          make_float4(acc[x][0], acc[x][1], acc[x][2], acc[x][3]);
  }
}

// EXPECT halves: warp_specialization absent:
//   two halves of the block do the same work on different rows under a warp predicate; common
//   barrier
// EXPECT halves: smem_tiling present: both tiles are read by 16 threads each
// EXPECT halves: register_tiling present accumulators=16: 4 x 4 sums a thread, 8 operands
// EXPECT halves: tile_shape present m=64 n=64 k=32: the tile of a block
__global__ void __launch_bounds__(256)
    halves(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float A[32][64], B[32][64];
  int t = threadIdx.x;
  float acc[4][4] = {};
  int ty = t / 16, tx = t % 16;
  for (int i = 0; i < k; i += 32) {
    if (t < 128) {
      for (int j = 0; j < 4; ++j) {
        int e = (j * 128 + t) * 4;
        *(float4 *)&A[e / 64][e % 64] =
            *(const float4 *)(a + (size_t)(i + e / 64) * n + blockIdx.y * 64 + e % 64);
      }
    } else {
      for (int j = 0; j < 4; ++j) {
        int e = (j * 128 + t - 128) * 4;
        *(float4 *)&B[e / 64][e % 64] =
            *(const float4 *)(b + (size_t)(i + e / 64) * n + blockIdx.x * 64 + e % 64);
      }
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; ++kk)
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
          acc[x][y] += A[kk][ty * 4 + x] * B[kk][tx * 4 + y];
    __syncthreads();
  }
#pragma unroll
  for (int x = 0; x < 4; ++x)
    *(float4 *)(c + (size_t)(blockIdx.y * 64 + ty * 4 + x) * n + blockIdx.x * 64 + tx * 4) =
        make_float4(acc[x][0], acc[x][1], acc[x][2], acc[x][3]);
}

// EXPECT laneRoles: warp_specialization absent:
//   even lanes load, odd lanes compute: lanes of one warp, no warps
__global__ void __launch_bounds__(128) laneRoles(const float *a, const float *b, float *o, int k) {
  __shared__ float s[2][64];
  float v = 0;
  for (int i = 0; i < k; ++i) {
    if (threadIdx.x & 1)
      s[i & 1][threadIdx.x / 2] = a[i * 64 + threadIdx.x / 2];
    __syncthreads();
    if (!(threadIdx.x & 1))
      v += s[i & 1][threadIdx.x / 2] * b[i] + s[i & 1][(threadIdx.x / 2 + 1) & 63];
  }
  if (!(threadIdx.x & 1))
    o[blockIdx.x * 64 + threadIdx.x / 2] = v;
}

// EXPECT blockRoles: warp_specialization absent:
//   odd blocks do other work than even blocks; within a block all warps do the same
__global__ void __launch_bounds__(128) blockRoles(const float *a, const float *b, float *o, int k) {
  __shared__ float s[128];
  if (blockIdx.x & 1) {
    float v = 0;
    for (int i = 0; i < k; ++i) {
      s[threadIdx.x] = a[i * 128 + threadIdx.x];
      __syncthreads();
      v += s[127 - threadIdx.x] * b[i];
      __syncthreads();
    }
    o[blockIdx.x * 128 + threadIdx.x] = v;
  } else
    o[blockIdx.x * 128 + threadIdx.x] = a[threadIdx.x];
}

// EXPECT maxRing: async_pipeline present mechanism=tma depth=3:
//   bulk ring of 3, row maximum (no product)
__global__ void __launch_bounds__(256) maxRing(const float *a, float *o, int rows) {
  __shared__ alignas(128) float s[3][1024];
  __shared__ uint64_t full[3];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i)
      mbInit(&full[i], 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  const float *p = a + (size_t)blockIdx.x * rows * 1024;
  auto ask = [&](int r) {
    if (threadIdx.x == 0) {
      mbTx(&full[r % 3], 4096);
      bulkLoad(s[r % 3], p + (size_t)r * 1024, 4096, &full[r % 3]);
    }
  };
  ask(0);
  ask(1);
  float v = -1e30f;
  for (int r = 0; r < rows; ++r) {
    MBWAIT(&full[r % 3], r / 3 & 1);
    for (int j = 0; j < 4; ++j)
      v = fmaxf(v, s[r % 3][j * 256 + threadIdx.x]);
    __syncthreads();
    if (r + 2 < rows)
      ask(r + 2);
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT sumRoles: warp_specialization present: producer warp with bulk copies, consumers add
__global__ void __launch_bounds__(160) sumRoles(const float *a, float *o, int rows) {
  __shared__ alignas(128) float s[3][512];
  __shared__ uint64_t full[3], empty[3];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) {
      mbInit(&full[i], 1);
      mbInit(&empty[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  const float *p = a + (size_t)blockIdx.x * rows * 512;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int r = 0; r < rows; ++r) {
        MBWAIT(&empty[r % 3], (r / 3 & 1) ^ 1);
        mbTx(&full[r % 3], 2048);
        bulkLoad(s[r % 3], p + (size_t)r * 512, 2048, &full[r % 3]);
      }
  } else {
    float v = 0;
    for (int r = 0; r < rows; ++r) {
      MBWAIT(&full[r % 3], r / 3 & 1);
      for (int j = 0; j < 4; ++j)
        v += s[r % 3][j * 128 + threadIdx.x];
      mbArrive(&empty[r % 3]);
    }
    o[blockIdx.x * 128 + threadIdx.x] = v;
  }
}

// EXPECT sumOnce: async_pipeline absent: bulk copy waited for at once, row sums
__global__ void __launch_bounds__(256) sumOnce(const float *a, float *o, int rows) {
  __shared__ alignas(128) float s[1024];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbInit(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  float v = 0;
  for (int r = 0; r < rows; ++r) {
    if (threadIdx.x == 0) {
      mbTx(&full, 4096);
      bulkLoad(s, a + ((size_t)blockIdx.x * rows + r) * 1024, 4096, &full);
    }
    MBWAIT(&full, r & 1);
    for (int j = 0; j < 4; ++j)
      v += s[j * 256 + threadIdx.x];
    __syncthreads();
  }
  o[blockIdx.x * 256 + threadIdx.x] = v;
}

// EXPECT setmaxSame: register_reallocation absent:
//   both roles call setmaxnreg.dec 96: nothing is given
__global__ void __launch_bounds__(256, 1) setmaxSame(const float *a, float *o, int k) {
  __shared__ float s[2][128];
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    for (int i = 0; i < k; ++i) {
      asm volatile("bar.sync 1, 256;" ::: "memory");
      s[i & 1][threadIdx.x] = a[i * 128 + threadIdx.x];
      asm volatile("bar.sync 2, 256;" ::: "memory");
    }
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 96;");
    float v = 0;
    int t = threadIdx.x - 128;
    for (int i = 0; i < k; ++i) {
      asm volatile("bar.sync 1, 256;" ::: "memory");
      asm volatile("bar.sync 2, 256;" ::: "memory");
      v += s[i & 1][t] * s[i & 1][127 - t];
    }
    o[blockIdx.x * 128 + t] = v;
  }
}

static void runPart1(bf *a, bf *b, bf *c, bf **o, cudaStream_t s) {
  nbRoles<<<dim3(32, 32), 256, 0, s>>>((float *)a, (float *)b, (float *)o[0], 2048, 2048);
  halves<<<dim3(32, 32), 256, 0, s>>>((float *)a, (float *)b, (float *)o[1], 2048, 2048);
}

static void runPart2(float *x, float *y, float **o, cudaStream_t s) {
  laneRoles<<<64, 128, 0, s>>>(x, y, o[2], 512);
  blockRoles<<<64, 128, 0, s>>>(x, y, o[3], 512);
}

static void runPart3(float *a, float **o, cudaStream_t s) {
  maxRing<<<64, 256, 0, s>>>(a, o[4], 64);
  sumRoles<<<64, 160, 0, s>>>(a, o[5], 64);
  sumOnce<<<64, 256, 0, s>>>(a, o[6], 64);
}

static void runPart4(float *a, float *b, float **o, cudaStream_t s) {
  setmaxSame<<<64, 256, 0, s>>>(a, o[7], 4096);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((bf *)a, (bf *)b, (bf *)b, (bf **)o, s);
  runPart2(a, b, o, s);
  runPart3(a, o, s);
  runPart4(a, b, o, s);
}
