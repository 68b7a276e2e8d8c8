// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of matrix products, for references: sums in fp64, the same in
// fp32, and sums of magnitudes. Plain tiling through shared memory, 4x4 outputs
// a thread, any shape; a tile is 64x64 outputs. What is multiplied and what
// becomes of the sums is the task's:
//
//   struct Operands {
//     // Products with the same X, each with rows of W of its own.
//     static constexpr int kSums = 1;
//     // The exact operands; floats hold them without rounding.
//     __device__ float getX(int64_t row, int64_t k) const;
//     __device__ float getW(int sum, int64_t row, int64_t k) const;
//     // What the working precision multiplies by instead of an element w of W.
//     __device__ float roundW(float w) const { return w; }
//     __device__ void store(int64_t row, int64_t column,
//                           const ProductSums (&sums)[kSums]) const;
//   };
//
//   return launchProduct(operands, M, N, K, *request, stream);
//
// Where a tile is more than one product, a kernel of the task's own calls
// multiplyTile for each.

#ifndef D2K_TASK_PRODUCTREFERENCE_CUH
#define D2K_TASK_PRODUCTREFERENCE_CUH

#include "d2k/Task/Reference.h"

namespace d2k::task {

constexpr int kProductTile = 64;
constexpr int kProductDepth = 16;
constexpr int kProductThreads = 256;

/// The sum over k of X[row,k] * W[column,k].
struct ProductSums {
  double exact;
  /// In fp32, in the order of k.
  float working;
  /// Of |X| * |W|.
  float magnitude;
};

/// The sums of a thread: rows threadIdx.x / 16 + 16 i of the tile, columns
/// threadIdx.x % 16 + 16 j.
template <typename Operands>
using ProductTile = ProductSums[4][4][Operands::kSums];

/// Computes the sums of the tile from row \p row0 and column \p column0 on.
/// All threads of a block of kProductThreads call it. What is not below \p m
/// and \p n is taken for zeros.
template <typename Operands>
__device__ void multiplyTile(ProductTile<Operands> &tile,
                             const Operands &operands, int64_t row0,
                             int64_t column0, int64_t m, int64_t n, int64_t k) {
  constexpr int kSums = Operands::kSums;
  __shared__ double xd[kProductDepth][kProductTile + 1];
  __shared__ double wd[kSums][kProductDepth][kProductTile + 1];
  __shared__ float xf[kProductDepth][kProductTile + 1];
  __shared__ float wf[kSums][kProductDepth][kProductTile + 1];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  double exact[kSums][4][4] = {};
  float magnitude[kSums][4][4] = {}, working[kSums][4][4] = {};

  for (int64_t k0 = 0; k0 < k; k0 += kProductDepth) {
    for (int e = threadIdx.x; e < kProductTile * kProductDepth;
         e += kProductThreads) {
      int line = e / kProductDepth, kk = e % kProductDepth;
      bool inX = k0 + kk < k && row0 + line < m;
      bool inW = k0 + kk < k && column0 + line < n;
      float x = inX ? operands.getX(row0 + line, k0 + kk) : 0.0f;
      xf[kk][line] = x;
      xd[kk][line] = x;
      for (int sum = 0; sum < kSums; ++sum) {
        float w = inW ? operands.getW(sum, column0 + line, k0 + kk) : 0.0f;
        wf[sum][kk][line] = operands.roundW(w);
        wd[sum][kk][line] = w;
      }
    }
    __syncthreads();
    for (int kk = 0; kk < kProductDepth; ++kk)
      for (int sum = 0; sum < kSums; ++sum)
        for (int i = 0; i < 4; ++i)
          for (int j = 0; j < 4; ++j) {
            float x = xf[kk][ty + 16 * i], w = wf[sum][kk][tx + 16 * j];
            exact[sum][i][j] = fma(xd[kk][ty + 16 * i],
                                   wd[sum][kk][tx + 16 * j], exact[sum][i][j]);
            working[sum][i][j] = fmaf(x, w, working[sum][i][j]);
            magnitude[sum][i][j] =
                fmaf(fabsf(x), fabsf(w), magnitude[sum][i][j]);
          }
    __syncthreads();
  }
  for (int sum = 0; sum < kSums; ++sum)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        tile[i][j][sum] = {exact[sum][i][j], working[sum][i][j],
                           magnitude[sum][i][j]};
}

/// Where the tile of this block begins, in an output with \p n columns.
struct ProductPlace {
  int64_t row, column;
};
__device__ inline ProductPlace getProductPlace(int64_t n,
                                               const int64_t *tiles) {
  int64_t tileColumns = (n + kProductTile - 1) / kProductTile;
  int64_t tile = tiles ? tiles[blockIdx.x] : int64_t(blockIdx.x);
  return {tile / tileColumns * kProductTile, tile % tileColumns * kProductTile};
}

template <typename Operands>
__global__ void __launch_bounds__(kProductThreads)
    computeProduct(Operands operands, int64_t m, int64_t n, int64_t k,
                   const int64_t *tiles) {
  ProductPlace place = getProductPlace(n, tiles);
  ProductTile<Operands> tile;
  multiplyTile(tile, operands, place.row, place.column, m, n, k);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int64_t row = place.row + threadIdx.x / 16 + 16 * i;
      int64_t column = place.column + threadIdx.x % 16 + 16 * j;
      if (row < m && column < n)
        operands.store(row, column, tile[i][j]);
    }
}

/// How many tiles \p request asks for, of an output with \p m rows and \p n
/// columns: the blocks to launch.
inline int64_t countProductTiles(int64_t m, int64_t n,
                                 const d2k_reference_request &request) {
  return request.tiles ? request.tile_count
                       : (m + kProductTile - 1) / kProductTile *
                             ((n + kProductTile - 1) / kProductTile);
}

/// Computes the tiles of \p request, of an output with \p m rows and \p n
/// columns, from sums of \p k terms.
template <typename Operands>
int launchProduct(const Operands &operands, int64_t m, int64_t n, int64_t k,
                  const d2k_reference_request &request, cudaStream_t stream) {
  int64_t tiles = countProductTiles(m, n, request);
  if (tiles == 0)
    return cudaSuccess;
  if (tiles > INT32_MAX)
    return cudaErrorInvalidValue;
  computeProduct<<<unsigned(tiles), kProductThreads, 0, stream>>>(
      operands, m, n, k, request.tiles);
  return cudaGetLastError();
}

} // namespace d2k::task

#endif // D2K_TASK_PRODUCTREFERENCE_CUH
