// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference of the task of OracleConventionsTest.cpp, for the fake driver,
// whose device memory is host memory. Row m of Y is row idx[m] of X, top[m] the
// place of a maximum in row m of X, and C, which is in place, gets 1 added in
// the rows idx[0], idx[2], ...

#include "d2k/Task/Draw.h"
#include "d2k/Task/Reference.h"

#include <algorithm>
#include <cstring>

using namespace d2k::task;

namespace {

/// The argument structure as the generated header has it.
struct Arguments {
  int64_t M, N, world, rank;
  const void *const *X;
  const int32_t *idx;
  void *Y;
  int32_t *top;
  void *C;
};

double load(const void *data, int64_t index) {
  return decodeElement(DType::BFloat16,
                       loadElement(DType::BFloat16, data, index));
}

bool isWanted(const int64_t *tiles, int64_t count, int64_t row) {
  return !tiles || std::binary_search(tiles, tiles + count, row);
}

} // namespace

void d2k_reference_tile(int64_t *rows, int64_t *columns) {
  *rows = *columns = 0;
}

void d2k_reference_units(const void *arguments, int64_t *count,
                         int64_t *always) {
  *count = static_cast<const Arguments *>(arguments)->M;
  *always = 2;
}

int d2k_reference_inputs(const void *arguments,
                         const d2k_inputs_request *request, cudaStream_t) {
  const auto &args = *static_cast<const Arguments *>(arguments);
  if (request->perturbation || std::strcmp(request->workload, "w") != 0)
    return 0;
  auto *idx = const_cast<int32_t *>(args.idx);
  bool isReversed = std::strcmp(request->trial, "reversed") == 0;
  for (int64_t m = 0; m < args.M; ++m)
    idx[m] = int32_t(isReversed ? args.M - 1 - m : m);
  for (int64_t m = args.M - 1; m > 0 && !isReversed; --m)
    std::swap(idx[m],
              idx[drawBits(request->seed, 0, uint64_t(m)) % uint64_t(m + 1)]);
  return 0;
}

int d2k_reference(const void *arguments, const d2k_reference_request *request,
                  cudaStream_t) {
  const auto &args = *static_cast<const Arguments *>(arguments);
  for (int64_t m = 0; m < args.M; ++m)
    for (int64_t n = 0; n < args.N; ++n) {
      if (isWanted(request->tiles, request->tile_count, m))
        request->outputs[0].exact[m * args.N + n] =
            load(args.X[args.rank], args.idx[m] * args.N + n);
      // A row of C belongs to the unit that addresses it.
      int64_t row = args.idx[m];
      if (isWanted(request->tiles, request->tile_count, m))
        request->outputs[2].exact[row * args.N + n] =
            load(args.C, row * args.N + n) + (m % 2 == 0 ? 1 : 0);
    }
  return 0;
}

int d2k_reference_accept(const void *arguments,
                         const d2k_accept_request *request, cudaStream_t) {
  const auto &args = *static_cast<const Arguments *>(arguments);
  if (request->output != 1)
    return 1;
  const auto *top = static_cast<const int32_t *>(request->outputs[1]);
  for (int64_t m = 0; m < args.M; ++m) {
    if (!isWanted(request->tiles, request->tile_count, m))
      continue;
    double most = -1e30;
    int64_t first = 0;
    for (int64_t n = 0; n < args.N; ++n)
      if (double value = load(args.X[args.rank], m * args.N + n);
          value > most) {
        most = value;
        first = n;
      }
    ++request->result->compared;
    if (top[m] < 0 || top[m] >= args.N ||
        load(args.X[args.rank], m * args.N + top[m]) != most) {
      ++request->result->failed;
      request->result->first_failed = std::min(
          request->result->first_failed, static_cast<unsigned long long>(m));
    }
    if (m == request->explain) {
      request->result->expected = double(first);
      request->result->got = top[m];
    }
  }
  return 0;
}
