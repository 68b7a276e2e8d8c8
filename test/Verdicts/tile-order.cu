// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order in which blocks take the tiles of a product.
//
// VERDICTS arch=sm_90a entry=run read=ptx

#include <cuda_runtime.h>

#define ARGS const float *a, const float *b, float *c, int n, int k

// One tile of 16 x 16: row `m`, column `q`, both in tiles.
__device__ __forceinline__ void makeTile(ARGS, int m, int q) {
  __shared__ float A[16][17], B[16][17];
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

// EXPECT byGrid: tile_rasterization absent: a grid of two dimensions, as it is
__global__ void __launch_bounds__(256) byGrid(ARGS) {
  makeTile(a, b, c, n, k, blockIdx.y, blockIdx.x);
}

// EXPECT turned: tile_rasterization absent: rows and columns are exchanged, without groups
__global__ void __launch_bounds__(256) turned(ARGS) {
  makeTile(a, b, c, n, k, blockIdx.x, blockIdx.y);
}

// EXPECT byRows: tile_rasterization absent: tile after tile along a row
__global__ void __launch_bounds__(256) byRows(ARGS) {
  int columns = n / 16;
  makeTile(a, b, c, n, k, blockIdx.x / columns, blockIdx.x % columns);
}

// EXPECT byColumns: tile_rasterization absent: tile after tile along a column
__global__ void __launch_bounds__(256) byColumns(ARGS) {
  int rows = gridDim.x / (n / 16);
  makeTile(a, b, c, n, k, blockIdx.x % rows, blockIdx.x / rows);
}

// EXPECT grouped: tile_rasterization present group=8: eight rows of tiles, column after column
__global__ void __launch_bounds__(256) grouped(ARGS, int rows) {
  int columns = n / 16, band = blockIdx.x / (8 * columns), first = band * 8;
  int high = min(rows - first, 8), at = blockIdx.x % (8 * columns);
  makeTile(a, b, c, n, k, first + at % high, at / high);
}

// EXPECT groupedEvenly: tile_rasterization present group=4: four rows of tiles, without a rest
__global__ void __launch_bounds__(256) groupedEvenly(ARGS) {
  int columns = n / 16, band = blockIdx.x / (4 * columns), at = blockIdx.x % (4 * columns);
  makeTile(a, b, c, n, k, band * 4 + at % 4, at / 4);
}

// EXPECT groupOfOne: tile_rasterization absent: bands of one row are rows
__global__ void __launch_bounds__(256) groupOfOne(ARGS, int rows) {
  int columns = n / 16, band = blockIdx.x / columns, high = min(rows - band, 1),
      at = blockIdx.x % columns;
  makeTile(a, b, c, n, k, band + at % high, at / high);
}

// EXPECT shifted: tile_rasterization present group=4:
//   two bits of x choose the row within a band of four
__global__ void __launch_bounds__(256) shifted(ARGS) {
  makeTile(a, b, c, n, k, (blockIdx.y << 2) + (blockIdx.x & 3), blockIdx.x >> 2);
}

// EXPECT allRows: tile_rasterization absent: one band holds all rows, that is column after column
__global__ void __launch_bounds__(256) allRows(ARGS, int rows) {
  int columns = n / 16, band = blockIdx.x / (128 * columns), first = band * 128;
  int high = min(rows - first, 128), at = blockIdx.x % (128 * columns);
  makeTile(a, b, c, n, k, first + at % high, at / high);
}

// EXPECT notUsed: tile_rasterization absent: the grouped place decides about a trap only
__global__ void __launch_bounds__(256) notUsed(ARGS) {
  int columns = n / 16, at = blockIdx.x % (4 * columns),
      m = blockIdx.x / (4 * columns) * 4 + at % 4;
  if (m > 1 << 20)
    __trap();
  makeTile(a, b, c, n, k, blockIdx.x / columns, blockIdx.x % columns);
}

// EXPECT batched: tile_rasterization absent: the third part of the number is the batch
__global__ void __launch_bounds__(256) batched(ARGS) {
  int columns = n / 16, tiles = columns * columns, batch = blockIdx.x / tiles,
      at = blockIdx.x % tiles;
  size_t part = (size_t)batch * n * n;
  makeTile(a + part, b + part, c + part, n, k, at / columns, at % columns);
}

// EXPECT elementwise: tile_rasterization absent:
//   no product, though the number of the block is split
// EXPECT elementwise: tile_shape absent: no product
__global__ void __launch_bounds__(256) elementwise(const float *a, float *c, int n) {
  int columns = n / 16, at = blockIdx.x % (4 * columns);
  int m = blockIdx.x / (4 * columns) * 4 + at % 4, q = at / 4;
  size_t i = (size_t)(m * 16 + threadIdx.x / 16) * n + q * 16 + threadIdx.x % 16;
  c[i] = a[i] * 2.f;
}

// EXPECT persistentGroups: tile_rasterization present group=8:
//   the loop's tiles in bands of eight rows
// EXPECT persistentGroups: persistent_kernel present scheduler=static: 132 blocks, 16384 tiles
__global__ void __launch_bounds__(256) persistentGroups(ARGS, int rows) {
  int columns = n / 16;
  for (int t = blockIdx.x; t < rows * columns; t += gridDim.x) {
    int first = t / (8 * columns) * 8, high = min(rows - first, 8), at = t % (8 * columns);
    makeTile(a, b, c, n, k, first + at % high, at / high);
  }
}

// EXPECT persistentRows: tile_rasterization absent: the loop's tiles along rows
__global__ void __launch_bounds__(256) persistentRows(ARGS, int rows) {
  int columns = n / 16;
  for (int t = blockIdx.x; t < rows * columns; t += gridDim.x)
    makeTile(a, b, c, n, k, t / columns, t % columns);
}

void run(float *a, float *b, float **o, cudaStream_t s) {
  byGrid<<<dim3(128, 128), 256, 0, s>>>(a, b, o[0], 2048, 2048);
  turned<<<dim3(128, 128), 256, 0, s>>>(a, b, o[1], 2048, 2048);
  byRows<<<16384, 256, 0, s>>>(a, b, o[2], 2048, 2048);
  byColumns<<<16384, 256, 0, s>>>(a, b, o[3], 2048, 2048);
  grouped<<<16384, 256, 0, s>>>(a, b, o[4], 2048, 2048, 128);
  groupedEvenly<<<16384, 256, 0, s>>>(a, b, o[5], 2048, 2048);
  groupOfOne<<<16384, 256, 0, s>>>(a, b, o[6], 2048, 2048, 128);
  shifted<<<dim3(512, 32), 256, 0, s>>>(a, b, o[7], 2048, 2048);
  allRows<<<16384, 256, 0, s>>>(a, b, o[8], 2048, 2048, 128);
  notUsed<<<16384, 256, 0, s>>>(a, b, o[9], 2048, 2048);
  batched<<<4 * 1024, 256, 0, s>>>(a, b, o[10], 512, 512);
  elementwise<<<16384, 256, 0, s>>>(a, o[11], 2048);
  persistentGroups<<<132, 256, 0, s>>>(a, b, o[12], 2048, 2048, 128);
  persistentRows<<<132, 256, 0, s>>>(a, b, o[13], 2048, 2048, 128);
}
