// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma: what stands between a product and the wait for it, rings with states, consumers in turn.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/WgmmaGemm.h"

// Parameters of a function of kernels.
#define DARGS const CUtensorMap &ma, const CUtensorMap &mb, bf *c, int n, int k

// A ring's place and parity.
struct State {
  int index = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void next() {
    if (++index == ST) {
      index = 0;
      phase ^= 1;
    }
  }
};

// EXPECT states: async_pipeline present mechanism=tma depth=4: a state for each side of the ring
// EXPECT states: warp_specialization present roles=copy+matrix: a copying warp, a multiplying group
// EXPECT states: launch_bounds present threads=160 min_blocks=2: so it says
// EXPECT states: async_mma_overlap absent: waits for 0 right behind its own commit
__global__ void __launch_bounds__(160, 2) states(ARGS) {
  HEAD;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      State st;
      st.phase = 1;
      for (int i = 0; i < steps; ++i, st.next()) {
        MBWAIT(&s.empty[st.index], st.phase);
        issue(s, &ma, &mb, st.index, i, row, col);
      }
    }
    return;
  }
  State st;
  float d[32] = {};
  for (int i = 0; i < steps; ++i, st.next()) {
    MBWAIT(&s.full[st.index], st.phase);
    wgFence();
    mma4(d, s.a[st.index], s.b[st.index]);
    wgCommit();
    wgWait<0>();
    mbArrive(&s.empty[st.index]);
  }
  put64(d, c, n, row, col);
}

// EXPECT eachStep: async_pipeline absent:
//   the parity changes every step instead of once a wrap: waits of the second round let pass at once
__global__ void __launch_bounds__(160, 2) eachStep(ARGS) {
  HEAD;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      uint32_t ph = 1;
      for (int i = 0; i < steps; ++i, ph ^= 1) {
        MBWAIT(&s.empty[i % ST], ph);
        issue(s, &ma, &mb, i % ST, i, row, col);
      }
    }
    return;
  }
  uint32_t ph = 0;
  float d[32] = {};
  for (int i = 0; i < steps; ++i, ph ^= 1) {
    MBWAIT(&s.full[i % ST], ph);
    wgFence();
    mma4(d, s.a[i % ST], s.b[i % ST]);
    wgCommit();
    wgWait<0>();
    mbArrive(&s.empty[i % ST]);
  }
  put64(d, c, n, row, col);
}

// EXPECT twoHalves: async_mma_overlap present outstanding=1:
//   the first of two groups is waited for behind the commit of the second
// EXPECT twoHalves: tensor_core present family=wgmma shape=m64n64k16: two products a step
// EXPECT twoHalves: epilogue_fusion present: both sums are multiplied: a gate
// EXPECT twoHalves: register_tiling absent: not applicable
__global__ void __launch_bounds__(160) twoHalves(ARGS) {
  HEAD;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      State st;
      st.phase = 1;
      for (int i = 0; i < steps; ++i, st.next()) {
        MBWAIT(&s.empty[st.index], st.phase);
        issue(s, &ma, &mb, st.index, i, row, col);
      }
    }
    return;
  }
  State st;
  float d[32] = {}, e[32] = {};
  for (int i = 0; i < steps; ++i, st.next()) {
    MBWAIT(&s.full[st.index], st.phase);
    wgFence();
    mma4(d, s.a[st.index], s.b[st.index]);
    wgCommit();
    mma4(e, s.b[st.index], s.a[st.index]);
    wgCommit();
    wgWait<1>();
    wgWait<0>();
    mbArrive(&s.empty[st.index]);
  }
#pragma unroll
  for (int j = 0; j < 32; ++j)
    d[j] *= e[j];
  put64(d, c, n, row, col);
}

template <int WHERE> __device__ __forceinline__ void copyAt(DARGS) {
  HEAD;
  if (threadIdx.x == 0)
    for (int i = 0; i < ST - 1; ++i)
      issue(s, &ma, &mb, i, i, row, col);
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    int slot = i % ST, ph = i / ST & 1, j = i + ST - 1;
    MBWAIT(&s.full[slot], ph);
    if (WHERE == 0 && threadIdx.x == 0 && j < steps)
      issue(s, &ma, &mb, j % ST, j, row, col);
    wgFence();
    mma4(d, s.a[slot], s.b[slot]);
    wgCommit();
    if (WHERE == 1 && threadIdx.x == 0 && j < steps)
      issue(s, &ma, &mb, j % ST, j, row, col);
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT copyBehind: async_mma_overlap present: the next copy is issued before the wait
// EXPECT copyBehind: async_pipeline present mechanism=tma depth=4: three tiles ahead
__global__ void __launch_bounds__(128) copyBehind(ARGS) { copyAt<1>(ma, mb, c, n, k); }

// EXPECT copyBefore: async_mma_overlap absent: nothing between the commit and its wait
// EXPECT copyBefore: async_pipeline present mechanism=tma depth=4: three tiles ahead
// EXPECT copyBefore: warp_specialization absent: one thread of the same warps copies
__global__ void __launch_bounds__(128) copyBefore(ARGS) { copyAt<0>(ma, mb, c, n, k); }

template <int ORDER> __device__ __forceinline__ void consumers(DARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64), across = n / 64;
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      State st;
      st.phase = 1;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, st.next()) {
          MBWAIT(&s.empty[st.index], st.phase);
          issue(s, &ma, &mb, st.index, i, t / across * 64, t % across * 64);
        }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int me = wg - 1, it = me * steps;
    if (ORDER && me == 1)
      asm volatile("bar.arrive 2, 256;" ::: "memory");
    for (int t = blockIdx.x + me * gridDim.x; t < tiles; t += 2 * gridDim.x, it += steps) {
      float d[32] = {};
      if (ORDER)
        asm volatile("bar.sync %0, 256;" ::"r"(2 + me) : "memory");
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST;
        MBWAIT(&s.full[slot], it / ST & 1);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      if (ORDER)
        asm volatile("bar.arrive %0, 256;" ::"r"(3 - me) : "memory");
#pragma unroll
      for (int j = 0; j < 32; ++j)
        d[j] = d[j] > 0.f ? d[j] : 0.f;
      put64(d, c, n, t / across * 64, t % across * 64);
    }
  }
}

// EXPECT inTurns: pingpong_schedule present: barriers 2 and 3 let one group multiply at a time
// EXPECT inTurns: register_reallocation present decrease=40 increase=232: in both roles
// EXPECT inTurns: epilogue_fusion present ops=nonlinear: rectified
// EXPECT inTurns: warp_specialization present: a producer and two consumers
__global__ void __launch_bounds__(384, 1) inTurns(ARGS) { consumers<1>(ma, mb, c, n, k); }

// EXPECT freely: pingpong_schedule absent: no order between the two consumers
// EXPECT freely: register_reallocation present decrease=40 increase=232: in both roles
__global__ void __launch_bounds__(384, 1) freely(ARGS) { consumers<0>(ma, mb, c, n, k); }

// EXPECT lockStep: pingpong_schedule absent: both consumer groups meet at each step: they do not alternate
// EXPECT lockStep: warp_specialization present roles=copy+matrix: a producer and two consumers of half a tile
// EXPECT lockStep: persistent_kernel absent: a tile a block
__global__ void __launch_bounds__(384, 1) lockStep(ARGS) {
  HEAD;
  if (wg == 2) {
    if (threadIdx.x == 256) {
      State st;
      st.phase = 1;
      for (int i = 0; i < steps; ++i, st.next()) {
        MBWAIT(&s.empty[st.index], st.phase);
        issue(s, &ma, &mb, st.index, i, row, col);
      }
    }
  } else {
    State st;
    float d[32] = {};
    for (int i = 0; i < steps; ++i, st.next()) {
      MBWAIT(&s.full[st.index], st.phase);
      asm volatile("bar.sync 1, 256;" ::: "memory");
      wgFence();
      mma4(d, wg ? s.b[st.index] : s.a[st.index], wg ? s.a[st.index] : s.b[st.index]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.sync 1, 256;" ::: "memory");
      if (wg == 0)
        mbArrive(&s.empty[st.index]);
    }
    put64(d, c + (size_t)wg * n * n, n, row, col);
  }
}

static void all(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define GO(kern, grid, threads, out)                                                        \
  cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh);         \
  kern<<<grid, threads, sh, st>>>(ma, mb, out, 2048, 4096)
  GO(states, g, 160, o[0]);
  GO(eachStep, g, 160, o[1]);
  GO(twoHalves, g, 160, o[2]);
  GO(copyBehind, g, 128, o[3]);
  GO(copyBefore, g, 128, o[4]);
  GO(inTurns, 132, 384, o[5]);
  GO(freely, 132, 384, o[6]);
  GO(lockStep, g, 384, o[7]);
}

void run(float *a, float *b, float **o, cudaStream_t s) { all((bf *)a, (bf *)b, (bf **)o, s); }
