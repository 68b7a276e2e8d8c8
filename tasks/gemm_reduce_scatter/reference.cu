// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of gemm_reduce_scatter for one rank: its rows of the product
// of every rank, whose inputs this GPU can read, summed in fp64 and in the
// working precision.

#include "d2k_gemm_reduce_scatter.h"

#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

using namespace d2k;
using Bf16 = __nv_bfloat16;

constexpr int kMaxRanks = 8;
/// What a rank's product counts in S, in terms of 64 * 2^-23: 2^-6 of it.
constexpr float kProductWeight = 2048;

/// The product of one rank.
struct Operands {
  static constexpr int kSums = 1;
  const Bf16 *x, *w;
  int64_t k;

  __device__ float getX(int64_t row, int64_t column) const {
    return __bfloat162float(x[row * k + column]);
  }
  __device__ float getW(int, int64_t row, int64_t column) const {
    return __bfloat162float(w[row * k + column]);
  }
  __device__ float roundW(float value) const { return value; }
};

struct Ranks {
  Operands operands[kMaxRanks];
  int count;
};

__device__ float roundToBf16(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__global__ void __launch_bounds__(task::kProductThreads)
    computeTiles(d2k_expected out, const int64_t *tiles, Ranks ranks,
                 int64_t rows, int64_t n, int64_t k) {
  task::ProductPlace place = task::getProductPlace(n, tiles);
  // exact and magnitude of the output, and the working precision's sum.
  task::ProductSums sums[4][4] = {};
  for (int rank = 0; rank < ranks.count; ++rank) {
    task::ProductTile<Operands> tile;
    task::multiplyTile(tile, ranks.operands[rank], place.row, place.column,
                       rows, n, k);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        const task::ProductSums &own = tile[i][j][0];
        sums[i][j].exact += own.exact;
        sums[i][j].working += roundToBf16(own.working);
        sums[i][j].magnitude +=
            own.magnitude + kProductWeight * fabsf(float(own.exact));
      }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int64_t row = place.row + threadIdx.x / 16 + 16 * i;
      int64_t column = place.column + threadIdx.x % 16 + 16 * j;
      if (row >= rows || column >= n)
        continue;
      int64_t at = row * n + column;
      out.exact[at] = sums[i][j].exact;
      out.working[at] = roundToBf16(sums[i][j].working);
      out.magnitude[at] = sums[i][j].magnitude;
    }
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = task::kProductTile;
  *columns = task::kProductTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args =
      *static_cast<const d2k_gemm_reduce_scatter_args *>(arguments);
  int64_t rows = args.M / args.world;
  int64_t tiles = task::countProductTiles(rows, args.N, *request);
  if (tiles == 0)
    return cudaSuccess;
  if (args.world > kMaxRanks || tiles > INT32_MAX)
    return cudaErrorInvalidValue;
  Ranks ranks = {};
  ranks.count = int(args.world);
  for (int64_t rank = 0; rank < args.world; ++rank)
    ranks.operands[rank] = {static_cast<const Bf16 *>(args.X[rank]) +
                                args.rank * rows * args.K,
                            static_cast<const Bf16 *>(args.W[rank]), args.K};
  computeTiles<<<unsigned(tiles), task::kProductThreads, 0, stream>>>(
      request->outputs[0], request->tiles, ranks, rows, args.N, args.K);
  return cudaGetLastError();
}
