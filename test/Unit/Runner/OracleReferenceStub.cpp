// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference of the task of OracleWorkloadTest.cpp, for the fake driver,
// whose device memory is host memory: Y = sum over ranks of 2 * X, plus B.

#include "d2k/Task/Numbers.h"
#include "d2k/Task/Reference.h"

#include <algorithm>

using namespace d2k::task;

namespace {

/// The argument structure of a task with ranks, as the generated header has it.
struct Arguments {
  int64_t M, N, world, rank;
  const void *const *X;
  const void *B;
  void *Y;
};

constexpr int64_t kTile = 4;

} // namespace

void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = kTile;
}

int d2k_reference(const void *arguments, const d2k_reference_request *request,
                  cudaStream_t) {
  const auto &args = *static_cast<const Arguments *>(arguments);
  int64_t across = (args.N + kTile - 1) / kTile;
  const d2k_expected &out = request->outputs[0];
  for (int64_t i = 0; i < args.M * args.N; ++i) {
    int64_t tile = i / args.N / kTile * across + i % args.N / kTile;
    if (request->tiles &&
        !std::binary_search(request->tiles,
                            request->tiles + request->tile_count, tile))
      continue;
    double b =
        decodeElement(DType::BFloat16, loadElement(DType::BFloat16, args.B, i));
    double sum = b, magnitude = std::fabs(b);
    for (int64_t rank = 0; rank < args.world; ++rank) {
      double x = decodeElement(DType::BFloat16,
                               loadElement(DType::BFloat16, args.X[rank], i));
      sum += 2 * x;
      magnitude += std::fabs(2 * x);
    }
    out.exact[i] = sum;
    out.magnitude[i] = float(magnitude);
    out.working[i] =
        decodeElement(DType::BFloat16, encodeElement(DType::BFloat16, sum));
  }
  return 0;
}
