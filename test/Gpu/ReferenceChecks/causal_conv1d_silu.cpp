// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// causal_conv1d_silu: a walk over each sequence with the rows before it in
// front, and the lengths that the reference makes.

#include "../ReferenceCheck.h"

#include "d2k_causal_conv1d_silu.h"

#include <cmath>
#include <numeric>

using namespace d2k::test;

namespace {

void checkConvolution(const std::vector<int32_t> &lengths, int64_t channels,
                      float scale) {
  int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  int64_t sequences = int64_t(lengths.size());
  std::string name = "causal_conv1d_silu " + std::to_string(sequences) +
                     " sequences, " + std::to_string(tokens) + "x" +
                     std::to_string(channels) + " ";
  size_t count = size_t(tokens * channels);
  size_t stateCount = size_t(sequences * 3 * channels);
  std::vector<uint16_t> x = makeNormal(count, 1, 0, scale);
  std::vector<uint16_t> w = makeNormal(size_t(channels * 4), 2, 0, 0.5f);
  std::vector<uint16_t> before = makeNormal(stateCount, 3, 0, scale);
  std::vector<float> bias(static_cast<size_t>(channels));
  for (size_t c = 0; c < bias.size(); ++c)
    bias[c] = 0.01f * float(c % 17) - 0.08f;

  std::vector<long double> y, working, magnitude(count), after(stateCount);
  std::vector<int32_t> starts = {0};
  y.resize(count);
  working.resize(count);
  for (int64_t b = 0; b < sequences; ++b) {
    int64_t length = lengths[size_t(b)], start = starts.back();
    starts.push_back(int32_t(start + length));
    for (int64_t c = 0; c < channels; ++c) {
      std::vector<float> rows;
      for (int64_t i = 0; i < 3; ++i)
        rows.push_back(fromBf16(before[size_t((b * 3 + i) * channels + c)]));
      for (int64_t t = 0; t < length; ++t)
        rows.push_back(fromBf16(x[size_t((start + t) * channels + c)]));
      for (int64_t i = 0; i < 3; ++i)
        after[size_t((b * 3 + i) * channels + c)] = rows[size_t(length + i)];
      for (int64_t t = 0; t < length; ++t) {
        long double z = bias[size_t(c)], size = std::fabs(z);
        float narrow = bias[size_t(c)];
        for (int64_t j = 0; j < 4; ++j) {
          float weight = fromBf16(w[size_t(c * 4 + j)]);
          z += (long double)weight * rows[size_t(t + j)];
          size += std::fabs((long double)weight * rows[size_t(t + j)]);
          narrow += weight * rows[size_t(t + j)];
        }
        size_t at = size_t((start + t) * channels + c);
        y[at] = z / (1 + std::exp(-z));
        working[at] = roundBf16(narrow / (1 + std::exp(-(long double)narrow)));
        // The slope of silu as a quotient of differences.
        long double step = 1e-7L;
        long double slope = ((z + step) / (1 + std::exp(-z - step)) -
                             (z - step) / (1 + std::exp(-z + step))) /
                            (2 * step);
        magnitude[at] = std::fabs(slope) * size + std::fabs(y[at]) + 1e-30L;
      }
    }
  }

  d2k_causal_conv1d_silu_args args = {};
  args.T = tokens;
  args.C = channels;
  args.B = sequences;
  args.x = upload(x);
  args.w = upload(w);
  args.bias = upload(bias);
  args.cu_seqlens = upload(starts);
  args.initial_state = upload(before);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  request.outputs[1].exact = makeOutput<double>(stateCount);
  runReference(&args, request);
  // Relative to S, which has the cancellation in z in it.
  compare(name + "y", download(out.exact, count), y, magnitude, 1e-14);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, 1e-5);
  compareRounded(name + "working", download(out.working, count), working);
  compare(name + "final state", download(request.outputs[1].exact, stateCount),
          after, getMagnitudes(after), 0);
}

/// The starts that the reference makes: the first is 0, the last T, and every
/// sequence has a token.
void checkStarts(const char *trial, int64_t tokens, int64_t sequences,
                 const std::vector<int32_t> &expected) {
  d2k_causal_conv1d_silu_args args = {};
  args.T = tokens;
  args.C = 64;
  args.B = sequences;
  args.cu_seqlens = upload(std::vector<int32_t>(size_t(sequences + 1), -1));
  d2k_inputs_request request = {};
  request.seed = 99;
  request.workload = "w";
  request.trial = trial;
  runReferenceInputs(&args, request);
  std::vector<int32_t> starts =
      download(args.cu_seqlens, size_t(sequences + 1));
  bool isRight = starts.front() == 0 && starts.back() == tokens;
  for (size_t b = 0; b < size_t(sequences); ++b)
    isRight &= starts[b] < starts[b + 1];
  if (!expected.empty())
    isRight &= starts == expected;
  report(isRight, "causal_conv1d_silu starts of " + std::to_string(sequences) +
                      " sequences, trial " + trial);
}

const ReferenceCheck registered("causal_conv1d_silu", [] {
  checkConvolution({1, 2, 3, 4, 39}, 64, 1);
  checkConvolution({5}, 128, 60);
  checkStarts("random", 1009, 5, {0, 1, 3, 6, 10, 1009});
  checkStarts("random", 32, 4, {0, 8, 16, 24, 32});
  checkStarts("random_lengths", 256, 256, {});
  checkStarts("random_lengths", 1000, 7, {});
});

} // namespace
