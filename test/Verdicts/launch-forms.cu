// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the launch decides: clusters, dependent launches, tile orders, loops over tiles, bounds.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define TA const float *a, const float *b, float *c, int n, int k

// One tile of 16 x 16: row `m`, column `q`, both in tiles.
__device__ __forceinline__ void makeTile(TA, int m, int q) {
  __shared__ float A[16][16], B[16][16];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float s = 0;
  for (int i = 0; i < k; i += 16) {
    A[ty][tx] = a[(size_t)(m * 16 + ty) * k + i + tx];
    B[ty][tx] = b[(size_t)(i + ty) * n + q * 16 + tx];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j)
      s += A[ty][j] * B[j][tx];
    __syncthreads();
  }
  c[(size_t)(m * 16 + ty) * n + q * 16 + tx] = s;
}

struct Tile {
  int m, n;
};
// Tiles in bands of G rows, as a scheduler class has it.
template <int G> struct Scheduler {
  int rows, columns;
  __device__ __forceinline__ Tile at(int i) const {
    int band = i / (G * columns), in = i - band * G * columns;
    return {band * G + in % G, in / G};
  }
};

// EXPECT bandsOf4: tile_rasterization present group=4: by a scheduler class
// EXPECT bandsOf4: persistent_kernel absent: a tile a block
// EXPECT bandsOf4: launch_bounds present threads=256: so it says
__global__ void __launch_bounds__(256) bandsOf4(TA) {
  Tile t = Scheduler<4>{n / 16, n / 16}.at(blockIdx.x);
  makeTile(a, b, c, n, k, t.m, t.n);
}

// EXPECT bandsOf1: tile_rasterization absent: bands of one row are rows
// EXPECT bandsOf1: launch_bounds absent: none
__global__ void bandsOf1(TA) {
  Tile t = Scheduler<1>{n / 16, n / 16}.at(blockIdx.x);
  makeTile(a, b, c, n, k, t.m, t.n);
}

// EXPECT bandsUnused: tile_rasterization absent: the order by bands is computed and not used
__global__ void __launch_bounds__(256) bandsUnused(TA) {
  Tile t = Scheduler<4>{n / 16, n / 16}.at(blockIdx.x);
  if (t.m < 0)
    return;
  makeTile(a, b, c, n, k, blockIdx.x / (n / 16), blockIdx.x % (n / 16));
}

// EXPECT counted: persistent_kernel present scheduler=atomic: blocks draw tiles from a counter
// EXPECT counted: tile_rasterization absent: rows
__global__ void __launch_bounds__(256) counted(TA, int *next) {
  __shared__ int at;
  int tiles = (n / 16) * (n / 16);
  for (;;) {
    if (threadIdx.x == 0)
      at = atomicAdd(next, 1);
    __syncthreads();
    int t = at;
    __syncthreads();
    if (t >= tiles)
      break;
    makeTile(a, b, c, n, k, t / (n / 16), t % (n / 16));
  }
}

// EXPECT banded: persistent_kernel present scheduler=static: as many blocks as the device has SMs
// EXPECT banded: tile_rasterization present group=8: by bands within the loop
__global__ void __launch_bounds__(256) banded(TA) {
  Scheduler<8> s{n / 16, n / 16};
  for (int t = blockIdx.x; t < s.rows * s.columns; t += gridDim.x) {
    Tile at = s.at(t);
    makeTile(a, b, c, n, k, at.m, at.n);
  }
}

// EXPECT once: persistent_kernel absent: as many blocks as tiles: the loop runs once
__global__ void __launch_bounds__(256) once(TA) {
  for (int t = blockIdx.x; t < (n / 16) * (n / 16); t += gridDim.x)
    makeTile(a, b, c, n, k, t / (n / 16), t % (n / 16));
}

// EXPECT broken: persistent_kernel absent: the loop ends behind its first tile
__global__ void __launch_bounds__(256) broken(TA) {
  int tiles = (n / 16) * (n / 16);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    makeTile(a, b, c, n, k, t / (n / 16), t % (n / 16));
    break;
  }
}

// EXPECT boundsByConstant: launch_bounds present threads=128 min_blocks=3: constants of a template
template <int T, int B> __global__ void __launch_bounds__(T, B) boundsByConstant(const float *a, float *c) {
  c[blockIdx.x * T + threadIdx.x] = a[blockIdx.x * T + threadIdx.x] * 2.f;
}

// EXPECT inCluster: cluster_launch present x=4 y=1 z=1: an attribute of the launch
__global__ void inCluster(const float *a, float *c) {
  c[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] + 1.f;
}
// EXPECT notCounted: cluster_launch absent: the attribute is filled in, but none is passed
__global__ void notCounted(const float *a, float *c) {
  c[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] + 2.f;
}
// EXPECT clusterOf1: cluster_launch absent: one block
__global__ void __cluster_dims__(1, 1, 1) clusterOf1(const float *a, float *c) {
  c[blockIdx.x * 128 + threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x] + 3.f;
}
// EXPECT clusterOf2x2: cluster_launch present x=2 y=2: at compile time
__global__ void __cluster_dims__(2, 2) clusterOf2x2(const float *a, float *c) {
  int i = (blockIdx.y * gridDim.x + blockIdx.x) * 128 + threadIdx.x;
  c[i] = a[i] + 4.f;
}

// EXPECT first: dependent_launch present side=trigger: the next launch in the stream depends on it
__global__ void first(const float *a, float *t) {
  int i = blockIdx.x * 128 + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;");
  t[i] = a[i] * 2.f;
}
// EXPECT second: dependent_launch present side=wait: waits, launched with the attribute
__global__ void second(const float *t, float *c) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int i = blockIdx.x * 128 + threadIdx.x;
  c[i] = t[i] + 1.f;
}
// EXPECT lonely: dependent_launch absent: triggers, but no launch that follows has the attribute
__global__ void lonely(const float *a, float *t) {
  int i = blockIdx.x * 128 + threadIdx.x;
  asm volatile("griddepcontrol.launch_dependents;");
  t[i] = a[i] * 2.f;
}
// EXPECT plainly: dependent_launch absent: waits, launched with no attribute counted
__global__ void plainly(const float *t, float *c) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  int i = blockIdx.x * 128 + threadIdx.x;
  c[i] = t[i] + 1.f;
}

template <class... P, class... A>
static void launch(void (*k)(P...), dim3 grid, int block, cudaStream_t st, cudaLaunchAttribute at,
                   int count, A... args) {
  cudaLaunchConfig_t c = {};
  c.gridDim = grid;
  c.blockDim = dim3(block);
  c.stream = st;
  c.attrs = &at;
  c.numAttrs = count;
  cudaLaunchKernelEx(&c, k, (P)args...);
}

void run(const float *a, const float *b, float **o, float *t, float *u, int *next, cudaStream_t s) {
  bandsOf4<<<4096, 256, 0, s>>>(a, b, o[0], 1024, 1024);
  bandsOf1<<<4096, 256, 0, s>>>(a, b, o[1], 1024, 1024);
  bandsUnused<<<4096, 256, 0, s>>>(a, b, o[2], 1024, 1024);
  int device, sms;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaMemsetAsync(next, 0, 4, s);
  counted<<<2 * sms, 256, 0, s>>>(a, b, o[3], 1024, 1024, next);
  banded<<<sms, 256, 0, s>>>(a, b, o[4], 1024, 1024);
  once<<<4096, 256, 0, s>>>(a, b, o[5], 1024, 1024);
  broken<<<sms, 256, 0, s>>>(a, b, o[6], 1024, 1024);
  boundsByConstant<128, 3><<<1024, 128, 0, s>>>(a, o[7]);

  cudaLaunchAttribute cl = {};
  cl.id = cudaLaunchAttributeClusterDimension;
  cl.val.clusterDim.x = 4;
  cl.val.clusterDim.y = 1;
  cl.val.clusterDim.z = 1;
  launch(inCluster, 1024, 128, s, cl, 1, a, o[8]);
  launch(notCounted, 1024, 128, s, cl, 0, a, o[9]);
  clusterOf1<<<1024, 128, 0, s>>>(a, o[10]);
  clusterOf2x2<<<dim3(32, 32), 128, 0, s>>>(a, o[11]);

  cudaLaunchAttribute pdl = {};
  pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  pdl.val.programmaticStreamSerializationAllowed = 1;
  first<<<1024, 128, 0, s>>>(a, t);
  launch(second, 1024, 128, s, pdl, 1, t, o[12]);
  lonely<<<1024, 128, 0, s>>>(a, u);
  launch(plainly, 1024, 128, s, pdl, 0, u, o[13]);
}
