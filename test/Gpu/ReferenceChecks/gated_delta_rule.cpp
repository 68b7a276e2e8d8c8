// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gated_delta_rule: no state is kept; each u follows from the initial state and
// all u before it, and outputs and the last state from all of them. And the
// inputs that the reference makes.

#include "../ReferenceCheck.h"

#include "d2k_gated_delta_rule.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace d2k::test;

namespace {

constexpr int64_t kHead = 128;

/// Rows of length 1, as bf16.
std::vector<uint16_t> makeRows(size_t count, unsigned seed) {
  std::vector<uint16_t> drawn = makeNormal(count * kHead, seed, 0, 1), rows;
  for (size_t row = 0; row < count; ++row) {
    long double squares = 0;
    for (size_t d = 0; d < kHead; ++d) {
      long double value = fromBf16(drawn[row * kHead + d]);
      squares += value * value;
    }
    for (size_t d = 0; d < kHead; ++d)
      rows.push_back(
          toBf16(fromBf16(drawn[row * kHead + d]) / std::sqrt(squares)));
  }
  return rows;
}

void checkDeltaRule(const std::vector<int32_t> &lengths, int64_t keyHeads,
                    int64_t valueHeads, float lowestGate) {
  int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  auto sequences = int64_t(lengths.size());
  std::string name = "gated_delta_rule " + std::to_string(tokens) +
                     " tokens of " + std::to_string(sequences) +
                     " sequences, " + std::to_string(keyHeads) + "/" +
                     std::to_string(valueHeads) + " heads ";
  auto gates = size_t(tokens * valueHeads);
  std::vector<uint16_t> q = makeRows(size_t(tokens * keyHeads), 1);
  std::vector<uint16_t> k = makeRows(size_t(tokens * keyHeads), 2);
  std::vector<uint16_t> v = makeNormal(gates * kHead, 3, 0, 1);
  std::mt19937 generator(4);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> g(gates);
  std::vector<uint16_t> beta(gates);
  for (size_t i = 0; i < gates; ++i) {
    g[i] = lowestGate * uniform(generator);
    beta[i] = toBf16(uniform(generator));
  }
  std::vector<float> initial(size_t(sequences * valueHeads * kHead * kHead));
  for (float &value : initial)
    value = uniform(generator) - 0.5f;
  float scale = 0.088388346f;
  std::vector<long double> o(gates * kHead), final(initial.size());
  std::vector<int32_t> starts = {0};
  for (int64_t b = 0; b < sequences; ++b) {
    int64_t first = starts.back(), length = lengths[size_t(b)];
    starts.push_back(int32_t(first + length));
    for (int64_t h = 0; h < valueHeads; ++h) {
      int64_t keyHead = h * keyHeads / valueHeads;
      auto getKey = [&](const std::vector<uint16_t> &from, int64_t t,
                        int64_t d) {
        return (long double)fromBf16(
            from[size_t(((first + t) * keyHeads + keyHead) * kHead + d)]);
      };
      auto getProduct = [&](const std::vector<uint16_t> &from, int64_t t,
                            int64_t s) {
        long double sum = 0;
        for (int64_t d = 0; d < kHead; ++d)
          sum += getKey(from, t, d) * getKey(k, s, d);
        return sum;
      };
      auto getInitial = [&](int64_t row, int64_t d) {
        return (long double)
            initial[size_t(((b * valueHeads + h) * kHead + row) * kHead + d)];
      };
      std::vector<long double> sums;
      std::vector<std::vector<long double>> u;
      long double sum = 0;
      for (int64_t t = 0; t < length; ++t) {
        size_t gate = size_t((first + t) * valueHeads + h);
        sum += g[gate];
        sums.push_back(sum);
        std::vector<long double> had(kHead), read(kHead);
        for (int64_t row = 0; row < kHead; ++row)
          for (int64_t d = 0; d < kHead; ++d) {
            had[size_t(d)] +=
                std::exp(sum) * getInitial(row, d) * getKey(k, t, row);
            read[size_t(d)] +=
                std::exp(sum) * getInitial(row, d) * getKey(q, t, row);
          }
        for (int64_t s = 0; s < t; ++s) {
          long double decay = std::exp(sum - sums[size_t(s)]);
          long double key = decay * getProduct(k, t, s);
          long double query = decay * getProduct(q, t, s);
          for (size_t d = 0; d < kHead; ++d) {
            had[d] += key * u[size_t(s)][d];
            read[d] += query * u[size_t(s)][d];
          }
        }
        long double query = getProduct(q, t, t);
        u.emplace_back(kHead);
        for (size_t d = 0; d < kHead; ++d) {
          u.back()[d] = (long double)fromBf16(beta[gate]) *
                        (fromBf16(v[gate * kHead + d]) - had[d]);
          o[gate * kHead + d] = scale * (read[d] + query * u.back()[d]);
        }
      }
      for (int64_t row = 0; row < kHead; ++row)
        for (int64_t d = 0; d < kHead; ++d) {
          long double value = std::exp(sum) * getInitial(row, d);
          for (int64_t s = 0; s < length; ++s)
            value += std::exp(sum - sums[size_t(s)]) * getKey(k, s, row) *
                     u[size_t(s)][size_t(d)];
          final[size_t(((b * valueHeads + h) * kHead + row) * kHead + d)] =
              value;
        }
    }
  }

  d2k_gated_delta_rule_args args = {};
  args.T = tokens;
  args.B = sequences;
  args.Hk = keyHeads;
  args.Hv = valueHeads;
  args.q = upload(q);
  args.k = upload(k);
  args.v = upload(v);
  args.g = upload(g);
  args.beta = upload(beta);
  args.cu_seqlens = upload(starts);
  args.initial_state = upload(initial);
  args.scale = scale;
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(o.size());
  request.outputs[1] = makeExpected(final.size());
  runReference(&args, request);
  // Values of v and of the state are about 1, those of o about scale.
  std::vector<long double> ones(final.size(), 1), scales(o.size(), scale);
  compare(name + "o", download(request.outputs[0].exact, o.size()), o, scales,
          1e-13);
  compare(name + "state", download(request.outputs[1].exact, final.size()),
          final, ones, 1e-13);
  // Of the working precision the size of its error is known: bf16 operands.
  compare(name + "o working", download(request.outputs[0].working, o.size()), o,
          scales, 0x1p-5);
  compare(name + "state working",
          download(request.outputs[1].working, final.size()), final, ones,
          0x1p-6);
}

/// Starts that rise from 0 to T, and rows of length 1 as nearly as bf16 can.
void checkInputs(int64_t tokens, int64_t sequences,
                 const std::vector<int32_t> &expected) {
  for (const char *trial : {"random", "correlated_keys", "basis_vectors"}) {
    d2k_gated_delta_rule_args args = {};
    args.T = tokens;
    args.B = sequences;
    args.Hk = 2;
    args.Hv = 2;
    auto count = size_t(tokens * 2 * kHead);
    args.q = upload(std::vector<uint16_t>(count, 0));
    args.k = upload(std::vector<uint16_t>(count, 0));
    args.cu_seqlens = upload(std::vector<int32_t>(size_t(sequences + 1), -1));
    d2k_inputs_request request = {};
    request.seed = 3;
    request.workload = "w";
    request.trial = trial;
    runReferenceInputs(&args, request);
    bool isRight = download(args.cu_seqlens, size_t(sequences + 1)) == expected;
    for (const void *rows : {args.q, args.k}) {
      std::vector<uint16_t> values =
          download(static_cast<const uint16_t *>(rows), count);
      for (size_t row = 0; row < count / kHead; ++row) {
        long double squares = 0;
        for (size_t d = 0; d < kHead; ++d) {
          long double value = fromBf16(values[row * kHead + d]);
          squares += value * value;
        }
        isRight &= std::fabs(squares - 1) < 0.01L;
      }
    }
    report(isRight, "gated_delta_rule inputs of " + std::to_string(sequences) +
                        " sequences, trial " + trial);
  }
}

const ReferenceCheck registered("gated_delta_rule", [] {
  checkDeltaRule({1, 5}, 1, 2, -0.2f);
  checkDeltaRule({70}, 1, 1, -0.2f);
  checkDeltaRule({20}, 2, 2, -20);
  checkInputs(12, 12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  checkInputs(1200, 6, {0, 200, 400, 600, 800, 1000, 1200});
  checkInputs(1199, 6, {0, 1, 64, 128, 193, 1193, 1199});
});

} // namespace
