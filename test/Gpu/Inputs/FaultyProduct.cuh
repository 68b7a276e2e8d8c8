// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels with a fault in a product have in common: a block makes a tile
// of 64 x 64 sums from tiles of the operands in shared memory, so that a check
// of the real shapes ends. The faults are in what the kernels give it.

#ifndef D2K_TEST_GPU_INPUTS_FAULTYPRODUCT_CUH
#define D2K_TEST_GPU_INPUTS_FAULTYPRODUCT_CUH

#include <cuda_bf16.h>

#include <cstdint>

namespace faulty {

/// Rows and columns of the outputs of a block.
constexpr int kTile = 64;
/// Columns of the operands that are in shared memory at a time.
constexpr int kDepth = 32;
/// Rows and columns of the outputs of a thread.
constexpr int kEach = 4;
constexpr int kThreads = (kTile / kEach) * (kTile / kEach);

__device__ inline float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

/// The grid whose blocks make all tiles of \p rows x \p columns outputs.
inline dim3 getGrid(int64_t rows, int64_t columns) {
  return dim3(unsigned((columns + kTile - 1) / kTile),
              unsigned((rows + kTile - 1) / kTile));
}

/// The first of the rows, or columns, of this thread; the others follow.
__device__ inline int64_t getFirstRow() {
  return int64_t(blockIdx.y) * kTile + threadIdx.x / (kTile / kEach) * kEach;
}
__device__ inline int64_t getFirstColumn() {
  return int64_t(blockIdx.x) * kTile + threadIdx.x % (kTile / kEach) * kEach;
}

/// Columns of both operands; the second index is a row of the output's tile, or
/// a column of it. The padding spreads what is stored over the banks, and keeps
/// four rows one aligned access.
struct Operands {
  alignas(16) float x[kDepth][kTile + 4], w[kDepth][kTile + 4];
};

/// Calls \p use(operands, k) for k = 0, kDepth, ..., where the operands are the
/// columns k ... k + kDepth - 1 of both matrices. Their elements are
/// \p getX(row, k) and \p getW(column, k), and zero where there is no such row,
/// column or k. Every thread of the block has to call it.
template <typename GetX, typename GetW, typename Use>
__device__ void forAllDepths(int64_t rows, int64_t columns, int64_t depth,
                             GetX getX, GetW getW, Use use) {
  __shared__ Operands operands;
  int64_t firstRow = int64_t(blockIdx.y) * kTile;
  int64_t firstColumn = int64_t(blockIdx.x) * kTile;
  for (int64_t first = 0; first < depth; first += kDepth) {
    __syncthreads();
    for (int i = int(threadIdx.x); i < kTile * kDepth; i += kThreads) {
      int at = i / kDepth, k = i % kDepth;
      bool exists = first + k < depth;
      operands.x[k][at] = exists && firstRow + at < rows
                              ? getX(firstRow + at, first + k)
                              : 0.0f;
      operands.w[k][at] = exists && firstColumn + at < columns
                              ? getW(firstColumn + at, first + k)
                              : 0.0f;
    }
    __syncthreads();
    use(operands, first);
  }
}

/// The sums of a thread.
struct Sums {
  /// Calls \p use(i, j, product) for the products of \p count columns from
  /// \p first on, in their order.
  template <typename Use>
  __device__ static void forAllProducts(const Operands &operands, int first,
                                        int count, Use use) {
    int row = int(threadIdx.x) / (kTile / kEach) * kEach;
    int column = int(threadIdx.x) % (kTile / kEach) * kEach;
    for (int k = first; k < first + count; ++k) {
      float4 x = *reinterpret_cast<const float4 *>(&operands.x[k][row]);
      float4 w = *reinterpret_cast<const float4 *>(&operands.w[k][column]);
      const float xs[kEach] = {x.x, x.y, x.z, x.w};
      const float ws[kEach] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          use(i, j, xs[i] * ws[j]);
    }
  }

  /// Adds the products of \p count columns from \p first on.
  __device__ void add(const Operands &operands, int first, int count) {
    forAllProducts(operands, first, count,
                   [&](int i, int j, float product) { at[i][j] += product; });
  }

  __device__ void add(const Sums &others) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        at[i][j] += others.at[i][j];
  }

  /// Replaces each sum by \p change(sum).
  template <typename Change>
  __device__ void change(Change change) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        at[i][j] = change(at[i][j]);
  }

  __device__ void round() {
    change([](float sum) { return roundToBf16(sum); });
  }

  float at[kEach][kEach] = {};
};

/// Calls \p use(row, column, i, j) for all outputs of this thread.
template <typename Use>
__device__ void forAllOutputs(int64_t rows, int64_t columns, Use use) {
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (getFirstRow() + i < rows && getFirstColumn() + j < columns)
        use(getFirstRow() + i, getFirstColumn() + j, i, j);
}

} // namespace faulty

#endif // D2K_TEST_GPU_INPUTS_FAULTYPRODUCT_CUH
