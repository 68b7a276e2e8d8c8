// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of wgmma that run while the warps do other work.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/WgmmaGemm.h"

// EXPECT ovPlain: async_mma_overlap present outstanding=1:
//   arrive for the slot before without a condition
__global__ void __launch_bounds__(256, 1) ovPlain(ARGS) {
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
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<1>();
      mbArrive(&s.empty[(i + ST - 1) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovPeeled: async_mma_overlap present outstanding=1: the first step is peeled
__global__ void __launch_bounds__(256, 1) ovPeeled(ARGS) {
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

    MBWAIT(&s.full[0], 0);
    wgFence();
    mma4(d, s.a[0], s.b[0]);
    wgCommit();
    for (int i = 1; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<1>();
      mbArrive(&s.empty[(i - 1) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovIf: async_mma_overlap present outstanding=1: arrive under i > 0
__global__ void __launch_bounds__(256, 1) ovIf(ARGS) {
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
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<1>();
      if (i > 0)
        mbArrive(&s.empty[(i - 1) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovFake: async_mma_overlap absent:
//   wait<1>, but an empty group is committed between: all products are waited for
__global__ void __launch_bounds__(256, 1) ovFake(ARGS) {
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
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgCommit();
      wgWait<1>();
      mbArrive(&s.empty[slot]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovArith: async_mma_overlap present:
//   softmax-like arithmetic on other registers between commit and wait<0>: independent row
//   statistics
__global__ void __launch_bounds__(256, 1) ovArith(ARGS) {
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

    float m = 0;
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
#pragma unroll
      for (int j = 0; j < 32; ++j)
        m += __bfloat162float(s.a[slot][(threadIdx.x % 128) / 2 * 64 + j]) * 0.5f;
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    d[0] += m;
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovAddr: async_mma_overlap absent:
//   only index arithmetic for the next slot between commit and wait<0>
__global__ void __launch_bounds__(256, 1) ovAddr(ARGS) {
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

    int slot = 0, ph = 0;
    for (int i = 0; i < steps; ++i) {
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      int next = slot + 1;
      int q = ph;
      if (next == ST) {
        next = 0;
        q ^= 1;
      }
      wgWait<0>();
      mbArrive(&s.empty[slot]);
      slot = next;
      ph = q;
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT o160if: async_mma_overlap present outstanding=1: thread 160 if (i > 0)
__global__ void __launch_bounds__(160) o160if(ARGS) {
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
      if (i > 0)
        mbArrive(&s.empty[(i - 1) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT o256if: async_mma_overlap present outstanding=1: thread 256 if (i)
__global__ void __launch_bounds__(256) o256if(ARGS) {
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

// EXPECT o160plain: async_mma_overlap present outstanding=1:
//   block of 160, the slot before is released without a condition
__global__ void __launch_bounds__(160) o160plain(ARGS) {
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
      mbArrive(&s.empty[(i + 3) % ST]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

// EXPECT ovDead: async_mma_overlap absent:
//   between commit and wait only arithmetic whose result is not used
__global__ void __launch_bounds__(256, 1) ovDead(ARGS) {
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
    float z = k;
    for (int i = 0; i < steps; ++i) {
      int slot = i % ST, ph = i / ST & 1;
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      asm volatile("{.reg .f32 q; fma.rn.f32 q, %0, %0, %0; mul.f32 q, q, q;}" ::"f"(z));
      wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    put64(d, c, n, row, col);
  }
}

// EXPECT ovLastOnly: async_mma_overlap absent:
//   only the last step leaves a group outstanding; all others wait for everything
__global__ void __launch_bounds__(256, 1) ovLastOnly(ARGS) {
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
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      if (i == steps - 1)
        wgWait<1>();
      else
        wgWait<0>();
      mbArrive(&s.empty[slot]);
    }
    wgWait<0>();
    put64(d, c, n, row, col);
  }
}

static void runPart1(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(ovPlain);
  ovPlain<<<g, 256, sh, st>>>(ma, mb, o[0], 2048, 4096);
  ATTR(ovPeeled);
  ovPeeled<<<g, 256, sh, st>>>(ma, mb, o[1], 2048, 4096);
  ATTR(ovIf);
  ovIf<<<g, 256, sh, st>>>(ma, mb, o[2], 2048, 4096);
  ATTR(ovFake);
  ovFake<<<g, 256, sh, st>>>(ma, mb, o[3], 2048, 4096);
  ATTR(ovArith);
  ovArith<<<g, 256, sh, st>>>(ma, mb, o[4], 2048, 4096);
  ATTR(ovAddr);
  ovAddr<<<g, 256, sh, st>>>(ma, mb, o[5], 2048, 4096);
}

static void runPart2(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(o160if);
  o160if<<<g, 160, sh, st>>>(ma, mb, o[6], 2048, 4096);
  ATTR(o256if);
  o256if<<<g, 256, sh, st>>>(ma, mb, o[7], 2048, 4096);
  ATTR(o160plain);
  o160plain<<<g, 160, sh, st>>>(ma, mb, o[8], 2048, 4096);
}

static void runPart3(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(ovDead);
  ovDead<<<g, 256, sh, st>>>(ma, mb, o[9], 2048, 4096);
  ATTR(ovLastOnly);
  ovLastOnly<<<g, 256, sh, st>>>(ma, mb, o[10], 2048, 4096);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((bf *)a, (bf *)b, (bf **)o, s);
  runPart2((bf *)a, (bf *)b, (bf **)o, s);
  runPart3((bf *)a, (bf *)b, (bf **)o, s);
}
