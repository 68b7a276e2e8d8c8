// Orders in which blocks take tiles, all in one product with tiles in shared
// memory: what a type's get() says is the tile of a block.
// REQUIRES: nvcc
// RUN: d2k-analyze --no-cache --arch sm_80 --tiers ptx --facts --format json %s -o %t.json
// RUN: %python %S/../async_pipeline/Inputs/verdicts.py %t.json tile_rasterization > %t.txt
// RUN: FileCheck %s --input-file=%t.txt
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=PLAIN
// RUN: d2k-analyze --no-cache --arch sm_80 --tiers ptx --facts --kernel Grouped %s | FileCheck %s --check-prefix=TEXT
// The mutation: groups of one row of tiles are the plain order.
// RUN: d2k-analyze --no-cache --arch sm_80 --tiers ptx --facts --format json %s -o %t.one.json -- -DROWS=1
// RUN: %python %S/../async_pipeline/Inputs/verdicts.py %t.one.json tile_rasterization | FileCheck %s --check-prefix=ONE

#include <cstdint>

#ifndef ROWS
#define ROWS 8
#endif
constexpr int kTile = 16;

struct Sizes {
  int m, n, k;
  int number; // What an order may need.
  unsigned multiplier, shift;
  int *next;
};
struct Place {
  int row, column;
};

template <typename Order>
__global__ void __launch_bounds__(kTile *kTile)
    product(const float *a, const float *b, float *c, Sizes s) {
  __shared__ float x[kTile][kTile + 1], y[kTile][kTile + 1];
  int ty = threadIdx.x / kTile, tx = threadIdx.x % kTile;
  Place at = Order::get(s);
  const float *pa = a + int64_t(at.row * kTile + ty) * s.k + tx;
  const float *pb = b + int64_t(at.column * kTile + ty) * s.k + tx;
  float sum = 0;
  for (int k = 0; k < s.k; k += kTile) {
    x[ty][tx] = pa[k];
    y[ty][tx] = pb[k];
    __syncthreads();
    for (int i = 0; i < kTile; ++i)
      sum += x[ty][i] * y[tx][i];
    __syncthreads();
  }
  c[int64_t(at.row * kTile + ty) * s.n + at.column * kTile + tx] = sum;
}

/// ROWS rows of tiles together, the last group with what is left.
struct Grouped {
  static __device__ Place get(const Sizes &s) {
    int rows = s.m / kTile, columns = s.n / kTile;
    int inGroup = ROWS * columns, t = blockIdx.x;
    int first = t / inGroup * ROWS;
    int here = min(rows - first, ROWS);
    return {first + t % inGroup % here, t % inGroup / here};
  }
};

/// A grid of two dimensions, of which the first is wider by a power of two.
struct Shifted {
  static __device__ Place get(const Sizes &) {
    return {int(blockIdx.x >> 2), int(blockIdx.y << 2 | (blockIdx.x & 3))};
  }
};

/// Bits of the row and the column take turns.
struct Interleaved {
  static __device__ int gather(unsigned x) {
    x &= 0x55555555;
    x = (x | x >> 1) & 0x33333333;
    x = (x | x >> 2) & 0x0f0f0f0f;
    x = (x | x >> 4) & 0x00ff00ff;
    return int((x | x >> 8) & 0xffff);
  }
  static __device__ Place get(const Sizes &) {
    return {gather(blockIdx.x >> 1), gather(blockIdx.x)};
  }
};

struct Plain {
  static __device__ Place get(const Sizes &s) {
    int columns = s.n / kTile, t = blockIdx.x;
    return {t / columns, t % columns};
  }
};

/// The plain order of a matrix that is 8 tiles wide: 64 blocks take 8 x 8
/// tiles, and there is no other group to go to.
struct Narrow {
  static __device__ Place get(const Sizes &) {
    return {int(blockIdx.x) / 8, int(blockIdx.x) % 8};
  }
};

/// The same for many matrices, each of 64 x 8 tiles.
struct Batched {
  static __device__ Place get(const Sizes &) {
    int matrix = blockIdx.x / 512, t = blockIdx.x % 512;
    return {matrix * 64 + t / 8, matrix * 8 + t % 8};
  }
};

/// A group is worked out, and its first row is all that is used of it.
struct Unused {
  static __device__ Place get(const Sizes &s) {
    int columns = s.n / kTile, t = blockIdx.x;
    int first = t / (8 * columns) * 8;
    return {first + (t - first * columns) / columns, t % columns};
  }
};

struct AsAsked {
  static __device__ Place get(const Sizes &s) {
    int columns = s.n / kTile, inGroup = s.number * columns, t = blockIdx.x;
    return {t / inGroup * s.number + t % inGroup % s.number,
            t % inGroup / s.number};
  }
};

/// Division by a number that the host has prepared.
struct Prepared {
  static __device__ Place get(const Sizes &s) {
    int t = blockIdx.x;
    int row = int(__umulhi(unsigned(t), s.multiplier) >> s.shift);
    return {row, t - row * s.number};
  }
};

/// Tiles in the order in which blocks come.
struct Taken {
  static __device__ Place get(const Sizes &s) {
    __shared__ int next;
    if (threadIdx.x == 0)
      next = atomicAdd(s.next, 1);
    __syncthreads();
    int t = next;
    return {t / 16 * 8 + t % 8, t / 8 % 2};
  }
};

template __global__ void product<Grouped>(const float *, const float *, float *, Sizes);
template __global__ void product<Shifted>(const float *, const float *, float *, Sizes);
template __global__ void product<Interleaved>(const float *, const float *, float *, Sizes);
template __global__ void product<Plain>(const float *, const float *, float *, Sizes);
template __global__ void product<Narrow>(const float *, const float *, float *, Sizes);
template __global__ void product<Batched>(const float *, const float *, float *, Sizes);
template __global__ void product<Unused>(const float *, const float *, float *, Sizes);
template __global__ void product<AsAsked>(const float *, const float *, float *, Sizes);
template __global__ void product<Prepared>(const float *, const float *, float *, Sizes);
template __global__ void product<Taken>(const float *, const float *, float *, Sizes);

// In the order of the mangled names.
// CHECK-LABEL: Interleaved
// CHECK-NEXT: {{^}}  tile_rasterization group 8
// CHECK-LABEL: 5Plain
// CHECK-NEXT: 5Taken
// CHECK-NEXT: undecided tile_rasterization {{.*}} goes through memory
// CHECK-NEXT: 6Narrow
// CHECK-NEXT: 6Unused
// CHECK-NEXT: 7AsAsked
// CHECK-NEXT: undecided tile_rasterization {{.*}} the parameter read at orders.cu:{{[0-9]+}} says how
// CHECK-NEXT: 7Batched
// CHECK-NEXT: 7Grouped
// CHECK-NEXT: {{^}}  tile_rasterization group 8
// CHECK-NEXT: 7Shifted
// CHECK-NEXT: {{^}}  tile_rasterization group 4
// CHECK-NEXT: 8Prepared
// CHECK-NEXT: undecided tile_rasterization {{.*}} by numbers that the host prepares
// PLAIN: 7Batched
// PLAIN-NOT: tile_rasterization
// PLAIN: 7Grouped
// TEXT: tile_rasterization (group 8), ptx
// ONE: 7Grouped
// ONE-NOT: tile_rasterization
// ONE: 7Shifted
