// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TMA rings between a producer and consumers of wgmma: roles, barriers by slot, and rings that do
// not work.
//
// VERDICTS arch=sm_90a entry=run read=ptx,cubin

#include "Inputs/WgmmaGemm.h"

// EXPECT wsRing: warp_specialization present roles=copy+matrix:
//   producer warpgroup, consumer warpgroup, mbarrier ring
// EXPECT wsRing: async_pipeline present mechanism=tma depth=4:
//   a ring of four slots, full and empty barriers
// EXPECT wsRing: register_reallocation present decrease=40 increase=232: setmaxnreg in both roles
// EXPECT wsRing: tensor_core present family=wgmma shape=m64n64k16: wgmma
// EXPECT wsRing: async_mma_overlap absent: waits for 0 right after its own commit
// EXPECT wsRing: tma present op=load dims=2 swizzle=128 multicast=false:
//   so the tensor map of the host says
// EXPECT wsRing: pingpong_schedule absent: one consumer
// EXPECT wsRing: register_tiling absent: not applicable to wgmma
// EXPECT wsRing: tile_shape present m=64 n=64 k=64: the tile of a block
__global__ void __launch_bounds__(256, 1) wsRing(ARGS) {
  HEAD;

  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT overlap1: async_mma_overlap present outstanding=1:
//   wait<1>, then frees the slot of the step before
// EXPECT overlap1: warp_specialization present roles=copy+matrix:
//   a copying warp and a multiplying warpgroup
// EXPECT overlap1: register_reallocation absent: no setmaxnreg
__global__ void __launch_bounds__(160) overlap1(ARGS) {
  HEAD;

  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<1>();
      if (i)
        mbArrive(&s.empty[(i - 1) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT noRoles: warp_specialization absent:
//   thread 0 of the consumer warpgroup issues the copies itself
// EXPECT noRoles: async_pipeline present mechanism=tma depth=4: filled 3 ahead
// EXPECT noRoles: register_reallocation absent: setmaxnreg in all warps, no roles
__global__ void __launch_bounds__(128) noRoles(ARGS) {
  HEAD;

  asm volatile("setmaxnreg.dec.sync.aligned.u32 160;");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  if (threadIdx.x == 0)
    for (int i = 0; i < ST - 1; ++i)
      issue(s, &ma, &mb, i, i, row, col);
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    int slot = i % ST, ph = i / ST & 1;
    MBWAIT(&s.full[slot], ph);
    wgFence();
    mma4(d, s.a[slot], s.b[slot]);
    wgCommit();
    wgWait<0>();
    __syncthreads();
    if (threadIdx.x == 0 && i + ST - 1 < steps)
      issue(s, &ma, &mb, (i + ST - 1) % ST, i + ST - 1, row, col);
  }
  put64(d, c, n, row, col);
}

// EXPECT atOnce: async_pipeline absent:
//   each copy is waited for in the iteration that issues it, though the slots rotate through 4
// EXPECT atOnce: warp_specialization absent: all warps run the same code
__global__ void __launch_bounds__(128) atOnce(ARGS) {
  HEAD;

  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    int slot = i % ST, ph = i / ST & 1;
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, slot, i, row, col);
    MBWAIT(&s.full[slot], ph);
    wgFence();
    mma4(d, s.a[slot], s.b[slot]);
    wgCommit();
    wgWait<0>();
    __syncthreads();
  }
  put64(d, c, n, row, col);
}

// EXPECT noParity: async_pipeline absent:
//   waits always for parity 0: after the first wrap it does not wait for the copy
__global__ void __launch_bounds__(256, 1) noParity(ARGS) {
  HEAD;

  if (wg == 0) {
    if (threadIdx.x == 0)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST;
        MBWAIT(&s.empty[slot], 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST;
      MBWAIT(&s.full[slot], 0);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT fullNotWaited: async_pipeline absent:
//   the consumer never waits for the full barriers, it only arrives at the empty ones
// EXPECT fullNotWaited: smem_tiling absent: no completion wait
__global__ void __launch_bounds__(256, 1) fullNotWaited(ARGS) {
  HEAD;

  if (wg == 0) {
    if (threadIdx.x == 0)
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST;
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT oneSlot: async_pipeline absent:
//   full/empty barriers and a producer, but one slot: nothing is in flight while the consumer
//   computes
__global__ void __launch_bounds__(256, 1) oneSlot(ARGS) {
  HEAD;

  if (wg == 0) {
    if (threadIdx.x == 0)
      for (int i = 0; i < steps; ++i) {
        MBWAIT(&s.empty[0], (i & 1) ^ 1);
        issue(s, &ma, &mb, 0, i, row, col);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      MBWAIT(&s.full[0], i & 1);
      wgFence();
      mma4(d, s.a[0], s.b[0]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[0]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT helperPrefetch: warp_specialization absent:
//   the extra warps only prefetch into L2, no hand-over with the others
// EXPECT helperPrefetch: async_pipeline absent: each copy is waited for in its own iteration
__global__ void __launch_bounds__(256) helperPrefetch(ARGS, const bf *a) {
  HEAD;

  if (wg == 1) {
    for (int i = threadIdx.x - 128; i < steps; i += 128)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(a + (size_t)row * k + i * 64));
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      if (threadIdx.x == 0)
        issue(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
      wgFence();
      mma4(d, s.a[0], s.b[0]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.sync 1, 128;");
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT elect: warp_specialization present roles=copy+matrix: a copying and a multiplying role
// EXPECT elect: async_pipeline present mechanism=tma depth=4: a ring of four slots
__global__ void __launch_bounds__(160) elect(ARGS) {
  HEAD;
  int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  if (warp == 4) {
    uint32_t e;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(e));
    if (e) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
    }
  } else if (warp < 4) {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT sw: warp_specialization present roles=copy+matrix: a copying and a multiplying role
// EXPECT sw: async_pipeline present mechanism=tma depth=4: a ring of four slots
__global__ void __launch_bounds__(256, 1) sw(ARGS) {
  HEAD;
  switch (threadIdx.x / 128) {
  case 1:
    if (threadIdx.x == 128) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
    }
    break;
  case 0: {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  } break;
  }
}

// EXPECT early: warp_specialization present roles=copy+matrix: a copying and a multiplying role
// EXPECT early: async_pipeline present mechanism=tma depth=4: a ring of four slots
__global__ void __launch_bounds__(256, 1) early(ARGS) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
    }
    return;
  }
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    int slot = i % ST, ph = i / ST & 1;
    MBWAIT(&s.full[slot], ph);
    wgFence();
    mma4(d, s.a[slot], s.b[slot]);
    wgCommit();
    wgWait<0>();
    mbArrive(&s.empty[slot]);
  }
  put64(d, c, n, row, col);
}

// EXPECT fakeProd: warp_specialization absent:
//   the other role copies tiles that nobody uses; no hand-over
// EXPECT fakeProd: async_pipeline absent: copies that are used are waited for at once
__global__ void __launch_bounds__(256, 1) fakeProd(ARGS) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128)
      for (int i = 0; i < steps; ++i) {
        mbTx(&s.empty[3], 8192);
        tma2(s.a[3], &ma, &s.empty[3], i * 64, row);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      if (threadIdx.x == 0)
        issue(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
      wgFence();
      mma4(d, s.a[0], s.b[0]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.sync 1, 128;");
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT earlyRelease: async_pipeline not-present:
//   releases the slot before the products have read it: a race; the ring exists
__global__ void __launch_bounds__(256, 1) earlyRelease(ARGS) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
    }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      mbArrive(&s.empty[slot]);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT noEmpty: async_pipeline absent:
//   the producer never waits for a free slot: it overwrites slots in use
__global__ void __launch_bounds__(256, 1) noEmpty(ARGS) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128)
      for (int i = 0; i < steps; ++i)
        issue(s, &ma, &mb, i % ST, i, row, col);
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT wrongBar: async_pipeline absent:
//   waits for the barrier of another slot than the one it reads
__global__ void __launch_bounds__(256, 1) wrongBar(ARGS) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < steps; ++i) {
        int slot = i % ST, ph = i / ST & 1;
        MBWAIT(&s.empty[slot], ph ^ 1);
        issue(s, &ma, &mb, slot, i, row, col);
      }
    }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1, other = (i + 1) % ST;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[other], s.b[other]);
      wgCommit();
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT rrIdle: register_reallocation absent: the giving warps do nothing and leave
// EXPECT rrIdle: warp_specialization absent: the other warps have no work and no hand-over
__global__ void __launch_bounds__(256, 1) rrIdle(ARGS) {
  HEAD;
  if (wg == 1) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    wgWait<0>();
    asm volatile("bar.sync 1, 128;" ::: "memory");
  }
  put64(d, c, n, row, col);
}

// EXPECT rrBarOnly: warp_specialization absent:
//   the second group only arrives at a named barrier each step: no work
// EXPECT rrBarOnly: register_reallocation absent: the giving role has no work
__global__ void __launch_bounds__(256, 1) rrBarOnly(ARGS) {
  HEAD;
  if (wg == 1) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    for (int i = 0; i < steps; ++i)
      asm volatile("bar.sync 2, 256;" ::: "memory");
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[32] = {};
  for (int i = 0; i < steps; ++i) {
    if (threadIdx.x == 0)
      issue(s, &ma, &mb, 0, i, row, col);
    MBWAIT(&s.full[0], i & 1);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    wgWait<0>();
    asm volatile("bar.sync 1, 128;" ::: "memory");
    asm volatile("bar.sync 2, 256;" ::: "memory");
  }
  put64(d, c, n, row, col);
}

// EXPECT wsDeadProd: warp_specialization absent:
//   the producer loop runs zero times at the launch (flag 0): consumers copy themselves
__global__ void __launch_bounds__(256, 1) wsDeadProd(ARGS, int flag) {
  HEAD;
  if (wg == 1) {
    if (threadIdx.x == 128 && flag)
      for (int i = 0; i < steps; ++i) {
        MBWAIT(&s.empty[1], (i & 1) ^ 1);
        mbTx(&s.full[1], 8192);
        tma2(s.a[1], &ma, &s.full[1], i * 64, row);
      }
  } else {
    float d[32] = {};
    for (int i = 0; i < steps; ++i) {
      if (threadIdx.x == 0)
        issue(s, &ma, &mb, 0, i, row, col);
      MBWAIT(&s.full[0], i & 1);
      wgFence();
      mma4(d, s.a[0], s.b[0]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.sync 1, 128;" ::: "memory");
    }
    put64(d, c, n, row, col);
  }
}

static void runPart1(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(wsRing);
  wsRing<<<g, 256, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ATTR(overlap1);
  overlap1<<<g, 160, sh, st>>>(ma, mb, o[1], 2048, 4096);
  ATTR(noRoles);
  noRoles<<<g, 128, sh, st>>>(ma, mb, o[2], 2048, 4096);
  ATTR(atOnce);
  atOnce<<<g, 128, sh, st>>>(ma, mb, o[3], 2048, 4096);
  ATTR(noParity);
  noParity<<<g, 256, sh, st>>>(ma, mb, o[4], 2048, 4096);
  ATTR(fullNotWaited);
  fullNotWaited<<<g, 256, sh, st>>>(ma, mb, o[5], 2048, 4096);
  ATTR(oneSlot);
  oneSlot<<<g, 256, sh, st>>>(ma, mb, o[6], 2048, 4096);
  ATTR(helperPrefetch);
  helperPrefetch<<<g, 256, sh, st>>>(ma, mb, o[7], 2048, 4096, a);
}

static void runPart2(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(elect);
  elect<<<g, 160, sh, st>>>(ma, mb, o[8], 2048, 4096);
  ATTR(sw);
  sw<<<g, 256, sh, st>>>(ma, mb, o[9], 2048, 4096);
  ATTR(early);
  early<<<g, 256, sh, st>>>(ma, mb, o[10], 2048, 4096);
  ATTR(fakeProd);
  fakeProd<<<g, 256, sh, st>>>(ma, mb, o[11], 2048, 4096);
  ATTR(earlyRelease);
  earlyRelease<<<g, 256, sh, st>>>(ma, mb, o[12], 2048, 4096);
  ATTR(noEmpty);
  noEmpty<<<g, 256, sh, st>>>(ma, mb, o[13], 2048, 4096);
  ATTR(wrongBar);
  wrongBar<<<g, 256, sh, st>>>(ma, mb, o[14], 2048, 4096);
}

static void runPart3(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(rrIdle);
  rrIdle<<<g, 256, sh, st>>>(ma, mb, o[15], 2048, 4096);
  ATTR(rrBarOnly);
  rrBarOnly<<<g, 256, sh, st>>>(ma, mb, o[16], 2048, 4096);
  ATTR(wsDeadProd);
  wsDeadProd<<<g, 256, sh, st>>>(ma, mb, o[17], 2048, 4096, 0);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((bf *)a, (bf *)b, (bf **)o, s);
  runPart2((bf *)a, (bf *)b, (bf **)o, s);
  runPart3((bf *)a, (bf *)b, (bf **)o, s);
}
