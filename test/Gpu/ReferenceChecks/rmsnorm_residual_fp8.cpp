// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rmsnorm_residual_fp8: r, n and the ratio of which the scale is taken.

#include "../ReferenceCheck.h"

#include "d2k_rmsnorm_residual_fp8.h"

#include <algorithm>
#include <cmath>

using namespace d2k::test;

namespace {

void checkRmsnorm(int64_t t, int64_t h, float scale) {
  std::string name = "rmsnorm_residual_fp8 " + std::to_string(t) + "x" +
                     std::to_string(h) + " ";
  size_t count = size_t(t * h);
  int64_t groups = (h + 127) / 128;
  std::vector<uint16_t> x = makeNormal(count, 1, 0, scale);
  std::vector<uint16_t> res = makeNormal(count, 2, 0, scale);
  std::vector<uint16_t> w = makeNormal(size_t(h), 3, 1, 0.25f);
  // The last token is zeros.
  for (int64_t i = 0; i < h; ++i)
    x[size_t((t - 1) * h + i)] = res[size_t((t - 1) * h + i)] = 0;
  float eps = 1e-5f;
  std::vector<long double> r(count), norm(count), ratio(size_t(groups * t));
  for (int64_t i = 0; i < t; ++i) {
    long double squares = 0;
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      r[at] = roundBf16((long double)fromBf16(x[at]) + fromBf16(res[at]));
      squares += r[at] * r[at];
    }
    long double root = std::sqrt(squares / h + (long double)eps);
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      norm[at] = r[at] / root * fromBf16(w[size_t(j)]);
      long double &largest = ratio[size_t(j / 128 * t + i)];
      largest = std::max(largest, std::fabs(norm[at]));
    }
  }
  for (long double &value : ratio)
    value = std::max(value, 1e-10L) / 448;
  d2k_rmsnorm_residual_fp8_args args = {};
  args.T = t;
  args.H = h;
  args.x = upload(x);
  args.res = upload(res);
  args.w = upload(w);
  args.eps = eps;
  d2k_reference_request request = {};
  request.outputs[0].exact = makeOutput<double>(count);
  request.outputs[1].exact = makeOutput<double>(count);
  request.outputs[2].exact = makeOutput<double>(size_t(groups * t));
  runReference(&args, request);
  compare(name + "r", download(request.outputs[0].exact, count), r,
          getMagnitudes(r), 0);
  compare(name + "n", download(request.outputs[1].exact, count), norm,
          getMagnitudes(norm), 1e-13);
  compare(name + "amax/448",
          download(request.outputs[2].exact, size_t(groups * t)), ratio, ratio,
          1e-13);
}

const ReferenceCheck registered("rmsnorm_residual_fp8", [] {
  checkRmsnorm(1, 64, 1);
  checkRmsnorm(33, 2880, 1);
  checkRmsnorm(5, 7168, 1e4f);
});

} // namespace
