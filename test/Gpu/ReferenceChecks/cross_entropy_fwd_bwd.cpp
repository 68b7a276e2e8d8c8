// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cross_entropy_fwd_bwd: the loss as minus the logarithm of a probability, with
// no maximum subtracted (long double reaches e^11000), and rows alone.

#include "../ReferenceCheck.h"

#include "d2k_cross_entropy_fwd_bwd.h"

#include <algorithm>

using namespace d2k::test;

namespace {

void checkCrossEntropy(int64_t t, int64_t v, float mean, float scale,
                       const char *workload, const char *trial) {
  std::string name = "cross_entropy_fwd_bwd " + std::to_string(t) + "x" +
                     std::to_string(v) + " " + workload + " " + trial + " ";
  auto rows = size_t(t), count = size_t(t * v);
  std::vector<uint16_t> logits = makeNormal(count, 1, mean, scale);
  d2k_cross_entropy_fwd_bwd_args args = {};
  args.T = t;
  args.V = v;
  args.logits = upload(logits);
  args.target = upload(std::vector<int32_t>(rows, 12345678));
  d2k_inputs_request inputs = {};
  inputs.seed = 99;
  inputs.workload = workload;
  inputs.trial = trial;
  runReferenceInputs(&args, inputs);
  std::vector<int32_t> target = download(args.target, rows);
  int64_t valid = 0, wrong = 0;
  for (int32_t column : target) {
    valid += column != -100;
    wrong += column != -100 && (column < 0 || column >= v);
  }
  bool allIgnored = std::string(trial) == "all_ignored";
  bool half = std::string(trial) == "half_ignored";
  report(wrong == 0 && (allIgnored ? valid == 0
                        : half     ? valid > t / 4 && valid < t * 3 / 4
                                   : valid == t),
         name + "targets: " + std::to_string(valid) + " rows count, " +
             std::to_string(wrong) + " are out of range");

  std::vector<long double> loss(rows), lossSize(rows, 1), gradient(count),
      gradientSize(count, 1), magnitude(count), magnitudeSize(count, 1),
      working(count);
  for (int64_t i = 0; i < t; ++i) {
    if (target[size_t(i)] == -100)
      continue;
    long double sum = 0;
    float most = -INFINITY, narrow = 0;
    for (int64_t j = 0; j < v; ++j)
      most = std::max(most, fromBf16(logits[size_t(i * v + j)]));
    for (int64_t j = 0; j < v; ++j) {
      float logit = fromBf16(logits[size_t(i * v + j)]);
      sum += std::exp((long double)logit);
      narrow += std::exp(logit - most);
    }
    for (int64_t j = 0; j < v; ++j) {
      auto at = size_t(i * v + j);
      long double p = std::exp((long double)fromBf16(logits[at])) / sum;
      bool isRight = j == target[size_t(i)];
      if (isRight)
        loss[size_t(i)] = -std::log(p);
      gradient[at] = (p - isRight) / valid;
      magnitude[at] = (p + isRight) / valid;
      // What underflows, in fp64 or in the floats of the magnitude.
      gradientSize[at] = magnitude[at] + 1e-290L;
      magnitudeSize[at] = magnitude[at] + 1e-37L;
      float pn = std::exp(fromBf16(logits[at]) - most) / narrow;
      working[at] = roundBf16(float(1.0 / double(valid)) * (pn - isRight));
    }
    lossSize[size_t(i)] = 1 + std::fabs(loss[size_t(i)]) + std::fabs(most);
  }
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(rows);
  request.outputs[1] = makeExpected(count);
  runReference(&args, request);
  compare(name + "loss", download(request.outputs[0].exact, rows), loss,
          lossSize, 1e-15);
  compare(name + "loss working", download(request.outputs[0].working, rows),
          loss, lossSize, double(v) * 0x1p-24);
  // Absolute errors of the exponent are relative ones of p.
  double relative = 4e-16 * (1 + std::fabs(mean) + 8 * scale);
  compare(name + "dlogits", download(request.outputs[1].exact, count), gradient,
          gradientSize, relative);
  compare(name + "dlogits magnitude",
          download(request.outputs[1].magnitude, count), magnitude,
          magnitudeSize, 1e-7);
  compareRounded(name + "dlogits working",
                 download(request.outputs[1].working, count), working);

  int64_t units = 0, always = 0;
  getReferenceUnits(&args, units, always);
  report(units == t && always == std::min<int64_t>(t, 4),
         name + "units: " + std::to_string(units) + ", of which always " +
             std::to_string(always));
  std::vector<double> whole = download(request.outputs[1].exact, count);
  request.outputs[0] = makeExpected(rows);
  request.outputs[1] = makeExpected(count);
  request.tiles = upload(std::vector<int64_t>{t - 1});
  request.tile_count = 1;
  runReference(&args, request);
  std::vector<double> part = download(request.outputs[1].exact, count);
  std::vector<double> losses = download(request.outputs[0].exact, rows);
  size_t different = 0;
  for (int64_t i = 0; i < t; ++i) {
    bool isWanted = i == t - 1;
    different += std::isnan(losses[size_t(i)]) == isWanted;
    for (int64_t j = 0; j < v; ++j) {
      auto at = size_t(i * v + j);
      different += isWanted ? part[at] != whole[at] : !std::isnan(part[at]);
    }
  }
  report(different == 0, name + "the last row alone: " +
                             std::to_string(different) + " elements wrong");
}

const ReferenceCheck registered("cross_entropy_fwd_bwd", [] {
  checkCrossEntropy(1, 64, 0, 1, "llama3", "random");
  checkCrossEntropy(33, 3008, 0, 2, "llama3", "random");
  checkCrossEntropy(40, 128, -300, 4, "llama3", "half_ignored");
  checkCrossEntropy(5, 640, 0, 1000, "llama3", "large_logits");
  checkCrossEntropy(3, 64, 0, 1, "llama3", "all_ignored");
});

} // namespace
