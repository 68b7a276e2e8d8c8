// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels, run on the host: the same functions as on a device.

#include "Device/HostKernels.h"
#include "Device/Jobs.h"

#include "gtest/gtest.h"

#include <cmath>
#include <set>
#include <vector>

using namespace d2k;
using namespace d2k::runner;
using task::DType;

template <typename Job>
static void launch(const char *name, Job job) {
  HostKernel kernel = findHostKernel(name);
  ASSERT_TRUE(kernel) << name;
  void *parameters[] = {&job};
  kernel({{1, 1, 1}, {1, 1, 1}}, parameters);
}

TEST(HostKernels, Names) {
  EXPECT_TRUE(findHostKernel("d2k_compare"));
  EXPECT_FALSE(findHostKernel("d2k_"));
  EXPECT_FALSE(findHostKernel("compare"));
}

TEST(HostKernels, FillIsAFunctionOfSeedAndIndex) {
  task::DrawSpec spec;
  spec.type = DType::BFloat16;
  std::vector<uint16_t> all(1000), part(100);
  launch("d2k_fill", FillJob{spec, all.data(), 1000, 5});
  launch("d2k_fill", FillJob{spec, part.data(), 100, 5});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin()));
  launch("d2k_fill", FillJob{spec, part.data(), 100, 6});
  EXPECT_FALSE(std::equal(part.begin(), part.end(), all.begin()));
  // Packed elements, an odd number of them.
  spec.type = DType::UInt4;
  spec.kind = task::DrawKind::Constant;
  spec.mean = 7;
  uint8_t packed[2] = {0xff, 0xff};
  launch("d2k_fill", FillJob{spec, packed, 3, 0});
  EXPECT_EQ(packed[0], 0x77);
  EXPECT_EQ(packed[1], 0xf7);
}

TEST(HostKernels, PerturbRedrawsWholeLines) {
  task::DrawSpec spec;
  constexpr int64_t kLines = 4000, kPerLine = 32; // 128 bytes of float.
  std::vector<float> before(kLines * kPerLine);
  launch("d2k_fill", FillJob{spec, before.data(), kLines * kPerLine, 1});
  std::vector<float> after = before;
  // A tail that is no whole line, and no whole word.
  constexpr int64_t kBytes = kLines * kLineBytes - 12;
  auto hash = [&](std::vector<float> &data) {
    unsigned long long sum = 0;
    launch("d2k_hash", HashJob{data.data(), kBytes, 9, &sum});
    return sum;
  };
  unsigned long long sum = hash(before);
  launch("d2k_perturb", PerturbJob{{spec, after.data(), kBytes / 4, 2},
                                   16,
                                   {after.data(), kBytes, 9, &sum}});
  EXPECT_EQ(sum, hash(after));
  // Nobody else's change is taken into the hash: not even in a line that is
  // redrawn.
  std::vector<float> changed = before;
  for (float &value : changed)
    value += 1;
  unsigned long long ofBefore = hash(before);
  launch("d2k_perturb", PerturbJob{{spec, changed.data(), kBytes / 4, 2},
                                   16,
                                   {changed.data(), kBytes, 9, &ofBefore}});
  EXPECT_NE(ofBefore, hash(changed));
  int redrawn = 0;
  for (int64_t line = 0; line < kLines; ++line) {
    int different = 0;
    for (int64_t i = 0; i < kPerLine; ++i)
      different += before[line * kPerLine + i] != after[line * kPerLine + i];
    // The last line ends before the third-last element.
    int whole = line == kLines - 1 ? kPerLine - 3 : kPerLine;
    EXPECT_TRUE(different == 0 || different == whole) << line;
    redrawn += different != 0;
  }
  // One in 16; five standard deviations of a binomial count.
  EXPECT_NEAR(redrawn, kLines / 16.0,
              5 * std::sqrt(kLines * (1 / 16.0) * (15 / 16.0)));
}

TEST(HostKernels, PatternsAndHashes) {
  std::vector<uint8_t> data(23);
  launch("d2k_setPattern", PatternJob{data.data(), 23, 0x04030201, nullptr});
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[3], 4);
  EXPECT_EQ(data[22], 3);
  auto countDifferent = [&] {
    unsigned long long count = 0;
    launch("d2k_countDifferent",
           PatternJob{data.data(), 23, 0x04030201, &count});
    return count;
  };
  EXPECT_EQ(countDifferent(), 0u);
  data[22] = 9;
  data[5] = 9;
  EXPECT_EQ(countDifferent(), 2u);

  auto hash = [&](uint64_t key) {
    unsigned long long sum = 0;
    launch("d2k_hash", HashJob{data.data(), 23, key, &sum});
    return sum;
  };
  unsigned long long first = hash(1);
  EXPECT_NE(first, hash(2));
  // The order counts, also of whole words.
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 8);
  data[0] += 1;
  EXPECT_NE(first, hash(1));
  data[0] -= 1;
  std::swap_ranges(data.begin(), data.begin() + 8, data.begin() + 8);
  EXPECT_EQ(first, hash(1));
  data[22] ^= 1;
  EXPECT_NE(first, hash(1));
}

namespace {

/// An output of 2 x n elements with its expected values.
struct Case {
  explicit Case(CompareRule rule, DType type, std::vector<double> exact,
                std::vector<double> got)
      : exact(std::move(exact)), bytes(got.size() * 8) {
    for (size_t i = 0; i < got.size(); ++i)
      task::storeElement(type, bytes.data(), int64_t(i),
                         task::encodeElement(type, got[i]));
    job.rule = rule;
    job.type = type;
    job.got = bytes.data();
    job.exact = this->exact.data();
    job.rows = 2;
    job.columns = int64_t(got.size()) / 2;
  }
  CompareResult run() {
    CompareResult result = makeEmptyResult();
    launch("d2k_compare", CompareAllJob{job, &result});
    return result;
  }
  ElementReport explain(int64_t index) {
    ElementReport report = {};
    launch("d2k_explain", ExplainJob{job, index, &report});
    return report;
  }
  std::vector<double> exact;
  std::vector<uint8_t> bytes;
  CompareJob job = {};
};

} // namespace

TEST(Compare, ExactMeansTheRoundedValue) {
  // 1 + 2^-9 rounds to 1 in bf16, and -0 is not 0.
  Case test(CompareRule::Exact, DType::BFloat16, {1 + 0x1p-9, 2, 0, 3},
            {1, 2, -0.0, NAN});
  CompareResult result = test.run();
  EXPECT_EQ(result.compared, 4u);
  EXPECT_EQ(result.failed, 2u);
  EXPECT_EQ(result.nonFinite, 1u);
  EXPECT_EQ(result.firstFailed, 2u);
}

TEST(Compare, InfinityIsOnlyItself) {
  for (CompareRule rule : {CompareRule::Exact, CompareRule::Bound}) {
    std::vector<double> exact = {-INFINITY, -INFINITY, -INFINITY,
                                 -INFINITY, 1,         -INFINITY};
    Case test(rule, DType::Float32, exact,
              {-INFINITY, INFINITY, NAN, -3e38, 1, -INFINITY});
    test.job.working = exact.data();
    test.job.relative = 1;
    CompareResult result = test.run();
    EXPECT_EQ(result.compared, 6u);
    EXPECT_EQ(result.failed, 3u);
    EXPECT_EQ(result.firstFailed, 1u);
    EXPECT_EQ(result.nonFinite, 1u);
  }
  // Where it is right it adds nothing to the errors.
  Case right(CompareRule::Bound, DType::Float32, {-INFINITY, 2},
             {-INFINITY, 2.5});
  std::vector<double> working = {-INFINITY, 2.25};
  right.job.working = working.data();
  right.job.relative = 1;
  CompareResult result = right.run();
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.squares, 0.25);
  EXPECT_EQ(result.squaresWorking, 0.0625);
  EXPECT_EQ(result.maxRatio, 0.25);
}

TEST(Compare, Bound) {
  // Allowed: 2^-8 |r| + 2^-10 S = 2^-8 + 2^-10 * 4 = 2^-7 for the first two.
  Case test(CompareRule::Bound, DType::Float32, {1, 1, -2, 0},
            {1 + 0x1p-7, 1 - 0x1.1p-7, -2, INFINITY});
  std::vector<float> magnitude = {4, 4, 2, 0};
  std::vector<double> working = {1, 1.25, -2, 0};
  test.job.magnitude = magnitude.data();
  test.job.working = working.data();
  test.job.relative = 0x1p-8;
  test.job.sumFactor = 0x1p-10;
  CompareResult result = test.run();
  EXPECT_EQ(result.failed, 2u);
  EXPECT_EQ(result.firstFailed, 1u);
  EXPECT_EQ(result.nonFinite, 1u);
  EXPECT_EQ(result.maxRatio, 0x1.1p0);
  EXPECT_EQ(result.squares, 0x1p-14 + 0x1.1p-7 * 0x1.1p-7);
  EXPECT_EQ(result.squaresWorking, 0.0625);
  ElementReport report = test.explain(1);
  EXPECT_EQ(report.expected, 1);
  EXPECT_EQ(report.got, 1 - 0x1.1p-7);
  EXPECT_EQ(report.allowed, 0x1p-7);
  // An error where none is allowed.
  Case none(CompareRule::Bound, DType::Float32, {0, 0}, {0, 1e-30});
  EXPECT_EQ(none.run().failed, 1u);
  EXPECT_EQ(none.run().maxRatio, INFINITY);
}

TEST(Compare, MeasureErrorsFailsOnlyWhatIsNoNumber) {
  Case test(CompareRule::MeasureErrors, DType::Float32, {1, 1, 1, 1},
            {1, 1.5, 0, NAN});
  std::vector<double> working = {1, 1.25, 1, 1};
  test.job.working = working.data();
  CompareResult result = test.run();
  EXPECT_EQ(result.failed, 1u);
  EXPECT_EQ(result.firstFailed, 3u);
  EXPECT_EQ(result.maxError, 1);
  EXPECT_EQ(result.maxErrorWorking, 0.25);
  EXPECT_EQ(result.squares, 1.25);
}

TEST(Compare, PowerOfTwoCeiling) {
  double justAbove = 4 * (1 + 0x1p-19), justBelow = 8 * (1 - 0x1p-19);
  auto fails = [&](double exact, double got) {
    Case test(CompareRule::PowerOfTwoCeiling, DType::Float32, {exact, 1},
              {got, 1});
    test.job.nearness = 0x1p-18;
    return test.run().failed != 0;
  };
  EXPECT_FALSE(fails(5, 8));
  EXPECT_TRUE(fails(5, 4));
  EXPECT_TRUE(fails(5, 16));
  // A power of two is its own ceiling, and is near itself.
  EXPECT_FALSE(fails(4, 4));
  EXPECT_FALSE(fails(4, 8));
  EXPECT_TRUE(fails(4, 2));
  EXPECT_FALSE(fails(justAbove, 8));
  EXPECT_FALSE(fails(justAbove, 4));
  EXPECT_FALSE(fails(justBelow, 8));
  EXPECT_FALSE(fails(justBelow, 16));
  EXPECT_TRUE(fails(justBelow, 4));
  EXPECT_TRUE(fails(4 * (1 + 0x1p-17), 4));
  EXPECT_TRUE(fails(5, 6));
  EXPECT_TRUE(fails(5, NAN));
}

TEST(Compare, QuantisedGroups) {
  // Groups of two columns; row 0 has the scales 2 and 4, row 1 has 1 and 8.
  std::vector<float> scales = {2, 1, 4, 8};
  Case test(CompareRule::QuantisedGroups, DType::Float8E4M3FN,
            {2, 4, 4, -4, 1, 1, 8, 16}, {1, 2, 1, -1, 1.125, 1.25, 1, -2});
  test.job.scales = scales.data();
  test.job.group = 2;
  CompareResult result = test.run();
  // 1.125 is the next number after 1; 1.25 is two steps away; 2 is not -2.
  EXPECT_EQ(result.different, 3u);
  EXPECT_EQ(result.failed, 2u);
  EXPECT_EQ(result.firstFailed, 5u);
  EXPECT_EQ(test.explain(7).expected, 2);
  // Steps cross zero: from -2^-9 over 0 to 2^-9 they are two.
  Case zero(CompareRule::QuantisedGroups, DType::Float8E4M3FN, {0x1p-9, 0x1p-9},
            {-0.0, -0x1p-9});
  std::vector<float> ones = {1, 1};
  zero.job.scales = ones.data();
  zero.job.group = 1;
  result = zero.run();
  EXPECT_EQ(result.different, 2u);
  EXPECT_EQ(result.firstFailed, 1u);
  // A scale that is no positive number makes all of its group wrong.
  for (float bad : {0.0f, -1.0f, NAN, INFINITY}) {
    ones[0] = bad;
    EXPECT_EQ(zero.run().firstFailed, 0u) << bad;
  }
}

TEST(Compare, Tiles) {
  // 3 x 5 elements in tiles of 2 x 2: three tiles across, two down.
  std::vector<float> got(15);
  std::vector<double> exact(15);
  for (int i = 0; i < 15; ++i)
    exact[i] = got[i] = float(i);
  CompareJob job = {};
  job.rule = CompareRule::Exact;
  job.type = DType::Float32;
  job.got = got.data();
  job.exact = exact.data();
  job.rows = 3;
  job.columns = 5;
  std::vector<int64_t> tiles = {0, 5};
  job.tiles = tiles.data();
  job.tileCount = 2;
  job.tileRows = job.tileColumns = 2;
  std::set<int64_t> elements;
  for (int64_t item = 0; item < getItems(job); ++item)
    elements.insert(getElement(job, item));
  // Tile 0 is whole; of tile 5, row 2 and column 4 are inside.
  EXPECT_EQ(elements, (std::set<int64_t>{-1, 0, 1, 5, 6, 14}));
  CompareResult result = makeEmptyResult();
  got[2] = 100; // In no listed tile.
  got[6] = 100;
  launch("d2k_compare", CompareAllJob{job, &result});
  EXPECT_EQ(result.compared, 5u);
  EXPECT_EQ(result.failed, 1u);
  EXPECT_EQ(result.firstFailed, 6u);
}
