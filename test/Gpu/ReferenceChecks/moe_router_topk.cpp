// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_router_topk: outputs made on the host by sorting must be accepted, and
// the same outputs with one thing changed must not.

#include "../ReferenceCheck.h"

#include "d2k_moe_router_topk.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

using namespace d2k::test;

namespace {

/// What a submission writes.
struct Outputs {
  std::vector<int32_t> ids;
  std::vector<float> w;
  std::vector<int32_t> counts, offsets;
};

class RouterCheck {
public:
  RouterCheck(int64_t t, int64_t h, int64_t e, int64_t k, int mode,
              bool isExact)
      : t(t), h(h), e(e), k(k), mode(mode), isExact(isExact),
        name("moe_router_topk T=" + std::to_string(t) +
             " H=" + std::to_string(h) + " E=" + std::to_string(e) +
             " k=" + std::to_string(k) + " mode " + std::to_string(mode) +
             (isExact ? " exact: " : ": ")) {
    draw();
    solve();
  }

  void run();

private:
  void draw();
  void solve();
  std::vector<int32_t> choose(const std::vector<long double> &score) const;
  void setCounts(Outputs &outputs) const;
  /// The relative error that a right weight may have, in mode 0.
  long double getBound(size_t element) const;
  /// Failures of each of the four outputs.
  std::vector<unsigned long long> judge(const Outputs &outputs);
  void expectAccepted(const std::string &what, const Outputs &outputs);
  /// The output \p which fails, and says so at \p element unless that is -1.
  void expectRejected(const std::string &what, const Outputs &outputs,
                      int which, int64_t element);

  int64_t t, h, e, k;
  int mode;
  bool isExact;
  std::string name;
  std::vector<uint16_t> x, weights;
  std::vector<float> bias;
  std::vector<std::vector<long double>> logits, scores, deltas;
  Outputs right;
  d2k_moe_router_topk_args args = {};
};

long double sigmoid(long double value) { return 1 / (1 + std::exp(-value)); }

void RouterCheck::draw() {
  x = makeNormal(size_t(t * h), 1, 0, 1);
  weights = makeNormal(size_t(e * h), 2, 0, 1 / std::sqrt(float(h)));
  std::mt19937 generator(3);
  for (int64_t i = 0; i < e; ++i)
    bias.push_back(
        isExact ? 0 : std::normal_distribution<float>(0, 0.1f)(generator));
  if (isExact) {
    for (uint16_t &value : x)
      value = toBf16((long double)(int(generator() % 3)) - 1);
    for (uint16_t &value : weights)
      value = toBf16(((long double)(int(generator() % 3)) - 1) / 64);
  }
  args.T = t;
  args.H = h;
  args.E = e;
  args.k = k;
  args.mode = mode;
  args.X = upload(x);
  args.Wr = upload(weights);
  args.bias = upload(bias);
}

/// The k best, by a stable sort; in mode 1 of the best groups.
std::vector<int32_t>
RouterCheck::choose(const std::vector<long double> &score) const {
  std::vector<int32_t> order =
      getStableOrder(int32_t(e), [&](int32_t a, int32_t b) {
        return score[size_t(a)] > score[size_t(b)];
      });
  if (mode == 1) {
    std::vector<std::pair<long double, int64_t>> groups;
    for (int64_t group = 0; group < 8; ++group) {
      std::vector<long double> own(score.begin() + group * e / 8,
                                   score.begin() + (group + 1) * e / 8);
      std::sort(own.rbegin(), own.rend());
      groups.emplace_back(-(own[0] + own[1]), group);
    }
    std::sort(groups.begin(), groups.end());
    order.erase(std::remove_if(order.begin(), order.end(),
                               [&](int32_t id) {
                                 return std::none_of(
                                     groups.begin(), groups.begin() + 4,
                                     [&](const auto &group) {
                                       return group.second == id / (e / 8);
                                     });
                               }),
                order.end());
  }
  order.resize(size_t(k));
  return order;
}

void RouterCheck::setCounts(Outputs &outputs) const {
  outputs.counts.assign(size_t(e), 0);
  for (int32_t id : outputs.ids)
    ++outputs.counts[size_t(id)];
  outputs.offsets.assign(1, 0);
  for (int32_t count : outputs.counts)
    outputs.offsets.push_back(outputs.offsets.back() + count);
}

void RouterCheck::solve() {
  for (int64_t i = 0; i < t; ++i) {
    std::vector<long double> logit, score, delta;
    for (int64_t j = 0; j < e; ++j) {
      long double sum = 0, size = 0;
      for (int64_t c = 0; c < h; ++c) {
        long double product = (long double)fromBf16(x[size_t(i * h + c)]) *
                              fromBf16(weights[size_t(j * h + c)]);
        sum += product;
        size += std::fabs(product);
      }
      logit.push_back(sum);
      delta.push_back(64 * 0x1p-23L * size);
      score.push_back(mode == 0 ? sum : sigmoid(sum) + bias[size_t(j)]);
    }
    std::vector<int32_t> chosen = choose(score);
    long double total = 0;
    auto getShare = [&](int32_t id) {
      return mode == 0 ? std::exp(logit[size_t(id)])
                       : sigmoid(logit[size_t(id)]);
    };
    for (int32_t id : chosen)
      total += getShare(id);
    for (int32_t id : chosen)
      right.w.push_back(float((mode == 0 ? 1 : 2.5L) * getShare(id) / total));
    right.ids.insert(right.ids.end(), chosen.begin(), chosen.end());
    logits.push_back(std::move(logit));
    scores.push_back(std::move(score));
    deltas.push_back(std::move(delta));
  }
  setCounts(right);
}

long double RouterCheck::getBound(size_t element) const {
  size_t token = element / size_t(k);
  const std::vector<long double> &delta = deltas[token];
  long double largest = 0;
  for (size_t j = token * size_t(k); j < (token + 1) * size_t(k); ++j)
    largest = std::max(largest, delta[size_t(right.ids[j])]);
  return delta[size_t(right.ids[element])] + largest + 0x1p-16L;
}

std::vector<unsigned long long> RouterCheck::judge(const Outputs &outputs) {
  d2k_accept_request request = {};
  request.exact = isExact;
  request.explain = -1;
  request.outputs[0] = upload(outputs.ids);
  request.outputs[1] = upload(outputs.w);
  request.outputs[2] = upload(outputs.counts);
  request.outputs[3] = upload(outputs.offsets);
  std::vector<unsigned long long> failed;
  for (int output = 0; output < 4; ++output) {
    request.output = output;
    failed.push_back(runReferenceAccept(&args, request).failed);
  }
  return failed;
}

void RouterCheck::expectAccepted(const std::string &what,
                                 const Outputs &outputs) {
  std::vector<unsigned long long> failed = judge(outputs);
  std::string text = name + what + ": failures";
  for (unsigned long long count : failed)
    text += " " + std::to_string(count);
  report(failed == std::vector<unsigned long long>(4, 0), text);
}

void RouterCheck::expectRejected(const std::string &what,
                                 const Outputs &outputs, int which,
                                 int64_t element) {
  d2k_accept_request request = {};
  request.exact = isExact;
  request.explain = element;
  request.outputs[0] = upload(outputs.ids);
  request.outputs[1] = upload(outputs.w);
  request.outputs[2] = upload(outputs.counts);
  request.outputs[3] = upload(outputs.offsets);
  request.output = which;
  d2k_acceptance found = runReferenceAccept(&args, request);
  bool isPlaced = element < 0 || (found.first_failed == uint64_t(element) &&
                                  found.expected != found.got);
  report(found.failed != 0 && isPlaced,
         name + what + ": " + std::to_string(found.failed) +
             " failures, the first at " +
             std::to_string(int64_t(found.first_failed)));
}

void RouterCheck::run() {
  expectAccepted("what sorting gives", right);
  // The last token, so that all before it are right.
  size_t first = size_t((t - 1) * k), last = size_t(t * k) - 1;
  auto with = [&](const std::function<void(Outputs &)> &change) {
    Outputs outputs = right;
    change(outputs);
    return outputs;
  };
  // The first and the last one differ by far more than the rounding.
  expectRejected("two experts the other way round", with([&](Outputs &o) {
                   std::swap(o.ids[first], o.ids[last]);
                   std::swap(o.w[first], o.w[last]);
                 }),
                 0, int64_t(first));
  const std::vector<long double> &score = scores.back();
  int32_t worst =
      int32_t(std::min_element(score.begin(), score.end()) - score.begin());
  expectRejected("the worst expert last",
                 with([&](Outputs &o) { o.ids[last] = worst; }), 0,
                 int64_t(last));
  expectRejected("an expert twice",
                 with([&](Outputs &o) { o.ids[last] = o.ids[first]; }), 0,
                 int64_t(last));
  expectRejected("no expert",
                 with([&](Outputs &o) { o.ids[last] = int32_t(e); }), 0,
                 int64_t(last));
  expectRejected("one weight 1% larger",
                 with([&](Outputs &o) { o.w[last] *= 1.01f; }), 1,
                 int64_t(last));
  expectRejected("a weight that is no number",
                 with([&](Outputs &o) { o.w[last] = NAN; }), 1, int64_t(last));
  expectRejected("a count that is one more",
                 with([&](Outputs &o) { ++o.counts[size_t(e - 1)]; }), 2,
                 e - 1);
  expectRejected("an offset that is one less",
                 with([&](Outputs &o) { --o.offsets[size_t(e)]; }), 3, e);
  if (mode == 1) {
    // The best of all groups; the scores of two tokens at least differ.
    Outputs outputs = right;
    size_t different = 0;
    for (int64_t i = 0; i < t; ++i) {
      std::vector<int32_t> order =
          getStableOrder(int32_t(e), [&](int32_t a, int32_t b) {
            return scores[size_t(i)][size_t(a)] > scores[size_t(i)][size_t(b)];
          });
      for (int64_t j = 0; j < k; ++j) {
        int32_t &id = outputs.ids[size_t(i * k + j)];
        different += id != order[size_t(j)];
        id = order[size_t(j)];
      }
    }
    if (different)
      expectRejected("groups left out", outputs, 0, -1);
  }
  if (isExact) {
    // Swap two neighbours with the same logit, if a token has such.
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j + 1 < k; ++j) {
        size_t at = size_t(i * k + j);
        if (logits[size_t(i)][size_t(right.ids[at])] !=
            logits[size_t(i)][size_t(right.ids[at + 1])])
          continue;
        expectRejected("a tie to the higher id", with([&](Outputs &o) {
                         std::swap(o.ids[at], o.ids[at + 1]);
                       }),
                       0, int64_t(at));
        return;
      }
    report(false, name + "no tie to look at");
    return;
  }
  // All weights a little off: each within its bound, but not all may be.
  if (mode == 0)
    expectRejected("all weights off by half of the bound",
                   with([&](Outputs &o) {
                     for (size_t i = 0; i < o.w.size(); ++i)
                       o.w[i] *= float(1 + getBound(i) / 2);
                   }),
                   1, -1);
}

/// Wr of the exact trial: a third each of -1/64, 0 and 1/64.
void checkDrawnWeights() {
  d2k_moe_router_topk_args args = {};
  args.E = 16;
  args.H = 4096;
  size_t count = size_t(args.E * args.H);
  uint16_t *weights = upload(std::vector<uint16_t>(count, 0xffff));
  args.Wr = weights;
  d2k_inputs_request request = {};
  request.seed = 5;
  request.workload = "a_workload";
  request.trial = "exact_ties";
  request.exact = 1;
  runReferenceInputs(&args, request);
  int64_t found[3] = {}, others = 0;
  for (uint16_t bits : download(weights, count)) {
    float value = fromBf16(bits) * 64;
    if (value == -1 || value == 0 || value == 1)
      ++found[int(value) + 1];
    else
      ++others;
  }
  bool isEven = std::all_of(found, found + 3, [&](int64_t number) {
    return std::fabs(double(number) * 3 / double(count) - 1) < 0.02;
  });
  report(others == 0 && isEven,
         "moe_router_topk Wr of the exact trial: " + std::to_string(found[0]) +
             ", " + std::to_string(found[1]) + ", " + std::to_string(found[2]));
}

const ReferenceCheck registered("moe_router_topk", [] {
  RouterCheck(3, 64, 16, 4, 0, false).run();
  RouterCheck(5, 256, 128, 10, 0, false).run();
  RouterCheck(9, 256, 64, 8, 1, false).run();
  RouterCheck(5, 256, 64, 8, 0, true).run();
  RouterCheck(7, 256, 128, 8, 1, true).run();
  checkDrawnWeights();
});

} // namespace
