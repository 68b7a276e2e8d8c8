// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expected values of allgather_gemm for one rank: the product with the rows of
// all ranks, which this GPU can read.

#include "d2k_allgather_gemm.h"

#include "d2k/Task/ProductReference.cuh"

#include <cuda_bf16.h>

using namespace d2k;
using Bf16 = __nv_bfloat16;

constexpr int kMaxRanks = 8;

struct Operands {
  static constexpr int kSums = 1;
  const Bf16 *x[kMaxRanks];
  const Bf16 *w;
  d2k_expected out;
  int64_t rowsOfRank, n, k;

  __device__ float getX(int64_t row, int64_t column) const {
    const Bf16 *own = x[row / rowsOfRank];
    return __bfloat162float(own[row % rowsOfRank * k + column]);
  }
  __device__ float getW(int, int64_t row, int64_t column) const {
    return __bfloat162float(w[row * k + column]);
  }
  __device__ float roundW(float value) const { return value; }
  __device__ void store(int64_t row, int64_t column,
                        const task::ProductSums (&sums)[kSums]) const {
    int64_t at = row * n + column;
    out.exact[at] = sums[0].exact;
    out.working[at] = __bfloat162float(__float2bfloat16_rn(sums[0].working));
    out.magnitude[at] = sums[0].magnitude;
  }
};

extern "C" void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = task::kProductTile;
  *columns = task::kProductTile;
}

extern "C" int d2k_reference(const void *arguments,
                             const d2k_reference_request *request,
                             cudaStream_t stream) {
  const auto &args = *static_cast<const d2k_allgather_gemm_args *>(arguments);
  if (args.world > kMaxRanks)
    return cudaErrorInvalidValue;
  Operands operands = {};
  for (int64_t rank = 0; rank < args.world; ++rank)
    operands.x[rank] = static_cast<const Bf16 *>(args.X[rank]);
  operands.w = static_cast<const Bf16 *>(args.W[args.rank]);
  operands.out = request->outputs[0];
  operands.rowsOfRank = args.M / args.world;
  operands.n = args.N;
  operands.k = args.K;
  return task::launchProduct(operands, args.M, args.N, args.K, *request,
                             stream);
}
