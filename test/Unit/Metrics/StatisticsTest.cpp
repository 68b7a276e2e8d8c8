// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics on series small enough to work out by hand.

#include "d2k/Metrics/Statistics.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace d2k::metrics;

using Series = std::vector<double>;

TEST(Statistics, MeanAndSpread) {
  EXPECT_DOUBLE_EQ(mean(Series{1, 2, 6}), 3);
  // Deviations -2, -1, 3: (4 + 1 + 9) / 2 = 7.
  EXPECT_DOUBLE_EQ(standardDeviation(Series{1, 2, 6}), std::sqrt(7.0));
  EXPECT_EQ(standardDeviation(Series{5}), 0);
}

TEST(Statistics, Quantiles) {
  Series values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  // Position 0.25 * 3 = 0.75 between 1 and 2.
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(median(Series{7}), 7);
}

TEST(Statistics, Trimming) {
  EXPECT_DOUBLE_EQ(trimmedMean(Series{100, 1, 3, 2, 4}, 0.2), 3);
  EXPECT_DOUBLE_EQ(trimmedMean(Series{1, 2, 3}, 0), 2);
  // 0.1 of 30 is three although 0.1 * 30 is not exactly 3.
  Series values(30, 1.0);
  values[0] = values[1] = values[2] = 1000;
  EXPECT_DOUBLE_EQ(trimmedMean(values, 0.1), 1);
}

TEST(Statistics, InfluenceOfTrimmedValues) {
  // Winsorised: 2, 2, 3, 4, 4; mean 3; three of five are kept.
  Series influence = trimmedMeanInfluence(Series{1, 2, 3, 4, 100}, 0.2);
  Series expected = {-1 / 0.6, -1 / 0.6, 0, 1 / 0.6, 1 / 0.6};
  ASSERT_EQ(influence.size(), expected.size());
  for (size_t i = 0; i != expected.size(); ++i)
    EXPECT_NEAR(influence[i], expected[i], 1e-12);
}

TEST(Statistics, LagOneCorrelation) {
  // Deviations -1.5, -0.5, 0.5, 1.5: products 0.75 - 0.25 + 0.75 = 1.25 of 5.
  EXPECT_DOUBLE_EQ(lagOneCorrelation(Series{1, 2, 3, 4}), 0.25);
  // Deviations alternate: -3 of 4.
  EXPECT_DOUBLE_EQ(lagOneCorrelation(Series{1, -1, 1, -1}), -0.75);
  EXPECT_EQ(lagOneCorrelation(Series{5, 5, 5, 5}), 0);
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometricMean(Series{1, 4}), 2);
  EXPECT_DOUBLE_EQ(geometricMean(Series{0.5, 2, 1}), 1);
}

TEST(Statistics, NormalQuantile) {
  // Any table of the normal distribution.
  EXPECT_NEAR(normalQuantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normalQuantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(normalQuantile(0.05), -1.644854, 1e-6);
}

TEST(Statistics, ProportionInterval) {
  // z^2 / (n + z^2) = 3.8415 / 103.84 for none of 100.
  EXPECT_NEAR(proportionInterval(0, 100).high, 0.03699, 1e-5);
  EXPECT_EQ(proportionInterval(0, 100).low, 0);
  EXPECT_NEAR(proportionInterval(100, 100).low, 1 - 0.03699, 1e-5);
  // Symmetric around a half.
  Interval half = proportionInterval(50, 100);
  EXPECT_NEAR(half.low + half.high, 1, 1e-12);
}
