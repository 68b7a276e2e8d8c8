// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of moe_grouped_gemm: the sum in fp64, the same in fp32 as the
// task allows, and the sum of magnitudes. A tile is computed once for each
// expert that has rows in it. Also draws the offsets.

#include "d2k_moe_grouped_gemm.h"

#include "d2k/Task/Draw.h"
#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

#include <cstring>

using namespace d2k;
using Bf16 = __nv_bfloat16;

constexpr int kThreads = 256;
constexpr int kMaxExperts = 1024;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// How rows are spread over the experts.
enum class Routing {
  /// Each row's expert is uniform.
  Uniform,
  /// Experts in a random order have shares of 1, 2^-1.2, 3^-1.2, ..., and the
  /// last one of that order none.
  Zipf,
  /// As Zipf, but the first and the last expert have none.
  Uneven,
  /// One expert has half of the rows, the others are uniform.
  Half,
  /// One expert has all rows; not the first one if there are more.
  One,
};

/// One block. Rows draw their experts, and are counted.
__global__ void __launch_bounds__(kThreads)
    drawOffsets(int32_t *offsets, int64_t rows, int experts, Routing routing,
                uint64_t seed) {
  using task::drawBits;
  __shared__ int counts[kMaxExperts];
  __shared__ int order[kMaxExperts];
  __shared__ double bounds[kMaxExperts];
  if (threadIdx.x == 0) {
    for (int i = 0; i < experts; ++i) {
      counts[i] = 0;
      order[i] = i;
    }
    for (int i = experts - 1; i > 0; --i) {
      int other = int(drawBits(seed, 1, uint64_t(i)) % uint64_t(i + 1));
      int held = order[i];
      order[i] = order[other];
      order[other] = held;
    }
    // bounds[i]: the share of the first i + 1 experts of the order.
    double sum = 0;
    for (int i = 0; i < experts; ++i) {
      bool isEdge = order[i] == 0 || order[i] == experts - 1;
      double share =
          routing == Routing::Uniform ? 1
          : routing == Routing::Half  ? (i == 0 ? experts - 1 : 1)
          : routing == Routing::One   ? 0
          : routing == Routing::Uneven && isEdge && experts > 2 ? 0
          : routing == Routing::Zipf && i == experts - 1 && experts > 1
              ? 0
              : pow(i + 1.0, -1.2);
      sum += share;
      bounds[i] = sum;
    }
    if (routing == Routing::One) {
      int only = experts == 1
                     ? 0
                     : 1 + int(drawBits(seed, 2, 0) % uint64_t(experts - 1));
      for (int i = 0; i < experts; ++i)
        order[i] = only;
      bounds[0] = sum = 1;
    }
    for (int i = 0; i < experts; ++i)
      bounds[i] /= sum;
  }
  __syncthreads();
  for (int64_t row = threadIdx.x; row < rows; row += kThreads) {
    double unit = task::toUnit(drawBits(seed, 0, uint64_t(row)));
    int i = 0;
    while (i < experts - 1 && unit >= bounds[i])
      ++i;
    // Rounding may have left the last bound below 1.
    while (i > 0 && bounds[i] == bounds[i - 1])
      --i;
    atomicAdd(&counts[order[i]], 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int32_t sum = 0;
    for (int e = 0; e < experts; ++e) {
      offsets[e] = sum;
      sum += counts[e];
    }
    offsets[experts] = sum;
  }
}

/// Also before a timed call: routing is new for each.
extern "C" int d2k_reference_inputs(const void *arguments,
                                    const d2k_inputs_request *request,
                                    cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_moe_grouped_gemm_args *>(arguments);
  if (args.E > kMaxExperts || args.R > INT32_MAX)
    return cudaErrorInvalidValue;
  auto isTrial = [&](const char *id) {
    return std::strcmp(request->trial, id) == 0;
  };
  auto isWorkload = [&](const char *id) {
    return std::strcmp(request->workload, id) == 0;
  };
  Routing routing = isTrial("uneven")                      ? Routing::Uneven
                    : isTrial("one_expert")                ? Routing::One
                    : isWorkload("all_rows_in_one")        ? Routing::One
                    : isWorkload("deepseek_v3_slice")      ? Routing::Zipf
                    : isWorkload("gpt_oss_gate_up_ragged") ? Routing::Half
                                                           : Routing::Uniform;
  drawOffsets<<<1, kThreads, 0, stream>>>(const_cast<int32_t *>(args.offsets),
                                          args.R, int(args.E), routing,
                                          request->seed);
  return cudaGetLastError();
}

//===----------------------------------------------------------------------===//
// Expected values
//===----------------------------------------------------------------------===//

/// One expert's rows of a tile.
struct Operands {
  static constexpr int kSums = 1;
  const Bf16 *x, *w;
  int64_t begin, end, columns;

  __device__ float getX(int64_t row, int64_t k) const {
    bool isOwn = row >= begin && row < end;
    return isOwn ? __bfloat162float(x[row * columns + k]) : 0.0f;
  }
  __device__ float getW(int, int64_t row, int64_t k) const {
    return __bfloat162float(w[row * columns + k]);
  }
  __device__ float roundW(float value) const { return value; }
};

__global__ void __launch_bounds__(task::kProductThreads)
    computeTiles(d2k_expected out, const int64_t *tiles, const Bf16 *x,
                 const Bf16 *w, const int32_t *offsets, int64_t rows,
                 int experts, int64_t n, int64_t k) {
  task::ProductPlace place = task::getProductPlace(n, tiles);
  for (int expert = 0; expert < experts; ++expert) {
    // The same for all threads.
    int64_t begin = offsets[expert], end = offsets[expert + 1];
    if (begin >= place.row + task::kProductTile || end <= place.row ||
        begin == end)
      continue;
    Operands operands = {x, w + expert * n * k, begin, end, k};
    task::ProductTile<Operands> tile;
    task::multiplyTile(tile, operands, place.row, place.column, rows, n, k);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        int64_t row = place.row + threadIdx.x / 16 + 16 * i;
        int64_t column = place.column + threadIdx.x % 16 + 16 * j;
        if (row < begin || row >= end || column >= n)
          continue;
        const task::ProductSums &sums = tile[i][j][0];
        int64_t at = row * n + column;
        out.exact[at] = sums.exact;
        out.working[at] = __bfloat162float(__float2bfloat16_rn(sums.working));
        out.magnitude[at] = sums.magnitude;
      }
  }
}

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = task::kProductTile;
  *columns = task::kProductTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_moe_grouped_gemm_args *>(arguments);
  int64_t tiles = task::countProductTiles(args.R, args.N, *request);
  if (tiles == 0)
    return cudaSuccess;
  if (tiles > INT32_MAX)
    return cudaErrorInvalidValue;
  computeTiles<<<unsigned(tiles), task::kProductThreads, 0, stream>>>(
      request->outputs[0], request->tiles, static_cast<const Bf16 *>(args.X),
      static_cast<const Bf16 *>(args.W), args.offsets, args.R, int(args.E),
      args.N, args.K);
  return cudaGetLastError();
}
