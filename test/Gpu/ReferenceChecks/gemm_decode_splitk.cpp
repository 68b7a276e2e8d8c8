// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_decode_splitk: three loops.

#include "../ReferenceCheck.h"

#include "d2k_gemm_decode_splitk.h"

#include <cmath>

using namespace d2k::test;

namespace {

void checkDecode(int64_t m, int64_t n, int64_t k) {
  std::string name = "gemm_decode_splitk " + std::to_string(m) + "x" +
                     std::to_string(n) + "x" + std::to_string(k) + " ";
  std::vector<uint16_t> x = makeNormal(size_t(m * k), 1, 0, 1);
  std::vector<uint16_t> w = makeNormal(size_t(n * k), 2, 0, 0.1f);
  std::vector<long double> exact, magnitude, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      long double sum = 0, size = 0;
      float narrow = 0;
      for (int64_t l = 0; l < k; ++l) {
        float a = fromBf16(x[size_t(i * k + l)]);
        float b = fromBf16(w[size_t(j * k + l)]);
        sum += (long double)a * b;
        size += std::fabs((long double)a * b);
        narrow += a * b;
      }
      exact.push_back(sum);
      magnitude.push_back(size);
      working.push_back(roundBf16(narrow));
    }
  size_t count = size_t(m * n);
  d2k_gemm_decode_splitk_args args = {};
  args.M = m;
  args.N = n;
  args.K = k;
  args.X = upload(x);
  args.W = upload(w);
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

const ReferenceCheck registered("gemm_decode_splitk", [] {
  checkDecode(1, 64, 64);
  checkDecode(7, 576, 1024);
  checkDecode(64, 128, 4096);
});

} // namespace
