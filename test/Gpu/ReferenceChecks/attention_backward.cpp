// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_backward: gradients by the definition, from a table of
// probabilities, and O and LSE that the reference makes.

#include "../HostAttention.h"

#include "d2k_attention_backward.h"

#include <algorithm>

using namespace d2k::test;

namespace {

using Args = d2k_attention_backward_args;

constexpr float kLog2e = 1.44269504f;

/// Gradients in long double and in the working precision.
struct Expected {
  std::vector<long double> exact, working;
  explicit Expected(size_t count) : exact(count), working(count) {}
};

struct Backward {
  HostAttention host;
  std::vector<uint16_t> o, gradientO;
  std::vector<float> lse;
  Expected q, k, v;

  Backward(int64_t sequences, int64_t length, int64_t headsQ, int64_t headsK,
           int64_t width)
      : host(std::vector<SequenceLength>(size_t(sequences), {length, length}),
             headsQ, headsK, width),
        q(host.q.size()), k(host.k.size()), v(host.v.size()) {
    gradientO = makeNormal(host.q.size(), 99, 0, 1);
    host.compute();
    for (long double value : host.o)
      o.push_back(toBf16(value));
    for (long double value : host.lse)
      lse.push_back(float(value));
  }
  void compute();
};

void Backward::compute() {
  size_t width = size_t(host.width);
  std::vector<float> narrowK(k.exact.size()), narrowV(v.exact.size());
  for (int64_t head = 0; head < host.headsQ; ++head)
    for (int64_t query = 0; query < host.tokensQ; ++query) {
      size_t row = size_t(query * host.headsQ + head) * width;
      long double delta = 0;
      float deltaNarrow = 0;
      for (size_t d = 0; d < width; ++d) {
        delta +=
            (long double)fromBf16(gradientO[row + d]) * fromBf16(o[row + d]);
        deltaNarrow += fromBf16(gradientO[row + d]) * fromBf16(o[row + d]);
      }
      float ownLse = lse[size_t(head * host.tokensQ + query)];
      std::vector<long double> sum(width);
      std::vector<float> sumNarrow(width);
      for (int64_t key = 0; key < host.tokensK; ++key) {
        if (!host.sees(head, query, key))
          continue;
        size_t other =
            size_t(key * host.headsK + head / (host.headsQ / host.headsK)) *
            width;
        long double s = 0, dp = 0;
        float sNarrow = 0, dpNarrow = 0;
        for (size_t d = 0; d < width; ++d) {
          long double a = (long double)fromBf16(host.q[row + d]) *
                          fromBf16(host.k[other + d]);
          long double b = (long double)fromBf16(gradientO[row + d]) *
                          fromBf16(host.v[other + d]);
          s += a;
          dp += b;
          sNarrow += float(a);
          dpNarrow += float(b);
        }
        long double p = std::exp(host.scale * s - ownLse);
        long double ds = p * (dp - delta);
        float pNarrow = std::exp2(
            std::fma(sNarrow, host.scale * kLog2e, -(ownLse * kLog2e)));
        float dsNarrow = fromBf16(toBf16(pNarrow * (dpNarrow - deltaNarrow)));
        pNarrow = fromBf16(toBf16(pNarrow));
        for (size_t d = 0; d < width; ++d) {
          sum[d] += ds * fromBf16(host.k[other + d]);
          k.exact[other + d] += ds * fromBf16(host.q[row + d]) * host.scale;
          v.exact[other + d] += p * fromBf16(gradientO[row + d]);
          sumNarrow[d] += dsNarrow * fromBf16(host.k[other + d]);
          narrowK[other + d] += dsNarrow * fromBf16(host.q[row + d]);
          narrowV[other + d] += pNarrow * fromBf16(gradientO[row + d]);
        }
      }
      for (size_t d = 0; d < width; ++d) {
        q.exact[row + d] = sum[d] * host.scale;
        q.working[row + d] = roundBf16(sumNarrow[d] * host.scale);
      }
    }
  for (size_t i = 0; i < narrowK.size(); ++i) {
    k.working[i] = roundBf16(narrowK[i] * host.scale);
    v.working[i] = roundBf16(narrowV[i]);
  }
}

/// The number of elements that are written, and compares these.
size_t checkGradient(const std::string &name, const d2k_expected &got,
                     const Expected &expected, bool isPartial) {
  std::vector<double> exact = download(got.exact, expected.exact.size());
  std::vector<double> working = download(got.working, expected.exact.size());
  std::vector<double> exactGot, workingGot;
  std::vector<long double> exactWanted, workingWanted, scale;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (isPartial && std::isnan(exact[i]) && std::isnan(working[i]))
      continue;
    exactGot.push_back(exact[i]);
    exactWanted.push_back(expected.exact[i]);
    workingGot.push_back(working[i]);
    workingWanted.push_back(expected.working[i]);
    scale.push_back(1);
  }
  compare(name, exactGot, exactWanted, scale, 1e-12);
  compareRounded(name + " working", workingGot, workingWanted);
  return exactGot.size();
}

void checkBackward(int64_t sequences, int64_t length, int64_t headsQ,
                   int64_t headsK, int64_t width) {
  std::string name = "attention_backward " + std::to_string(sequences) + "x" +
                     std::to_string(length) + " " + std::to_string(headsQ) +
                     "/" + std::to_string(headsK) + " heads ";
  Backward own(sequences, length, headsQ, headsK, width);
  own.compute();
  Args args = {};
  args.B = sequences;
  args.S = length;
  args.Hq = headsQ;
  args.Hkv = headsK;
  args.D = width;
  args.Q = upload(own.host.q);
  args.K = upload(own.host.k);
  args.V = upload(own.host.v);
  args.dO = upload(own.gradientO);
  args.O = upload(std::vector<uint16_t>(own.o.size(), 0xffff));
  args.LSE = makeOutput<float>(own.lse.size());
  args.scale = own.host.scale;
  d2k_inputs_request inputs = {};
  inputs.workload = "any";
  inputs.trial = "random";
  runReferenceInputs(&args, inputs);
  size_t different = 0;
  std::vector<uint16_t> o =
      download(static_cast<const uint16_t *>(args.O), own.o.size());
  for (size_t i = 0; i < o.size(); ++i)
    different += o[i] != own.o[i];
  std::vector<float> lse = download(args.LSE, own.lse.size());
  for (size_t i = 0; i < lse.size(); ++i)
    different += lse[i] != own.lse[i];
  report(different == 0, name + "inputs: " + std::to_string(different) +
                             " elements of O and LSE differ");

  d2k_reference_request request = {};
  auto makeRequest = [&] {
    request.outputs[0] = makeExpected(own.host.q.size());
    request.outputs[1] = makeExpected(own.host.k.size());
    request.outputs[2] = makeExpected(own.host.v.size());
  };
  makeRequest();
  runReference(&args, request);
  checkGradient(name + "dQ", request.outputs[0], own.q, false);
  checkGradient(name + "dK", request.outputs[1], own.k, false);
  checkGradient(name + "dV", request.outputs[2], own.v, false);

  // Units: 32 rows of a query head or of a key head.
  int64_t count = 0, always = 0, blocks = (sequences * length + 31) / 32;
  getReferenceUnits(&args, count, always);
  report(count == (headsQ + headsK) * blocks &&
             always == (headsQ + headsK) * std::min<int64_t>(blocks, 2),
         name + "has " + std::to_string(count) + " units, " +
             std::to_string(always) + " always");
  if (blocks < 3)
    return;
  // The first rows of query head 0, and the last ones of key head 0.
  std::vector<int64_t> units = {0, headsQ + headsK + headsQ};
  request.tiles = upload(units);
  request.tile_count = int64_t(units.size());
  makeRequest();
  runReference(&args, request);
  int64_t last = sequences * length - (blocks - 1) * 32;
  size_t rowsQ =
      checkGradient(name + "units dQ", request.outputs[0], own.q, true);
  size_t rowsK =
      checkGradient(name + "units dK", request.outputs[1], own.k, true);
  size_t rowsV =
      checkGradient(name + "units dV", request.outputs[2], own.v, true);
  report(rowsQ == size_t(32 * width) && rowsK == size_t(last * width) &&
             rowsV == rowsK,
         name + "units alone: " + std::to_string(rowsQ) + ", " +
             std::to_string(rowsK) + " and " + std::to_string(rowsV) +
             " elements");
}

const ReferenceCheck registered("attention_backward", [] {
  checkBackward(1, 1, 1, 1, 64);
  checkBackward(2, 77, 4, 2, 64);
  checkBackward(1, 70, 2, 1, 128);
});

} // namespace
