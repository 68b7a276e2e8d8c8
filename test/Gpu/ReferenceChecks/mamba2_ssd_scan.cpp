// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mamba2_ssd_scan: not the recurrence but the sum that it stands for, each
// output from all tokens before it, with exponentials of sums of steps.

#include "../ReferenceCheck.h"

#include "d2k_mamba2_ssd_scan.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace d2k::test;

namespace {

constexpr int64_t kHead = 64, kState = 128;

std::vector<float> makeFloats(size_t count, unsigned seed, float low,
                              float high) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(generator);
  return values;
}

void checkScan(int64_t batch, int64_t tokens, int64_t heads, int64_t groups,
               float bias) {
  std::string name = "mamba2_ssd_scan " + std::to_string(batch) + "x" +
                     std::to_string(tokens) + ", " + std::to_string(heads) +
                     "/" + std::to_string(groups) + " heads ";
  std::vector<uint16_t> x =
      makeNormal(size_t(batch * tokens * heads * kHead), 1, 0, 1);
  std::vector<uint16_t> dt =
      makeNormal(size_t(batch * tokens * heads), 2, 0, 1);
  std::vector<uint16_t> B =
      makeNormal(size_t(batch * tokens * groups * kState), 3, 0, 1);
  std::vector<uint16_t> C =
      makeNormal(size_t(batch * tokens * groups * kState), 4, 0, 1);
  std::vector<float> biases = makeFloats(size_t(heads), 5, bias - 1, bias + 1);
  std::vector<float> A = makeFloats(size_t(heads), 6, -8, -1);
  std::vector<float> D = makeFloats(size_t(heads), 7, 0.5f, 1.5f);
  std::vector<float> initial =
      makeFloats(size_t(batch * heads * kHead * kState), 8, -1, 1);
  std::vector<long double> y(x.size()), final(initial.size());
  std::vector<long double> ySize(x.size()), finalSize(initial.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      int64_t group = h * groups / heads;
      std::vector<long double> steps, sums;
      long double sum = 0;
      for (int64_t t = 0; t < tokens; ++t) {
        long double raw =
            (long double)fromBf16(dt[size_t((b * tokens + t) * heads + h)]) +
            biases[size_t(h)];
        steps.push_back(std::log1p(std::exp(raw)));
        sum += steps.back() * A[size_t(h)];
        sums.push_back(sum);
      }
      auto getX = [&](int64_t t, int64_t p) {
        return (long double)fromBf16(
            x[size_t(((b * tokens + t) * heads + h) * kHead + p)]);
      };
      auto get = [&](const std::vector<uint16_t> &from, int64_t t, int64_t n) {
        return (long double)fromBf16(
            from[size_t(((b * tokens + t) * groups + group) * kState + n)]);
      };
      auto getInitial = [&](int64_t p, int64_t n) {
        return (long double)
            initial[size_t(((b * heads + h) * kHead + p) * kState + n)];
      };
      for (int64_t t = 0; t < tokens; ++t) {
        std::vector<long double> weights;
        for (int64_t s = 0; s <= t; ++s) {
          long double product = 0;
          for (int64_t n = 0; n < kState; ++n)
            product += get(C, t, n) * get(B, s, n);
          weights.push_back(product *
                            std::exp(sums[size_t(t)] - sums[size_t(s)]) *
                            steps[size_t(s)]);
        }
        for (int64_t p = 0; p < kHead; ++p) {
          long double value = D[size_t(h)] * getX(t, p);
          long double size = std::fabs(value);
          for (int64_t s = 0; s <= t; ++s) {
            value += weights[size_t(s)] * getX(s, p);
            size += std::fabs(weights[size_t(s)] * getX(s, p));
          }
          for (int64_t n = 0; n < kState; ++n) {
            long double term =
                std::exp(sums[size_t(t)]) * getInitial(p, n) * get(C, t, n);
            value += term;
            size += std::fabs(term);
          }
          size_t at = size_t(((b * tokens + t) * heads + h) * kHead + p);
          y[at] = value;
          ySize[at] = size;
        }
      }
      for (int64_t p = 0; p < kHead; ++p)
        for (int64_t n = 0; n < kState; ++n) {
          long double value = std::exp(sums.back()) * getInitial(p, n);
          long double size = std::fabs(value);
          for (int64_t s = 0; s < tokens; ++s) {
            long double term = std::exp(sums.back() - sums[size_t(s)]) *
                               steps[size_t(s)] * getX(s, p) * get(B, s, n);
            value += term;
            size += std::fabs(term);
          }
          size_t at = size_t(((b * heads + h) * kHead + p) * kState + n);
          final[at] = value;
          finalSize[at] = size;
        }
    }

  d2k_mamba2_ssd_scan_args args = {};
  args.batch = batch;
  args.T = tokens;
  args.H = heads;
  args.G = groups;
  args.x = upload(x);
  args.dt = upload(dt);
  args.dt_bias = upload(biases);
  args.A = upload(A);
  args.B = upload(B);
  args.C = upload(C);
  args.D = upload(D);
  args.initial_state = upload(initial);
  d2k_reference_request request = {};
  request.outputs[0] = makeExpected(y.size());
  request.outputs[1] = makeExpected(final.size());
  runReference(&args, request);
  compare(name + "y", download(request.outputs[0].exact, y.size()), y, ySize,
          1e-12);
  compare(name + "state", download(request.outputs[1].exact, final.size()),
          final, finalSize, 1e-12);
  // Of the working precision the size of its error is known: bf16 operands.
  compare(name + "y working", download(request.outputs[0].working, y.size()), y,
          ySize, 0x1p-7);
  compare(name + "state working",
          download(request.outputs[1].working, final.size()), final, finalSize,
          0x1p-8);
}

const ReferenceCheck registered("mamba2_ssd_scan", [] {
  checkScan(1, 1, 2, 1, -4);
  checkScan(2, 20, 4, 2, -3);
  checkScan(1, 270, 1, 1, -5);
  checkScan(1, 40, 2, 1, 3);
});

} // namespace
