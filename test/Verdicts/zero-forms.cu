// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that are zeros by one instruction, copies that bring none, results that are not changed.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/FloatTile.h"
#include "Inputs/WgmmaGemm.h"

__device__ __forceinline__ void mma(float *d, const unsigned *a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// A product of 16 x 8 by a warp; `PRE` sees each word of A, `EPI` each sum.
template <class PRE, class EPI>
__device__ __forceinline__ void warpTile(const bf *a, const bf *b, float *c, int n, int k, PRE pre,
                                         EPI epi) {
  int l = threadIdx.x;
  float d[4] = {};
  const bf *p = a + (size_t)(blockIdx.y * 16 + l / 4) * k + l % 4 * 2;
  const bf *q = b + (size_t)(blockIdx.x * 8 + l / 4) * k + l % 4 * 2;
  for (int i = 0; i < k; i += 16) {
    unsigned f[4] = {*(const unsigned *)(p + i), *(const unsigned *)(p + 8 * k + i),
                     *(const unsigned *)(p + i + 8), *(const unsigned *)(p + 8 * k + i + 8)};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      f[j] = pre(f[j]);
    mma(d, f, *(const unsigned *)(q + i), *(const unsigned *)(q + i + 8));
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    size_t at = (size_t)(blockIdx.y * 16 + l / 4 + j / 2 * 8) * n + blockIdx.x * 8 + l % 4 * 2 + j % 2;
    c[at] = epi(d[j], at);
  }
}
#define PA const bf *a, const bf *b, float *c, int n, int k, const float *x
#define PLUS [&](float v, size_t at) { return v + x[at]; }
#define BY(TEXT)                               \
  [](unsigned w) {                             \
    unsigned r;                                \
    asm(TEXT : "=r"(r) : "r"(w));              \
    return r;                                  \
  }

// EXPECT byPermute: tensor_core absent: prmt takes the bytes of the other word, which is zero
__global__ void __launch_bounds__(32) byPermute(PA) {
  warpTile(a, b, c, n, k, BY("prmt.b32 %0, %1, 0, 0x5454;"), PLUS);
}
// EXPECT byPermuteOwn: tensor_core present family=mma_sync: prmt takes the word's own bytes
__global__ void __launch_bounds__(32) byPermuteOwn(PA) {
  warpTile(a, b, c, n, k, BY("prmt.b32 %0, %1, 0, 0x1032;"), PLUS);
}
// EXPECT byTable: tensor_core absent: lop3 with the table 0: zeros
__global__ void __launch_bounds__(32) byTable(PA) {
  warpTile(a, b, c, n, k, BY("lop3.b32 %0, %1, %1, %1, 0x00;"), PLUS);
}
// EXPECT byShift: tensor_core absent: shifted by 32 bits: zeros
__global__ void __launch_bounds__(32) byShift(PA) {
  warpTile(a, b, c, n, k, BY("shr.u32 %0, %1, 32;"), PLUS);
}
// EXPECT byField: tensor_core absent: a field of no bits
__global__ void __launch_bounds__(32) byField(PA) {
  warpTile(a, b, c, n, k, BY("bfe.u32 %0, %1, 4, 0;"), PLUS);
}
// EXPECT byMinimum: tensor_core absent: the smaller of a word and 0
__global__ void __launch_bounds__(32) byMinimum(PA) {
  warpTile(a, b, c, n, k, BY("min.u32 %0, %1, 0;"), PLUS);
}

// EXPECT timesOne: epilogue_fusion absent: a multiplication by one and an addition of -0
__global__ void __launch_bounds__(32) timesOne(PA) {
  warpTile(a, b, c, n, k, [](unsigned w) { return w; }, [](float v, size_t) {
    float r;
    asm("fma.rn.f32 %0, %1, 0f3F800000, 0f80000000;" : "=f"(r) : "f"(v));
    return r;
  });
}
// EXPECT timesRun: epilogue_fusion present ops=scale: a multiplication by a parameter
__global__ void __launch_bounds__(32) timesRun(PA, float alpha) {
  warpTile(a, b, c, n, k, [](unsigned w) { return w; }, [=](float v, size_t) { return v * alpha; });
}

#define GA const float *a, const float *b, float *c, int n, int k

// EXPECT ignored: async_copy absent: the source of all copies is ignored: zeros
// EXPECT ignored: smem_tiling absent: zeros
__global__ void __launch_bounds__(256) ignored(GA) {
  __shared__ __align__(16) float A[BK][64], B[BK][64];
  AT;
  for (int i = 0; i < k; i += BK) {
    asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(sa(&A[r][q])),
                 "l"(a + (size_t)(i + r) * n + blockIdx.y * 64 + q)
                 : "memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(sa(&B[r][q])),
                 "l"(b + (size_t)(i + r) * n + blockIdx.x * 64 + q)
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    fm(A, B, acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT rest: async_copy present mechanism=cp_async bytes=16:
//   the source size is 16, or 0 for rows behind the end
// EXPECT rest: async_pipeline present mechanism=cp_async depth=2: one tile ahead
__global__ void __launch_bounds__(256) rest(GA) {
  __shared__ __align__(16) float A[2][BK][64], B[2][BK][64];
  AT;
  auto get = [&](int s, int i) {
    int in = i + r < k ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sa(&A[s][r][q])),
                 "l"(a + (size_t)(i + r) * n + blockIdx.y * 64 + q), "r"(in)
                 : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sa(&B[s][r][q])),
                 "l"(b + (size_t)(i + r) * n + blockIdx.x * 64 + q), "r"(in)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  int s = 0;
  get(0, 0);
  for (int i = 0; i < k; i += BK, s ^= 1) {
    get(s ^ 1, i + BK);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    fm(A[s], B[s], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT allWaited: async_pipeline absent: wait_all drains the tile that was just asked for
__global__ void __launch_bounds__(256) allWaited(GA) {
  __shared__ float A[2][BK][64], B[2][BK][64];
  AT;
  int s = 0;
  ask(A[0], B[0], a, b, n, 0);
  for (int i = 0; i < k; i += BK, s ^= 1) {
    if (i + BK < k)
      ask(A[s ^ 1], B[s ^ 1], a, b, n, i + BK);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    fm(A[s], B[s], acc, ty, tx);
    __syncthreads();
  }
  put(c, acc, n, ty, tx);
}

// EXPECT ownTwice: smem_tiling absent: each thread reads only what it wrote
__global__ void __launch_bounds__(256) ownTwice(const float *a, float *c) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  float v = s[threadIdx.x];
  __syncthreads();
  asm volatile("" ::: "memory");
  c[blockIdx.x * 256 + threadIdx.x] = v * *(volatile float *)&s[threadIdx.x];
}
// EXPECT nextTwice: smem_tiling present: each word is read by two other threads
__global__ void __launch_bounds__(256) nextTwice(const float *a, float *c) {
  __shared__ float s[256];
  s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  c[blockIdx.x * 256 + threadIdx.x] = s[(threadIdx.x + 1) & 255] * s[(threadIdx.x + 2) & 255];
}

// EXPECT sameTile: persistent_kernel in ptx absent: the loop makes the same tile again and again
__global__ void __launch_bounds__(256) sameTile(GA) {
  __shared__ float A[BK][64], B[BK][64];
  AT;
  for (int t = blockIdx.x; t < 4096; t += gridDim.x) {
    for (int i = 0; i < k; i += BK) {
      *(float4 *)&A[r][q] = *(const float4 *)(a + (size_t)(i + r) * n + blockIdx.y * 64 + q);
      *(float4 *)&B[r][q] = *(const float4 *)(b + (size_t)(i + r) * n + blockIdx.x * 64 + q);
      __syncthreads();
      fm(A, B, acc, ty, tx);
      __syncthreads();
    }
    put(c, acc, n, ty, tx);
  }
}

// EXPECT ownBarrier: pingpong_schedule absent: each group meets only itself at its barrier: no order
// EXPECT ownBarrier: register_reallocation absent: down and up again in the same role
// EXPECT ownBarrier: warp_specialization present: a producer and two consumers
__global__ void __launch_bounds__(384, 1) ownBarrier(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64), across = n / 64;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          MBWAIT(&s.empty[it % ST], (it / ST & 1) ^ 1);
          issue(s, &ma, &mb, it % ST, i, t / across * 64, t % across * 64);
        }
    }
  } else {
    int me = wg - 1, it = me * steps;
    for (int t = blockIdx.x + me * gridDim.x; t < tiles; t += 2 * gridDim.x) {
      float d[32] = {};
      asm volatile("bar.sync %0, 128;" ::"r"(2 + me) : "memory");
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST;
        MBWAIT(&s.full[slot], it / ST & 1);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      asm volatile("bar.sync %0, 128;" ::"r"(2 + me) : "memory");
      put64(d, c, n, t / across * 64, t % across * 64);
      it += steps;
    }
  }
}

// EXPECT sunk: async_mma_overlap absent:
//   the arithmetic between the commit and its wait is for a value that nobody uses
__global__ void __launch_bounds__(128) sunk(ARGS, float y) {
  HEAD;
  float d[32] = {}, z = y;
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(z));
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT ownWindow: distributed_smem absent: an address of the own block, without mapa
__global__ void __cluster_dims__(2) ownWindow(const float *a, float *c) {
  __shared__ float s[256];
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(sa(&s[threadIdx.x])), "f"(a[blockIdx.x * 256 + threadIdx.x]) : "memory");
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(sa(&s[255 - threadIdx.x])) : "memory");
  c[blockIdx.x * 256 + threadIdx.x] = v * 2.f;
}

// EXPECT noBytes: bulk_store_epilogue absent: a bulk store of no bytes; the threads store the results
// EXPECT noBytes: tma absent: no bytes
__global__ void __launch_bounds__(256) noBytes(const float *a, float *c) {
  __shared__ __align__(128) float s[256];
  float v = a[blockIdx.x * 256 + threadIdx.x] * 2.f;
  s[threadIdx.x] = v;
  fenceAsync();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(c + (size_t)blockIdx.x * 256, s, 0);
    bulkCommit();
    bulkWait();
  }
  c[blockIdx.x * 256 + threadIdx.x] = v;
}

static void products(const bf *a, const bf *b, float **o, const float *x, float alpha, cudaStream_t s) {
  dim3 g(256, 128);
  byPermute<<<g, 32, 0, s>>>(a, b, o[0], 2048, 4096, x);
  byPermuteOwn<<<g, 32, 0, s>>>(a, b, o[1], 2048, 4096, x);
  byTable<<<g, 32, 0, s>>>(a, b, o[2], 2048, 4096, x);
  byShift<<<g, 32, 0, s>>>(a, b, o[3], 2048, 4096, x);
  byField<<<g, 32, 0, s>>>(a, b, o[4], 2048, 4096, x);
  byMinimum<<<g, 32, 0, s>>>(a, b, o[5], 2048, 4096, x);
  timesOne<<<g, 32, 0, s>>>(a, b, o[6], 2048, 4096, x);
  timesRun<<<g, 32, 0, s>>>(a, b, o[7], 2048, 4096, x, alpha);
}

void run(float *a, float *b, float **o, const float *x, float alpha, cudaStream_t s) {
  products((const bf *)a, (const bf *)b, o, x, alpha, s);
  dim3 g(32, 32);
  ignored<<<g, 256, 0, s>>>(a, b, o[8], 2048, 4096);
  rest<<<g, 256, 0, s>>>(a, b, o[9], 2048, 4090);
  allWaited<<<g, 256, 0, s>>>(a, b, o[10], 2048, 4096);
  ownTwice<<<1024, 256, 0, s>>>(a, o[11]);
  nextTwice<<<1024, 256, 0, s>>>(a, o[12]);
  sameTile<<<dim3(32, 32), 256, 0, s>>>(a, b, o[13], 2048, 4096);
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  cudaFuncSetAttribute(ownBarrier, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  ownBarrier<<<132, 384, sh, s>>>(ma, mb, (bf *)o[14], 2048, 4096);
  cudaFuncSetAttribute(sunk, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);
  sunk<<<g, 128, sh, s>>>(ma, mb, (bf *)o[15], 2048, 4096, alpha);
  ownWindow<<<1024, 256, 0, s>>>(a, o[16]);
  noBytes<<<1024, 256, 0, s>>>(a, o[17]);
}
