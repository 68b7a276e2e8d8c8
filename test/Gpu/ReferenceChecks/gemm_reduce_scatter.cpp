// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_reduce_scatter: all ranks on one device, what the last one gets.

#include "../ReferenceCheck.h"

#include "d2k_gemm_reduce_scatter.h"

#include <cmath>

using namespace d2k::test;

namespace {

/// \p rows are those that one rank gets.
void checkReduceScatter(int64_t ranks, int64_t rows, int64_t n, int64_t k) {
  int64_t m = ranks * rows, rank = ranks - 1;
  std::string name = "gemm_reduce_scatter " + std::to_string(ranks) +
                     " ranks M=" + std::to_string(m) +
                     " N=" + std::to_string(n) + " K=" + std::to_string(k) +
                     " ";
  std::vector<std::vector<uint16_t>> x, w;
  std::vector<const void *> pointersX, pointersW;
  for (int64_t p = 0; p < ranks; ++p) {
    x.push_back(makeNormal(size_t(m * k), unsigned(10 + p), 0, 1));
    w.push_back(makeNormal(size_t(n * k), unsigned(20 + p), 0, 0.1f));
    pointersX.push_back(upload(x.back()));
    pointersW.push_back(upload(w.back()));
  }
  std::vector<long double> exact, scale, magnitude, working;
  for (int64_t i = rank * rows; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double total = 0, size = 0, products = 0;
      float rounded = 0;
      for (size_t p = 0; p < size_t(ranks); ++p) {
        long double sum = 0;
        float narrow = 0;
        for (int64_t l = 0; l < k; ++l) {
          float a = fromBf16(x[p][size_t(i * k + l)]);
          float b = fromBf16(w[p][size_t(j * k + l)]);
          sum += (long double)a * b;
          size += std::fabs((long double)a * b);
          narrow += a * b;
        }
        total += sum;
        products += std::fabs(sum);
        rounded += float(roundBf16(narrow));
      }
      exact.push_back(total);
      scale.push_back(size);
      // 2^-6 of the products, in units of 64 * 2^-23.
      magnitude.push_back(size + products * 0x1p-6L / (64 * 0x1p-23L));
      working.push_back(roundBf16(rounded));
    }
  size_t count = size_t(rows * n);
  d2k_gemm_reduce_scatter_args args = {};
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
  compare(name + "exact", download(out.exact, count), exact, scale,
          double(ranks * k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);
}

const ReferenceCheck registered("gemm_reduce_scatter", [] {
  checkReduceScatter(2, 37, 64, 256);
  checkReduceScatter(8, 3, 192, 128);
});

} // namespace
