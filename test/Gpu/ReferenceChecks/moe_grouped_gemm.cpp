// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// moe_grouped_gemm: groups of any size, also none; tiles alone; and the offsets
// that the reference draws.

#include "../ReferenceCheck.h"

#include "d2k_moe_grouped_gemm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace d2k::test;

namespace {

constexpr int64_t kTile = 64;

/// \p counts are the rows of the experts.
void checkGrouped(const std::vector<int32_t> &counts, int64_t n, int64_t k) {
  std::vector<int32_t> offsets(1, 0);
  for (int32_t count : counts)
    offsets.push_back(offsets.back() + count);
  int64_t rows = offsets.back(), experts = int64_t(counts.size());
  std::string name = "moe_grouped_gemm R=" + std::to_string(rows) +
                     " E=" + std::to_string(experts) +
                     " N=" + std::to_string(n) + " K=" + std::to_string(k) +
                     " ";
  std::vector<uint16_t> x = makeNormal(size_t(rows * k), 1, 0, 1);
  std::vector<uint16_t> w = makeNormal(size_t(experts * n * k), 2, 0, 0.1f);
  std::vector<long double> exact, magnitude, working;
  for (int64_t e = 0; e < experts; ++e)
    for (int64_t r = offsets[size_t(e)]; r < offsets[size_t(e + 1)]; ++r)
      for (int64_t j = 0; j < n; ++j) {
        long double sum = 0, size = 0;
        float narrow = 0;
        for (int64_t l = 0; l < k; ++l) {
          float a = fromBf16(x[size_t(r * k + l)]);
          float b = fromBf16(w[size_t((e * n + j) * k + l)]);
          sum += (long double)a * b;
          size += std::fabs((long double)a * b);
          narrow += a * b;
        }
        exact.push_back(sum);
        magnitude.push_back(size);
        working.push_back(roundBf16(narrow));
      }
  size_t count = size_t(rows * n);
  d2k_moe_grouped_gemm_args args = {};
  args.R = rows;
  args.E = experts;
  args.N = n;
  args.K = k;
  args.X = upload(x);
  args.W = upload(w);
  args.offsets = upload(offsets);
  d2k_reference_request request = {};
  d2k_expected out = request.outputs[0] = makeExpected(count);
  runReference(&args, request);
  // Relative to S: an fp64 sum of k terms errs by less than k * 2^-53.
  std::vector<double> whole = download(out.exact, count);
  compare(name + "exact", whole, exact, magnitude, double(k) * 0x1p-53);
  compare(name + "magnitude", download(out.magnitude, count), magnitude,
          magnitude, double(k) * 0x1p-24);
  compareRounded(name + "working", download(out.working, count), working);

  // The last tile alone.
  int64_t across = (n + kTile - 1) / kTile;
  int64_t last = (rows + kTile - 1) / kTile * across - 1;
  request.outputs[0] = makeExpected(count);
  request.tiles = upload(std::vector<int64_t>{last});
  request.tile_count = 1;
  runReference(&args, request);
  std::vector<double> part = download(request.outputs[0].exact, count);
  size_t wrong = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      double value = part[size_t(r * n + j)];
      wrong += r / kTile * across + j / kTile == last
                   ? value != whole[size_t(r * n + j)]
                   : !std::isnan(value);
    }
  report(wrong == 0,
         name + "a tile alone: " + std::to_string(wrong) + " elements wrong");
}

/// Rows of each expert as the reference draws them.
std::vector<int64_t> drawCounts(int64_t rows, int64_t experts,
                                const char *workload, const char *trial,
                                uint64_t seed) {
  d2k_moe_grouped_gemm_args args = {};
  args.R = rows;
  args.E = experts;
  int32_t *offsets = upload(std::vector<int32_t>(size_t(experts + 1), -1));
  args.offsets = offsets;
  d2k_inputs_request request = {};
  request.seed = seed;
  request.workload = workload;
  request.trial = trial;
  runReferenceInputs(&args, request);
  std::vector<int32_t> drawn = download(offsets, size_t(experts + 1));
  bool isSound = drawn.front() == 0 && drawn.back() == rows &&
                 std::is_sorted(drawn.begin(), drawn.end());
  report(isSound, std::string("moe_grouped_gemm offsets of ") + workload +
                      ", " + trial + ": from " + std::to_string(drawn.front()) +
                      " to " + std::to_string(drawn.back()));
  std::vector<int64_t> counts;
  for (size_t e = 0; e < size_t(experts); ++e)
    counts.push_back(drawn[e + 1] - drawn[e]);
  return counts;
}

void checkOffsets() {
  auto describe = [](const char *kind, const std::vector<int64_t> &counts) {
    auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return std::string("moe_grouped_gemm ") + kind + ": " +
           std::to_string(*least) + " to " + std::to_string(*most) + " rows, " +
           std::to_string(std::count(counts.begin(), counts.end(), 0)) +
           " experts empty";
  };
  // About 256 each; six standard deviations are 96.
  std::vector<int64_t> uniform =
      drawCounts(8192, 32, "qwen3_235b_gate_up", "random", 1);
  report(std::all_of(uniform.begin(), uniform.end(),
                     [](int64_t count) { return std::abs(count - 256) < 96; }),
         describe("uniform", uniform));
  report(uniform != drawCounts(8192, 32, "qwen3_235b_gate_up", "random", 2),
         "moe_grouped_gemm: another seed, other offsets");
  // Shares of 1, 2^-1.2, ... 7^-1.2 of their sum 2.25: 44% to 4.3%, or
  // 1820 and 176 rows.
  std::vector<int64_t> zipf =
      drawCounts(4096, 8, "deepseek_v3_slice", "random", 3);
  std::vector<int64_t> sorted = zipf;
  std::sort(sorted.begin(), sorted.end());
  report(sorted[0] == 0 && sorted[1] > 90 && sorted[1] < 260 &&
             sorted[7] > 1620 && sorted[7] < 2020,
         describe("Zipf", zipf));
  std::vector<int64_t> half =
      drawCounts(2048, 128, "gpt_oss_gate_up_ragged", "random", 4);
  int64_t most = *std::max_element(half.begin(), half.end());
  report(std::abs(most - 1024) < 140, describe("half in one", half));
  for (const char *trial : {"one_expert", "random"}) {
    std::vector<int64_t> one = drawCounts(100, 16, "all_rows_in_one", trial, 5);
    report(std::count(one.begin(), one.end(), 100) == 1 && one[0] == 0,
           describe("all in one", one));
  }
  std::vector<int64_t> uneven =
      drawCounts(2048, 128, "qwen3_235b_gate_up", "uneven", 6);
  report(uneven.front() == 0 && uneven.back() == 0 &&
             *std::max_element(uneven.begin(), uneven.end()) > 300,
         describe("uneven", uneven));
  drawCounts(7, 1, "qwen3_235b_gate_up", "one_expert", 7);
}

const ReferenceCheck registered("moe_grouped_gemm", [] {
  checkGrouped({1}, 64, 64);
  checkGrouped({0, 3, 0, 70, 1, 1, 0}, 192, 128);
  checkGrouped({64, 64, 2}, 64, 512);
  checkOffsets();
});

} // namespace
