// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// topk_topp_sampling: the order by a sort, sums in long double. Every column of
// a row is asked for in turn, and exactly those may be accepted whose interval
// has u in it.

#include "../ReferenceCheck.h"

#include "d2k_topk_topp_sampling.h"

#include <algorithm>
#include <random>

using namespace d2k::test;

namespace {

/// What is sampled from one row: N in the order of columns, and the sums of p
/// up to each of them, as shares.
struct Nucleus {
  std::vector<int> columns;
  std::vector<long double> shares;
  /// How near top_p is to a sum at which N would end elsewhere.
  long double margin = 1;
};

Nucleus findNucleus(const float *logits, int v, float temperature, float topP,
                    int k) {
  std::vector<int> order =
      getStableOrder(v, [&](int a, int b) { return logits[a] > logits[b]; });
  if (k > 0 && k < v)
    order.resize(size_t(k));
  auto getWeight = [&](int column) {
    return std::exp(((long double)logits[column] - logits[order[0]]) /
                    temperature);
  };
  long double whole = 0, sum = 0;
  for (int column : order)
    whole += getWeight(column);
  Nucleus nucleus;
  for (int column : order) {
    nucleus.columns.push_back(column);
    sum += getWeight(column);
    nucleus.margin =
        std::min(nucleus.margin, std::fabs(sum / whole - (long double)topP));
    if (sum >= topP * whole)
      break;
  }
  std::sort(nucleus.columns.begin(), nucleus.columns.end());
  long double mass = sum;
  sum = 0;
  for (int column : nucleus.columns)
    nucleus.shares.push_back((sum += getWeight(column)) / mass);
  return nucleus;
}

void checkSampling(int v, float scale, float temperature, float topP, int k,
                   bool isInteger) {
  char text[120];
  std::snprintf(text, sizeof(text),
                "topk_topp_sampling %d columns, t %g, p %g, k %d%s ", v,
                temperature, topP, k, isInteger ? ", ties" : "");
  std::string name = text;
  constexpr int kRows = 8;
  std::mt19937 generator(unsigned(v) + unsigned(k));
  std::normal_distribution<float> normal(0, scale);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> logits, us;
  for (int i = 0; i < kRows * v; ++i)
    logits.push_back(isInteger ? std::round(normal(generator))
                               : normal(generator));
  for (int i = 0; i < kRows; ++i)
    us.push_back(i == 0 ? 0 : uniform(generator));
  d2k_topk_topp_sampling_args args = {};
  args.B = kRows;
  args.V = v;
  args.logits = upload(logits);
  args.temperature = upload(std::vector<float>(kRows, temperature));
  args.top_p = upload(std::vector<float>(kRows, topP));
  args.u = upload(us);
  args.top_k = upload(std::vector<int32_t>(kRows, k));

  std::vector<Nucleus> rows;
  for (int row = 0; row < kRows; ++row)
    rows.push_back(
        findNucleus(&logits[size_t(row * v)], v, temperature, topP, k));
  // Whether the reference accepts a column of a row, the others being right.
  std::vector<int32_t> right;
  for (int row = 0; row < kRows; ++row) {
    const Nucleus &nucleus = rows[size_t(row)];
    size_t at = 0;
    while (at + 1 < nucleus.columns.size() &&
           nucleus.shares[at] <= us[size_t(row)])
      ++at;
    right.push_back(nucleus.columns[at]);
  }
  auto judge = [&](const std::vector<int32_t> &tokens, int64_t explain) {
    d2k_accept_request request = {};
    request.outputs[0] = upload(tokens);
    request.explain = explain;
    return runReferenceAccept(&args, request);
  };
  d2k_acceptance whole = judge(right, -1);
  report(whole.failed == 0 && whole.compared == kRows,
         name + "the right tokens: " + std::to_string(whole.failed) + " of " +
             std::to_string(whole.compared) + " are rejected");
  int64_t asked = 0, wrong = 0;
  for (int column = -1; column <= v; column += v < 100 ? 3 : 23) {
    std::vector<int32_t> tokens(kRows, column);
    d2k_acceptance found = judge(tokens, -1);
    int64_t least = 0, most = 0;
    for (int row = 0; row < kRows; ++row) {
      const Nucleus &nucleus = rows[size_t(row)];
      bool isClear = nucleus.margin > 2e-5L || topP == 1;
      auto place =
          std::find(nucleus.columns.begin(), nucleus.columns.end(), column);
      bool isIn = false, isNear = !isClear;
      if (place != nucleus.columns.end()) {
        auto at = size_t(place - nucleus.columns.begin());
        long double low = at ? nucleus.shares[at - 1] : 0;
        long double u = us[size_t(row)];
        isIn = low <= u && u < nucleus.shares[at];
        isNear |= std::fabs(low - u) < 4e-5L ||
                  std::fabs(nucleus.shares[at] - u) < 4e-5L;
      }
      least += isIn && !isNear;
      most += isIn || isNear;
    }
    int64_t accepted = int64_t(found.compared - found.failed);
    wrong += accepted < least || accepted > most;
    ++asked;
  }
  report(wrong == 0, name + std::to_string(asked) + " columns asked for: " +
                         std::to_string(wrong) + " judged wrongly");
  std::vector<int32_t> bad = right;
  bad[5] = -7;
  d2k_acceptance found = judge(bad, -1);
  d2k_acceptance said = judge(bad, 5);
  report(found.failed == 1 && found.first_failed == 5 && said.got == -7 &&
             said.expected == right[5],
         name + "row 5 alone is wrong, and its message is right");
}

const ReferenceCheck registered("topk_topp_sampling", [] {
  checkSampling(64, 2, 1, 0.9f, 0, false);
  checkSampling(64, 2, 0.5f, 0.8f, 7, false);
  checkSampling(640, 3, 1.5f, 1, 50, false);
  checkSampling(128, 1, 1, 0.7f, 20, true);
  checkSampling(128, 1, 1, 1, 1, true);
});

} // namespace
