// REQUIRES: nvcc, ptxas-sm_90a
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry present --facts %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry fixedGrid --facts %s | FileCheck %s --check-prefix=FIXED
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry occupancy --facts %s | FileCheck %s --check-prefix=OCCUPANCY
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry share --facts %s | FileCheck %s --check-prefix=SHARE
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry counted --facts %s | FileCheck %s --check-prefix=COUNTED
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry once --facts %s | FileCheck %s --check-prefix=ONCE
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry problemGrid --facts %s | FileCheck %s --check-prefix=PROBLEM
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry hugeGrid --facts %s | FileCheck %s --check-prefix=HUGE
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry anyShape --facts %s | FileCheck %s --check-prefix=ANY
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry elements --facts %s | FileCheck %s --check-prefix=ELEMENTS
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry splitK --facts %s | FileCheck %s --check-prefix=SPLIT
// RUN: d2k-analyze --arch sm_90a --tiers source,ptx --entry rows --facts %s | FileCheck %s --check-prefix=ROWS
// RUN: d2k-analyze --arch sm_90a --tiers ptx --kernel tileLoop --facts %s | FileCheck %s --check-prefix=ALONE
//
// persistent_kernel with a static schedule: the loop is in the kernel, the rest
// at the launch. 132 is the multiprocessor count of an H200.

#include <cuda_runtime.h>

/// The tile with this number: 64 outputs, each a sum over k.
__device__ void makeTile(const float *x, const float *w, float *y, int tile,
                         int k) {
  __shared__ float part[64];
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    part[threadIdx.x] = x[tile * 64 + i];
    __syncthreads();
    sum += part[63 - threadIdx.x] * w[i * 64 + threadIdx.x];
    __syncthreads();
  }
  y[tile * 64 + threadIdx.x] = sum;
}

__global__ void tileLoop(const float *x, const float *w, float *y, int tiles,
                         int k) {
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
    makeTile(x, w, y, tile, k);
}

/// A whole call of the machine's blocks for 4096 tiles.
// PRESENT: persistent_kernel (scheduler static), source
// PRESENT-NOT: undecided: persistent_kernel
void present(const float *x, const float *w, float *y, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  tileLoop<<<sms, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// A constant that any machine of the kind holds.
// FIXED: persistent_kernel (scheduler static), source
void fixedGrid(const float *x, const float *w, float *y, cudaStream_t s) {
  tileLoop<<<264, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// Whatever the query says, 100 KiB of shared memory leave room for two blocks
/// on a multiprocessor: 264 for 4096 tiles.
// OCCUPANCY: persistent_kernel (scheduler static), source
void occupancy(const float *x, const float *w, float *y, cudaStream_t s) {
  int sms = 0, each = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, tileLoop, 64,
                                                100 << 10);
  tileLoop<<<sms * each, 64, 100 << 10, s>>>(x, w, y, 4096, 512);
}

/// Consecutive tiles for each block.
__global__ void shareLoop(const float *x, const float *w, float *y, int tiles,
                          int k) {
  int each = (tiles + gridDim.x - 1) / gridDim.x;
  int first = blockIdx.x * each;
  for (int tile = first; tile < min(first + each, tiles); ++tile)
    makeTile(x, w, y, tile, k);
}
// SHARE: persistent_kernel (scheduler static), source
void share(const float *x, const float *w, float *y, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  shareLoop<<<sms, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// The number of the round is counted, and the tile computed from it.
__global__ void countedLoop(const float *x, const float *w, float *y,
                            int tiles, int k) {
  for (int round = 0;; ++round) {
    int tile = round * gridDim.x + blockIdx.x;
    if (tile >= tiles)
      break;
    makeTile(x, w, y, tile, k);
  }
}
// COUNTED: persistent_kernel (scheduler static), source
void counted(const float *x, const float *w, float *y, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  countedLoop<<<sms, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// Decoy: a block for each tile.
// ONCE-NOT: persistent_kernel (
// ONCE: near miss: persistent_kernel
// ONCE: with 4096 blocks there is a block for each tile, and the loop
void once(const float *x, const float *w, float *y, cudaStream_t s) {
  tileLoop<<<4096, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// Decoy: half as many blocks as tiles, whatever the machine.
struct Shape {
  long tiles;
};
// PROBLEM-NOT: persistent_kernel (
// PROBLEM: undecided: persistent_kernel
void problemGrid(const float *x, const float *w, float *y, long tiles,
                 cudaStream_t s) {
  tileLoop<<<tiles / 2, 64, 0, s>>>(x, w, y, int(tiles), 512);
}

/// Decoy: a constant that no machine holds at once.
// HUGE-NOT: persistent_kernel (
// HUGE: near miss: persistent_kernel
// HUGE: a constant grid of 2048 blocks is more than the machine holds
void hugeGrid(const float *x, const float *w, float *y, cudaStream_t s) {
  tileLoop<<<2048, 64, 0, s>>>(x, w, y, 4096, 512);
}

/// Without a workload the number of tiles is not known.
// ANY-NOT: persistent_kernel (
// ANY: undecided: persistent_kernel
// ANY: whether a block gets a second tile depends on argument
void anyShape(const float *x, const float *w, float *y, int m, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  tileLoop<<<sms, 64, 0, s>>>(x, w, y, m / 64, 512);
}

/// No tiles: a block takes a row after the other, in steps of the grid.
__global__ void rowLoop(const float *x, float *y, int rows) {
  __shared__ float part[64];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float v = x[row * 64 + threadIdx.x];
    part[threadIdx.x] = v * v;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 64; ++i)
      sum += part[i];
    y[row * 64 + threadIdx.x] = v * rsqrtf(sum);
    __syncthreads();
  }
}
// ROWS-NOT: persistent_kernel (
// ROWS: near miss: persistent_kernel
// ROWS: walks over rows in steps of the grid
void rows(const float *x, float *y, cudaStream_t s) {
  rowLoop<<<132, 64, 0, s>>>(x, y, 8192);
}

/// No tiles: every thread walks over elements.
__global__ void elementLoop(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    y[i] = x[i] * x[i];
}
// ELEMENTS: elementLoop
// ELEMENTS-NOT: {{persistent_kernel[^/]}}
void elements(const float *x, float *y, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  elementLoop<<<sms, 256, 0, s>>>(x, y, 1 << 24);
}

/// No tiles: blocks share the reduction axis of one.
__global__ void splitLoop(const float *x, const float *w, float *y, int k) {
  __shared__ float part[64];
  float sum = 0;
  for (int i = blockIdx.x; i < k; i += gridDim.x) {
    part[threadIdx.x] = x[i];
    __syncthreads();
    sum += part[63 - threadIdx.x] * w[i * 64 + threadIdx.x];
    __syncthreads();
  }
  atomicAdd(&y[threadIdx.x], sum);
}
// SPLIT: splitLoop
// SPLIT-NOT: {{persistent_kernel[^/]}}
void splitK(const float *x, const float *w, float *y, cudaStream_t s) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  splitLoop<<<sms, 64, 0, s>>>(x, w, y, 4096);
}

// Without host code nothing is known of the launch.
// ALONE: undecided: persistent_kernel
// ALONE: the loop at static.cu:{{[0-9]+}} walks over output tiles; whether there are more tiles
