// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over output tiles in grids of the machine's size, ping-pong schedules, and grids that
// only look so.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include "Inputs/WgmmaGemm.h"

// EXPECT pingpong: pingpong_schedule present:
//   two consumers with tiles of their own take turns through named barriers: products | epilogue
// EXPECT pingpong: persistent_kernel present scheduler=static:
//   tile loop with grid of 132 and 1024 tiles
// EXPECT pingpong: warp_specialization present: producer, two consumers
__global__ void __launch_bounds__(384, 1) pingpong(ARGS) {
  HEAD;

  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int me = wg - 1, it = me * steps;
    if (me == 1)
      asm volatile("bar.arrive 1, 256;");
    // order: barrier 1 + (group) guards the products of that group
    for (int t = blockIdx.x + me * gridDim.x; t < tiles; t += 2 * gridDim.x) {
      float d[32] = {};
      asm volatile("bar.sync %0, 256;" ::"r"(1 + me));
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      asm volatile("bar.arrive %0, 256;" ::"r"(2 - me));
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
      it += steps;
    }
  }
}

// EXPECT perWs: persistent_kernel present scheduler=static:
//   warp-specialised tile loop, tiles from n
// EXPECT perWs: warp_specialization present roles=copy+matrix:
//   a copying warpgroup and a multiplying one
__global__ void __launch_bounds__(256, 1) perWs(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    int it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT perTiles: persistent_kernel present scheduler=static: number of tiles is a parameter
// EXPECT perTiles: warp_specialization present roles=copy+matrix:
//   a copying warpgroup and a multiplying one
__global__ void __launch_bounds__(256, 1) perTiles(ARGS, int tiles_) {
  HEAD;
  int tiles = tiles_;
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    int it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT perChunk: persistent_kernel present scheduler=static:
//   each block takes a contiguous chunk of tiles: tiles / grid
// EXPECT perChunk: warp_specialization present roles=copy+matrix:
//   a copying warpgroup and a multiplying one
__global__ void __launch_bounds__(256, 1) perChunk(ARGS) {
  HEAD;
  int tiles = ((int)blockIdx.x + 1) * ((n / 64) * (n / 64) / (int)gridDim.x);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = (blockIdx.x * ((n / 64) * (n / 64) / gridDim.x)); t < tiles; t += 1)
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    int it = 0;
    for (int t = (blockIdx.x * ((n / 64) * (n / 64) / gridDim.x)); t < tiles; t += 1) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT perOnce: persistent_kernel absent: as many blocks as tiles
// EXPECT perOnce: warp_specialization present roles=copy+matrix:
//   a copying warpgroup and a multiplying one
__global__ void __launch_bounds__(256, 1) perOnce(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    int it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT pUns: warp_specialization present roles=copy+matrix:
//   two roles, mbarrier ring over all tiles
// EXPECT pUns: async_pipeline present mechanism=tma depth=4: ring of 4 over all tiles
// EXPECT pUns: persistent_kernel present scheduler=static: 132 blocks, 1024 tiles
// EXPECT pUns: tensor_core present: wgmma
__global__ void __launch_bounds__(256, 1) pUns(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      unsigned it = 0 /*s*/;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
          ++it;
        }
    }
  } else {
    unsigned it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
        ++it;
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT pTog: warp_specialization present roles=copy+matrix:
//   two roles, mbarrier ring over all tiles
// EXPECT pTog: async_pipeline present mechanism=tma depth=4: ring of 4 over all tiles
// EXPECT pTog: persistent_kernel present scheduler=static: 132 blocks, 1024 tiles
// EXPECT pTog: tensor_core present: wgmma
__global__ void __launch_bounds__(256, 1) pTog(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int slot = 0, ph = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i) {

          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
          if (++slot == ST) {
            slot = 0;
            ph ^= 1;
          }
        }
    }
  } else {
    int slot = 0, ph = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i) {

        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
        if (++slot == ST) {
          slot = 0;
          ph ^= 1;
        }
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT pSgn: warp_specialization present roles=copy+matrix:
//   two roles, mbarrier ring over all tiles
// EXPECT pSgn: async_pipeline present mechanism=tma depth=4: ring of 4 over all tiles
// EXPECT pSgn: persistent_kernel present scheduler=static: 132 blocks, 1024 tiles
// EXPECT pSgn: tensor_core present: wgmma
__global__ void __launch_bounds__(256, 1) pSgn(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      int it = 0 /*s*/;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i) {
          int slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
          ++it;
        }
    }
  } else {
    int it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i) {
        int slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
        ++it;
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT pAlt: persistent_kernel present scheduler=static:
//   two consumers take alternate tiles: step 2 * grid
// EXPECT pAlt: warp_specialization present: producer, consumers
__global__ void __launch_bounds__(384, 1) pAlt(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 0) {
    if (threadIdx.x == 0) {
      unsigned it = 0 /*s*/;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
          ++it;
        }
    }
  } else {
    unsigned it = (wg - 1) * steps;
    for (int t = blockIdx.x + (wg - 1) * gridDim.x; t < tiles; t += 2 * gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
        ++it;
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
      it += steps;
    }
  }
}

// EXPECT ppTogether: pingpong_schedule absent:
//   both consumer groups meet at one barrier before and after the products: no turns
// EXPECT ppTogether: warp_specialization present: a copying and a multiplying role
__global__ void __launch_bounds__(384, 1) ppTogether(ARGS) {
  HEAD;
  if (wg == 0) {
    if (threadIdx.x == 0) {
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
      asm volatile("bar.sync 1, 256;");
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.sync 2, 256;");
      if (wg == 1)
        mbArrive(&s.empty[slot]);
    }
    if (wg == 1)
      put64(d, c, n, row, col);
    else
      put64(d, c + (size_t)n * n, n, row, col);
  }
}

// EXPECT perSame: persistent_kernel absent:
//   every block does all tiles: nothing is divided among them
__global__ void __launch_bounds__(256, 1) perSame(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 1) {
    if (threadIdx.x == 128) {
      unsigned it = 0;
      for (int t = 0; t < tiles; ++t)
        for (int i = 0; i < steps; ++i, ++it) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    unsigned it = 0;
    for (int t = 0; t < tiles; ++t) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT perTwo: persistent_kernel not-present:
//   512 blocks for 1024 tiles: the size of the problem, which only looks like four blocks for each
//   of 132 multiprocessors
__global__ void __launch_bounds__(256, 1) perTwo(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 1) {
    if (threadIdx.x == 128) {
      unsigned it = 0;
      for (int t = blockIdx.x; t < tiles; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    unsigned it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT perPast: persistent_kernel absent: each block leaves the loop after one tile
__global__ void __launch_bounds__(256, 1) perPast(ARGS) {
  HEAD;
  int tiles = (n / 64) * (n / 64);
  if (wg == 1) {
    if (threadIdx.x == 128) {
      unsigned it = 0;
      for (int t = blockIdx.x; t < tiles && t < (int)gridDim.x; t += gridDim.x)
        for (int i = 0; i < steps; ++i, ++it) {
          unsigned slot = it % ST, ph = it / ST & 1;
          MBWAIT(&s.empty[slot], ph ^ 1);
          issue(s, &ma, &mb, slot, i, t / (n / 64) * 64, t % (n / 64) * 64);
        }
    }
  } else {
    unsigned it = 0;
    for (int t = blockIdx.x; t < tiles && t < (int)gridDim.x; t += gridDim.x) {
      float d[32] = {};
      for (int i = 0; i < steps; ++i, ++it) {
        unsigned slot = it % ST, ph = it / ST & 1;
        MBWAIT(&s.full[slot], ph);
        wgFence();
        mma4(d, s.a[slot], s.b[slot]);
        wgCommit();
        wgWait<0>();
        mbArrive(&s.empty[slot]);
      }
      put64(d, c, n, t / (n / 64) * 64, t % (n / 64) * 64);
    }
  }
}

// EXPECT ppSame: pingpong_schedule absent:
//   both groups wait for and arrive at the same barrier pair without turns (each syncs only with
//   itself: 128 threads)
__global__ void __launch_bounds__(384, 1) ppSame(ARGS) {
  HEAD;
  if (wg == 0) {
    if (threadIdx.x == 0) {
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
      asm volatile("bar.sync %0, 128;" ::"r"(wg) : "memory");
      MBWAIT(&s.full[slot], ph);
      wgFence();
      mma4(d, s.a[slot], s.b[slot]);
      wgCommit();
      wgWait<0>();
      asm volatile("bar.arrive %0, 256;" ::"r"(wg + 4) : "memory");
      if (wg == 1)
        mbArrive(&s.empty[slot]);
    }
    if (wg == 1)
      put64(d, c, n, row, col);
    else
      put64(d, c + (size_t)n * n, n, row, col);
  }
}

// EXPECT perFirst: persistent_kernel absent:
//   the loop runs over all tiles, but works only on the first one of a block
__global__ void __launch_bounds__(64)
    perFirst(const float *x, const float *w, float *y, int tiles, int k) {
  __shared__ float part[64];
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    if (t != (int)blockIdx.x)
      continue;
    float sum = 0;
    for (int i = 0; i < k; ++i) {
      part[threadIdx.x] = x[t * 64 + i];
      __syncthreads();
      sum += part[63 - threadIdx.x] * w[i * 64 + threadIdx.x];
      __syncthreads();
    }
    y[t * 64 + threadIdx.x] = sum;
  }
}

// EXPECT perElem: persistent_kernel absent: grid-stride loop over elements: no output tiles
__global__ void perElem(const float *x, float *y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    y[i] = x[i] * 2.f;
}

// EXPECT perSquares: persistent_kernel absent: rows of 2048 elements, in steps of the grid
__global__ void __launch_bounds__(256) perSquares(const float *x, const float *g, float *y, int rows) {
  __shared__ float r[8];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float s = 0;
    for (int i = threadIdx.x; i < 2048; i += 256)
      s += x[(size_t)row * 2048 + i] * x[(size_t)row * 2048 + i];
    for (int o = 16; o; o /= 2)
      s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0)
      r[threadIdx.x / 32] = s;
    __syncthreads();
    s = r[0] + r[1] + r[2] + r[3] + r[4] + r[5] + r[6] + r[7];
    __syncthreads();
    for (int i = threadIdx.x; i < 2048; i += 256)
      y[(size_t)row * 2048 + i] = x[(size_t)row * 2048 + i] * rsqrtf(s / 2048) * g[i];
  }
}

// EXPECT perTurned: persistent_kernel present scheduler=static:
//   tiles of 32 x 32 of a transposition, 132 blocks for 4096 of them
__global__ void __launch_bounds__(256) perTurned(const float *x, float *y, int n) {
  __shared__ float r[32][33];
  int tiles = (n / 32) * (n / 32);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int row = t / (n / 32) * 32, col = t % (n / 32) * 32;
    for (int i = 0; i < 32; i += 8)
      r[threadIdx.x / 32 + i][threadIdx.x % 32] =
          x[(size_t)(row + threadIdx.x / 32 + i) * n + col + threadIdx.x % 32];
    __syncthreads();
    for (int i = 0; i < 32; i += 8)
      y[(size_t)(col + threadIdx.x / 32 + i) * n + row + threadIdx.x % 32] =
          r[threadIdx.x % 32][threadIdx.x / 32 + i];
    __syncthreads();
  }
}

// EXPECT perRows: persistent_kernel absent:
//   a row a block, in steps of the grid: the vocabulary calls it grid_stride_loop
__global__ void __launch_bounds__(256) perRows(const float *x, float *y, int rows) {
  __shared__ float r[8];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float v = x[(size_t)row * 256 + threadIdx.x], s = v * v;
    for (int o = 16; o; o /= 2)
      s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0)
      r[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int i = 0; i < 8; ++i)
      s += r[i];
    y[(size_t)row * 256 + threadIdx.x] = v * rsqrtf(s / 256);
    __syncthreads();
  }
}

// EXPECT persSum: persistent_kernel not-present:
//   tiles of 256 sums in steps of the grid, without a product
__global__ void __launch_bounds__(256) persSum(const float *a, float *o, int tiles) {
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    float v = 0;
    for (int r = 0; r < 64; ++r)
      v += a[((size_t)t * 64 + r) * 256 + threadIdx.x];
    o[t * 256 + threadIdx.x] = v;
  }
}

static void runPart1(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(pingpong);
  pingpong<<<132, 384, sh, st>>>(ma, mb, o[0], 2048, 4096);
}

static void runPart2(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(perWs);
  perWs<<<132, 256, sh, st>>>(ma, mb, o[1], 2048, 4096);
  ATTR(perTiles);
  perTiles<<<132, 256, sh, st>>>(ma, mb, o[2], 2048, 4096, 1024);
  ATTR(perChunk);
  perChunk<<<128, 256, sh, st>>>(ma, mb, o[3], 2048, 4096);
  ATTR(perOnce);
  perOnce<<<1024, 256, sh, st>>>(ma, mb, o[4], 2048, 4096);
}

static void runPart3(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(pUns);
  pUns<<<132, 256, sh, st>>>(ma, mb, o[5], 2048, 4096);
  ATTR(pTog);
  pTog<<<132, 256, sh, st>>>(ma, mb, o[6], 2048, 4096);
  ATTR(pSgn);
  pSgn<<<132, 256, sh, st>>>(ma, mb, o[7], 2048, 4096);
  ATTR(pAlt);
  pAlt<<<132, 384, sh, st>>>(ma, mb, o[8], 2048, 4096);
}

static void runPart4(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(ppTogether);
  ppTogether<<<g, 384, sh, st>>>(ma, mb, o[9], 2048, 4096);
  ATTR(perSame);
  perSame<<<132, 256, sh, st>>>(ma, mb, o[10], 2048, 4096);
  ATTR(perTwo);
  perTwo<<<(2048 / 64) * (2048 / 64) / 2, 256, sh, st>>>(ma, mb, o[11], 2048, 4096);
  ATTR(perPast);
  perPast<<<132, 256, sh, st>>>(ma, mb, o[12], 2048, 4096);
}

static void runPart5(bf *a, bf *b, bf **o, cudaStream_t st) {
  CUtensorMap ma = mk(a, 2048, 4096), mb = mk(b, 2048, 4096);
  size_t sh = sizeof(Sh) + 1024;
  dim3 g(32, 32);
#define ATTR(kern) cudaFuncSetAttribute(kern, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sh)
  ATTR(ppSame);
  ppSame<<<g, 384, sh, st>>>(ma, mb, o[13], 2048, 4096);
}

static void runPart6(float *a, float *b, float **o, cudaStream_t s) {
  perFirst<<<132, 64, 0, s>>>(a, b, o[14], 4096, 512);
  perElem<<<132, 256, 0, s>>>(a, o[15], 1 << 24);
  perRows<<<132, 256, 0, s>>>(a, o[16], 8192);
  perSquares<<<132, 256, 0, s>>>(a, a, o[18], 8192);
  perTurned<<<132, 256, 0, s>>>(a, o[19], 2048);
}

static void runPart7(float *a, float **o, cudaStream_t s) {
  persSum<<<132, 256, 0, s>>>(a, o[17], 1024);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  runPart1((bf *)a, (bf *)b, (bf **)o, s);
  runPart2((bf *)a, (bf *)b, (bf **)o, s);
  runPart3((bf *)a, (bf *)b, (bf **)o, s);
  runPart4((bf *)a, (bf *)b, (bf **)o, s);
  runPart5((bf *)a, (bf *)b, (bf **)o, s);
  runPart6(a, b, o, s);
  runPart7(a, o, s);
}
