// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allreduce_rmsnorm: all ranks on one device, exact and in working precision.

#include "../ReferenceCheck.h"

#include "d2k_allreduce_rmsnorm.h"

#include <cmath>

using namespace d2k::test;

namespace {

void checkAllreduce(int64_t ranks, int64_t t, int64_t h) {
  std::string name = "allreduce_rmsnorm " + std::to_string(ranks) + " ranks " +
                     std::to_string(t) + "x" + std::to_string(h) + " ";
  size_t count = size_t(t * h);
  std::vector<std::vector<uint16_t>> x;
  std::vector<const void *> pointers;
  for (int64_t p = 0; p < ranks; ++p) {
    x.push_back(makeNormal(count, unsigned(10 + p), 0, 1));
    pointers.push_back(upload(x.back()));
  }
  std::vector<uint16_t> res = makeNormal(count, 2, 0, 1);
  std::vector<uint16_t> w = makeNormal(size_t(h), 3, 1, 0.25f);
  float eps = 1e-5f;
  std::vector<long double> r(count), y(count), rw(count), yw(count);
  std::vector<long double> scale(count);
  for (int64_t i = 0; i < t; ++i) {
    long double squares = 0, squaresWorking = 0;
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      long double sum = 0;
      float narrow = 0;
      for (int64_t p = 0; p < ranks; ++p) {
        float value = fromBf16(x[size_t(p)][at]);
        sum += value;
        narrow += value;
        scale[at] += std::fabs(value);
      }
      scale[at] += std::fabs(fromBf16(res[at]));
      r[at] = sum + fromBf16(res[at]);
      rw[at] = roundBf16(roundBf16(narrow) + fromBf16(res[at]));
      squares += roundBf16(r[at]) * roundBf16(r[at]);
      squaresWorking += rw[at] * rw[at];
    }
    long double root = std::sqrt(squares / h + (long double)eps);
    long double rootWorking = std::sqrt(squaresWorking / h + (long double)eps);
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      y[at] = roundBf16(r[at]) / root * fromBf16(w[size_t(j)]);
      yw[at] = roundBf16(rw[at] / rootWorking * fromBf16(w[size_t(j)]));
    }
  }
  d2k_allreduce_rmsnorm_args args = {};
  args.T = t;
  args.H = h;
  args.world = ranks;
  args.x = pointers.data();
  args.res = upload(res);
  args.w = upload(w);
  args.eps = eps;
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(count);
  request.outputs[1] = makeExpected(count);
  runReference(&args, request);
  compare(name + "r", download(request.outputs[0].exact, count), r, scale,
          1e-15);
  compare(name + "r working", download(request.outputs[0].working, count), rw,
          getMagnitudes(rw), 0);
  compare(name + "y", download(request.outputs[1].exact, count), y,
          getMagnitudes(y), 1e-13);
  compareRounded(name + "y working",
                 download(request.outputs[1].working, count), yw);
}

const ReferenceCheck registered("allreduce_rmsnorm", [] {
  checkAllreduce(2, 7, 5120);
  checkAllreduce(8, 3, 8192);
});

} // namespace
