// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_permute_combine: places by a stable sort, sums in long double; and the
// experts that the reference draws.

#include "../ReferenceCheck.h"

#include "d2k_moe_permute_combine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace d2k::test;

namespace {

struct Shape {
  int64_t t, h, e, k;

  std::string getName() const {
    return "moe_permute_combine T=" + std::to_string(t) +
           " H=" + std::to_string(h) + " E=" + std::to_string(e) +
           " k=" + std::to_string(k) + " ";
  }
};

d2k_moe_permute_combine_args makeArgs(const Shape &shape) {
  d2k_moe_permute_combine_args args = {};
  args.T = shape.t;
  args.H = shape.h;
  args.E = shape.e;
  args.k = shape.k;
  return args;
}

/// Compares whole outputs whose values are integers or copies.
void compareAll(const std::string &what, const double *got,
                const std::vector<double> &expected) {
  std::vector<double> values = download(got, expected.size());
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i)
    wrong += !(values[i] == expected[i]);
  report(wrong == 0, what + ": " + std::to_string(wrong) + " of " +
                         std::to_string(values.size()) + " wrong");
}

/// \p routing says which experts the tokens get: any, or the last k.
void checkPermuteCombine(const Shape &shape, bool isSame) {
  auto [t, h, e, k] = shape;
  std::string name = shape.getName();
  size_t pairs = size_t(t * k), rowLength = size_t(h);
  std::mt19937 generator(4);
  std::vector<int32_t> ids;
  std::vector<int32_t> experts(static_cast<size_t>(e));
  for (int64_t i = 0; i < t; ++i) {
    std::iota(experts.begin(), experts.end(), 0);
    if (!isSame)
      std::shuffle(experts.begin(), experts.end(), generator);
    ids.insert(ids.end(), experts.end() - k, experts.end());
  }
  std::vector<uint16_t> x = makeNormal(size_t(t * h), 1, 0, 1);
  std::vector<uint16_t> z = makeNormal(pairs * rowLength, 2, 0, 1);
  std::vector<float> w(pairs);
  for (float &weight : w)
    weight = std::uniform_real_distribution<float>(-1, 1)(generator);

  std::vector<size_t> order = getStableOrder(
      pairs, [&](size_t a, size_t b) { return ids[a] < ids[b]; });
  std::vector<double> pos(pairs), offsets, permuted(pairs * rowLength);
  for (size_t row = 0; row < pairs; ++row) {
    pos[order[row]] = double(row);
    for (size_t i = 0; i < rowLength; ++i)
      permuted[row * rowLength + i] =
          fromBf16(x[order[row] / size_t(k) * rowLength + i]);
  }
  for (int64_t expert = 0; expert <= e; ++expert)
    offsets.push_back(
        double(std::count_if(ids.begin(), ids.end(), [&](int32_t id) {
          return id < int32_t(expert);
        })));
  std::vector<long double> y, magnitude, working;
  for (int64_t i = 0; i < t; ++i)
    for (size_t c = 0; c < rowLength; ++c) {
      long double sum = 0, size = 0;
      float narrow = 0;
      for (int64_t j = 0; j < k; ++j) {
        size_t pair = size_t(i * k + j);
        float value = fromBf16(z[size_t(pos[pair]) * rowLength + c]);
        sum += (long double)w[pair] * value;
        size += std::fabs((long double)w[pair] * value);
        narrow += w[pair] * value;
      }
      y.push_back(sum);
      magnitude.push_back(size);
      working.push_back(roundBf16(narrow));
    }

  d2k_moe_permute_combine_args args = makeArgs(shape);
  args.X = upload(x);
  args.ids = upload(ids);
  args.Z = upload(z);
  args.w = upload(w);
  d2k_reference_request request = {};
  request.outputs[0].exact = makeOutput<double>(permuted.size());
  request.outputs[1].exact = makeOutput<double>(offsets.size());
  request.outputs[2].exact = makeOutput<double>(pairs);
  d2k_expected out = request.outputs[3] = makeExpected(y.size());
  runReference(&args, request);
  compareAll(name + "Xp", request.outputs[0].exact, permuted);
  compareAll(name + "offsets", request.outputs[1].exact, offsets);
  compareAll(name + "pos", request.outputs[2].exact, pos);
  compare(name + "Y", download(out.exact, y.size()), y, magnitude,
          double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, y.size()), magnitude,
          magnitude, double(k) * 0x1p-23);
  compareRounded(name + "working", download(out.working, y.size()), working);
}

/// Experts of a token are different and in range; which of them are used, and
/// how often the most frequent one is, fits the trial.
void checkDrawnExperts(const Shape &shape, const char *trial) {
  auto [t, h, e, k] = shape;
  std::string name = shape.getName() + trial + ": ";
  size_t pairs = size_t(t * k);
  std::vector<int32_t> drawn[2];
  for (int time = 0; time < 2; ++time) {
    d2k_moe_permute_combine_args args = makeArgs(shape);
    int32_t *ids = upload(std::vector<int32_t>(pairs, -1));
    args.ids = ids;
    d2k_inputs_request request = {};
    request.seed = uint64_t(77 + time);
    request.workload = "a_workload";
    request.trial = trial;
    runReferenceInputs(&args, request);
    drawn[time] = download(ids, pairs);
  }
  size_t wrong = 0;
  std::vector<int64_t> counts(size_t(e), 0);
  for (int64_t i = 0; i < t; ++i) {
    std::set<int32_t> own;
    for (int64_t j = 0; j < k; ++j) {
      int32_t id = drawn[0][size_t(i * k + j)];
      bool isRight = id >= 0 && id < e && own.insert(id).second;
      wrong += !isRight;
      if (isRight)
        ++counts[size_t(id)];
    }
  }
  report(wrong == 0, name + std::to_string(wrong) +
                         " of the drawn experts are out of range or repeated");
  int64_t used = std::count_if(counts.begin(), counts.end(),
                               [](int64_t count) { return count != 0; });
  std::string text = std::to_string(used) + " experts used, the last one " +
                     std::to_string(counts.back()) + " times";
  std::string kind = trial;
  if (kind == "same_experts")
    report(used == k, name + text);
  else if (kind == "hot_expert")
    report(counts.back() >= (t + 1) / 2, name + text);
  else
    // Within six standard deviations of the mean.
    report(std::all_of(counts.begin(), counts.end(),
                       [&, mean = double(pairs) / double(e)](int64_t count) {
                         return std::fabs(double(count) - mean) <=
                                6 * std::sqrt(mean) + 1;
                       }),
           name + text);
  report(e == k || drawn[0] != drawn[1],
         name + "another seed draws other experts");
}

const ReferenceCheck registered("moe_permute_combine", [] {
  checkPermuteCombine({1, 64, 1, 1}, false);
  checkPermuteCombine({77, 2880, 128, 4}, false);
  checkPermuteCombine({129, 192, 512, 10}, false);
  checkPermuteCombine({33, 64, 256, 8}, true);
  for (const char *trial : {"random", "same_experts", "hot_expert"})
    checkDrawnExperts({1001, 64, 128, 8}, trial);
  checkDrawnExperts({100, 64, 16, 16}, "random");
});

} // namespace
