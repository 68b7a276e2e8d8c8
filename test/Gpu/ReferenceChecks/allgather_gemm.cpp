// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allgather_gemm: all ranks on one device, what the last one gets.

#include "../ReferenceCheck.h"

#include "d2k_allgather_gemm.h"

#include <cmath>

using namespace d2k::test;

namespace {

/// \p rows are those of one rank.
void checkAllgather(int64_t ranks, int64_t rows, int64_t n, int64_t k) {
  int64_t m = ranks * rows, rank = ranks - 1;
  std::string name = "allgather_gemm " + std::to_string(ranks) +
                     " ranks M=" + std::to_string(m) +
                     " N=" + std::to_string(n) + " K=" + std::to_string(k) +
                     " ";
  std::vector<std::vector<uint16_t>> x, w;
  std::vector<const void *> pointersX, pointersW;
  for (int64_t p = 0; p < ranks; ++p) {
    x.push_back(makeNormal(size_t(rows * k), unsigned(10 + p), 0, 1));
    w.push_back(makeNormal(size_t(n * k), unsigned(20 + p), 0, 0.1f));
    pointersX.push_back(upload(x.back()));
    pointersW.push_back(upload(w.back()));
  }
  std::vector<long double> exact, magnitude, working;
  for (const std::vector<uint16_t> &part : x)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) {
        long double sum = 0, size = 0;
        float narrow = 0;
        for (int64_t l = 0; l < k; ++l) {
          float a = fromBf16(part[size_t(i * k + l)]);
          float b = fromBf16(w[size_t(rank)][size_t(j * k + l)]);
          sum += (long double)a * b;
          size += std::fabs((long double)a * b);
          narrow += a * b;
        }
        exact.push_back(sum);
        magnitude.push_back(size);
        working.push_back(roundBf16(narrow));
      }
  size_t count = size_t(m * n);
  d2k_allgather_gemm_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.world = ranks;
  args.rank = rank;
  args.X = pointersX.data();
  args.W = pointersW.data();
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  // Relative to S: an fp64 sum of k terms errs by less than k * 2^-53.
  compare(name + "exact", download(out.exact, count), exact, magnitude,
          double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);
}

const ReferenceCheck registered("allgather_gemm", [] {
  checkAllgather(2, 37, 64, 256);
  checkAllgather(8, 5, 192, 128);
});

} // namespace
