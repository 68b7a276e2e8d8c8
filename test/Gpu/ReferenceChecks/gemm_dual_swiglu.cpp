// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gemm_dual_swiglu: three loops, tiles alone, and the weights of the exact
// trial.

#include "../ReferenceCheck.h"

#include "d2k_gemm_dual_swiglu.h"

#include <cmath>

using namespace d2k::test;

namespace {

void checkSwiglu(int64_t m, int64_t f, int64_t k, float scale) {
  std::string name = "gemm_dual_swiglu " + std::to_string(m) + "x" +
                     std::to_string(f) + "x" + std::to_string(k) + " ";
  std::vector<uint16_t> x = makeNormal(size_t(m * k), 1, 0, scale);
  std::vector<uint16_t> w =
      makeNormal(size_t(2 * f * k), 2, 0, 1 / std::sqrt(float(k)));
  std::vector<long double> exact, bound, working;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < f; ++j) {
      long double sums[2] = {}, sizes[2] = {};
      float narrow[2] = {};
      for (int half = 0; half < 2; ++half)
        for (int64_t l = 0; l < k; ++l) {
          float a = fromBf16(x[size_t(i * k + l)]);
          float b = fromBf16(w[size_t((half * f + j) * k + l)]);
          sums[half] += (long double)a * b;
          sizes[half] += std::fabs((long double)a * b);
          narrow[half] += a * b;
        }
      exact.push_back(sums[0] / (1 + std::exp(-sums[0])) * sums[1]);
      // silu is at most as large as its argument, and at most 1.1 times as
      // steep as the identity.
      bound.push_back(2 * sizes[0] * sizes[1]);
      long double gate = roundBf16(narrow[0]), up = roundBf16(narrow[1]);
      working.push_back(roundBf16(gate / (1 + std::exp(-gate)) * up));
    }
  size_t count = size_t(m * f);
  d2k_gemm_dual_swiglu_args args = {};
  args.M = m;
  args.F = f;
  args.K = k;
  args.X = upload(x);
  args.W = upload(w);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  request.outputs[0].magnitude = nullptr; // The rule has no use for it.
  runReference(&args, request);
  compare(name + "exact", download(out.exact, count), exact, bound,
          double(k) * 0x1p-52);
  compareRounded(name + "working", download(out.working, count), working);

  // The last tile of 64 x 64 alone.
  int64_t tiles = (m + 63) / 64 * ((f + 63) / 64);
  request.outputs[0] = makeExpected(count);
  request.tiles = upload(std::vector<int64_t>{tiles - 1});
  request.tile_count = 1;
  runReference(&args, request);
  std::vector<double> whole = download(out.exact, count);
  std::vector<double> part = download(request.outputs[0].exact, count);
  size_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < f; ++j) {
      bool isInTile = i / 64 == (m - 1) / 64 && j / 64 == (f - 1) / 64;
      double value = part[size_t(i * f + j)];
      wrong +=
          isInTile ? value != whole[size_t(i * f + j)] : !std::isnan(value);
    }
  report(wrong == 0,
         name + "a tile alone: " + std::to_string(wrong) + " elements wrong");
}

/// 96 ones in each row, everything else zero, and no column is never used.
void checkSparseWeights(int64_t f, int64_t k) {
  std::string name =
      "gemm_dual_swiglu weights of exact_products, K = " + std::to_string(k) +
      ": ";
  d2k_gemm_dual_swiglu_args args = {};
  args.M = 1;
  args.F = f;
  args.K = k;
  size_t count = size_t(2 * f * k);
  args.W = upload(std::vector<uint16_t>(count, 0x7fc0));
  d2k_inputs_request request = {};
  request.seed = 1;
  request.workload = "any";
  request.trial = "exact_products";
  request.exact = 1;
  runReferenceInputs(&args, request);
  std::vector<uint16_t> w =
      download(static_cast<const uint16_t *>(args.W), count);
  size_t wrongRows = 0, unused = 0;
  std::vector<int> uses(static_cast<size_t>(k));
  for (int64_t row = 0; row < 2 * f; ++row) {
    int ones = 0, others = 0;
    for (int64_t i = 0; i < k; ++i) {
      float value = fromBf16(w[size_t(row * k + i)]);
      ones += value == 1;
      others += value != 1 && value != 0;
      uses[size_t(i)] += value == 1;
    }
    wrongRows += ones != 96 || others != 0;
  }
  for (int use : uses)
    unused += use == 0;
  report(wrongRows == 0, name + std::to_string(wrongRows) + " rows wrong");
  report(unused == 0, name + std::to_string(unused) + " columns never used");
}

const ReferenceCheck registered("gemm_dual_swiglu", [] {
  checkSwiglu(1, 64, 128, 1);
  checkSwiglu(77, 192, 512, 1);
  // Not larger: below -88 expf overflows, and silu is 0 in place of 1e-37.
  checkSwiglu(65, 128, 1024, 20);
  checkSparseWeights(512, 128);
  checkSparseWeights(512, 1024);
});

} // namespace
