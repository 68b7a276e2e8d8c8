// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// layernorm_backward: the gradient is checked twice, by the formula and by what
// a gradient is: the slope of sum(dy * layernorm(x)) in each direction.

#include "../ReferenceCheck.h"

#include "d2k_layernorm_backward.h"

using namespace d2k::test;

namespace {

void checkLayernorm(int64_t t, int64_t h, float mean, const char *trial) {
  std::string name = "layernorm_backward " + std::to_string(t) + "x" +
                     std::to_string(h) + " " + trial + " ";
  auto count = size_t(t * h);
  std::vector<uint16_t> dy = makeNormal(count, 1, 0, 1);
  std::vector<uint16_t> x = makeNormal(count, 2, mean, 1);
  std::vector<uint16_t> w = makeNormal(size_t(h), 3, 1, 0.25f);
  d2k_layernorm_backward_args args = {};
  args.T = t;
  args.H = h;
  args.dy = upload(dy);
  args.x = upload(x);
  args.w = upload(w);
  args.mean = makeOutput<float>(size_t(t));
  args.rstd = makeOutput<float>(size_t(t));
  d2k_inputs_request inputs = {};
  inputs.workload = "none";
  inputs.trial = trial;
  runReferenceInputs(&args, inputs);
  std::vector<float> center = download(args.mean, size_t(t));
  std::vector<float> rstd = download(args.rstd, size_t(t));

  // In the trial of small integers they are given.
  bool isGiven = std::string(trial) == "small_integers";
  std::vector<long double> trueMean, trueRstd;
  for (int64_t i = 0; i < t; ++i) {
    long double sum = 0, squares = 0;
    for (int64_t j = 0; j < h; ++j)
      sum += fromBf16(x[size_t(i * h + j)]);
    for (int64_t j = 0; j < h; ++j) {
      long double distance = fromBf16(x[size_t(i * h + j)]) - sum / h;
      squares += distance * distance;
    }
    trueMean.push_back(isGiven ? 1 : sum / h);
    trueRstd.push_back(isGiven ? 0.5L : 1 / std::sqrt(squares / h + 1e-5L));
  }
  // A mean near zero is as exact as the elements are large.
  compare(name + "mean", center, trueMean,
          std::vector<long double>(size_t(t), 1 + std::fabs(mean)), 0x1p-24);
  compare(name + "rstd", rstd, trueRstd, trueRstd, 0x1p-23);

  std::vector<long double> dx(count), scale(count), working(count);
  auto columns = size_t(h);
  std::vector<long double> dw(columns), db(columns), sw(columns), sb(columns);
  for (int64_t i = 0; i < t; ++i) {
    long double m = center[size_t(i)], r = rstd[size_t(i)];
    long double sumG = 0, sumGn = 0;
    float narrowG = 0, narrowGn = 0;
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      long double gradient = fromBf16(dy[at]);
      long double g = gradient * fromBf16(w[size_t(j)]);
      long double n = (fromBf16(x[at]) - m) * r;
      sumG += g;
      sumGn += g * n;
      narrowG += float(g);
      narrowGn += float(g) * ((fromBf16(x[at]) - float(m)) * float(r));
      dw[size_t(j)] += gradient * n;
      db[size_t(j)] += gradient;
      sw[size_t(j)] += std::fabs(gradient * n);
      sb[size_t(j)] += std::fabs(gradient);
    }
    for (int64_t j = 0; j < h; ++j) {
      size_t at = size_t(i * h + j);
      long double g = (long double)fromBf16(dy[at]) * fromBf16(w[size_t(j)]);
      long double n = (fromBf16(x[at]) - m) * r;
      dx[at] = r * (g - sumG / h - n * sumGn / h);
      scale[at] = std::fabs(r) * (1 + std::fabs(g));
      float nf = (fromBf16(x[at]) - float(m)) * float(r);
      working[at] = roundBf16(float(r) * (float(g) - narrowG / float(h) -
                                          nf * (narrowGn / float(h))));
    }
  }
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(count);
  request.outputs[1] = makeExpected(size_t(h));
  request.outputs[2] = makeExpected(size_t(h));
  runReference(&args, request);
  auto column = [&](int output) { return request.outputs[output]; };
  compare(name + "dx", download(column(0).exact, count), dx, scale, 1e-14);
  compareRounded(name + "dx working", download(column(0).working, count),
                 working);
  double order = double(t) * 0x1p-53, narrow = double(t + 2) * 0x1p-24;
  compare(name + "dw", download(column(1).exact, columns), dw, sw, order);
  compare(name + "dw working", download(column(1).working, columns), dw, sw,
          narrow);
  compare(name + "dw magnitude", download(column(1).magnitude, columns), sw, sw,
          narrow);
  compare(name + "db", download(column(2).exact, columns), db, sb, order);
  compare(name + "db working", download(column(2).working, columns), db, sb,
          narrow);
  compare(name + "db magnitude", download(column(2).magnitude, columns), sb, sb,
          narrow);
  if (isGiven)
    return;

  // The slope of L(x) = sum_j dy_j * w_j * n_j(x) along a few elements of the
  // first row, by central differences in long double.
  auto getLoss = [&](int64_t moved, long double distance) {
    long double sum = 0, squares = 0, loss = 0;
    std::vector<long double> row;
    for (int64_t j = 0; j < h; ++j)
      row.push_back(fromBf16(x[size_t(j)]) + (j == moved ? distance : 0));
    for (long double value : row)
      sum += value;
    for (long double value : row)
      squares += (value - sum / h) * (value - sum / h);
    long double factor = 1 / std::sqrt(squares / h + 1e-5L);
    for (int64_t j = 0; j < h; ++j)
      loss += fromBf16(dy[size_t(j)]) * fromBf16(w[size_t(j)]) *
              (row[size_t(j)] - sum / h) * factor;
    return loss;
  };
  std::vector<double> got;
  std::vector<long double> slopes, sizes;
  std::vector<double> exact = download(column(0).exact, count);
  for (int64_t j = 0; j < h; j += h / 5) {
    constexpr long double kStep = 1e-4L;
    slopes.push_back((getLoss(j, kStep) - getLoss(j, -kStep)) / (2 * kStep));
    got.push_back(exact[size_t(j)]);
    sizes.push_back(1 + std::fabs(slopes.back()));
  }
  // mean and rstd are rounded to fp32, and variance + eps is not variance.
  compare(name + "slope", got, slopes, sizes, 2e-5);
}

const ReferenceCheck registered("layernorm_backward", [] {
  checkLayernorm(1, 64, 0, "random");
  checkLayernorm(33, 1600, 0, "random");
  checkLayernorm(5, 6144, 16, "random");
  checkLayernorm(130, 128, 0, "small_integers");
});

} // namespace
