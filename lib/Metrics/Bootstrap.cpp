// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block bootstrap-t.

#include "d2k/Metrics/Bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <random>

using namespace d2k;
using namespace d2k::metrics;

/// The lag-one correlation with the bias of small samples taken out (Kendall
/// 1954). Negative correlation narrows an interval; it is not trusted to.
static double correlationFor(std::span<const double> influence) {
  double raw = lagOneCorrelation(influence);
  double corrected = raw + (1 + 3 * raw) / double(influence.size());
  return std::clamp(corrected, 0.0, 0.8);
}

/// The length that is best for the variance of an autoregressive series
/// (Carlstein 1986, for moving blocks).
static unsigned blockLengthFor(double correlation, size_t count) {
  double ratio = correlation / (1 - correlation * correlation);
  double length = std::cbrt(6 * ratio * ratio * double(count));
  // At least five blocks, or their spread says nothing.
  double most = std::max(1.0, double(count) / 5);
  return unsigned(std::clamp(std::round(length), 1.0, most));
}

/// By how much the standard error from means of \p length neighbours is too
/// small: the root of the ratio of the variance of a mean of \p count values
/// to that of independent blocks, for an autoregressive process.
static double missingCorrelation(double correlation, unsigned length,
                                 size_t count) {
  auto varianceFactor = [&](double n) {
    double sum = 1, power = correlation;
    for (unsigned k = 1; k < unsigned(n); ++k, power *= correlation)
      sum += 2 * (1 - k / n) * power;
    return sum;
  };
  return std::sqrt(varianceFactor(double(count)) /
                   varianceFactor(double(length)));
}

/// Standard error of the mean of \p influence from the means of consecutive
/// blocks; an incomplete last one is left out.
static double blockStandardError(std::span<const double> influence,
                                 unsigned length) {
  size_t blocks = influence.size() / length;
  assert(blocks >= 2 && "one block has no spread");
  std::vector<double> means;
  means.reserve(blocks);
  for (size_t block = 0; block != blocks; ++block)
    means.push_back(mean(influence.subspan(block * length, length)));
  return standardDeviation(means) / std::sqrt(double(blocks));
}

Estimate metrics::estimateTrimmedMean(std::span<const double> series,
                                      const BootstrapOptions &options) {
  assert(!series.empty() && "no values");
  size_t count = series.size();
  Estimate result;
  result.value = trimmedMean(series, options.trim);
  double infinity = std::numeric_limits<double>::infinity();
  if (count < 5) {
    result.standardError = infinity;
    result.interval = {-infinity, infinity};
    return result;
  }

  std::vector<double> influence = trimmedMeanInfluence(series, options.trim);
  double correlation = correlationFor(influence);
  unsigned length = blockLengthFor(correlation, count);
  double correction = missingCorrelation(correlation, length, count);
  result.blockLength = length;
  // The resolution enters as a standard error of its own, here and in each
  // draw, so that a draw of equal values does not divide by nothing.
  double floor = options.resolution / 2;
  auto standardErrorOf = [&](std::span<const double> values) {
    return std::hypot(blockStandardError(values, length), floor);
  };
  double standardError = standardErrorOf(influence);
  result.standardError = standardError * correction;
  if (standardError == 0) {
    result.interval = {result.value, result.value};
    return result;
  }

  std::mt19937_64 random(options.seed);
  std::vector<double> draw(count);
  std::vector<double> magnitudes;
  magnitudes.reserve(options.resamples);
  for (unsigned i = 0; i != options.resamples; ++i) {
    for (size_t at = 0; at < count; at += length) {
      // The bias of the remainder is below count / 2^64.
      size_t start = size_t(random() % count);
      for (size_t k = 0; k != length && at + k < count; ++k)
        draw[at + k] = series[(start + k) % count];
    }
    double error = standardErrorOf(trimmedMeanInfluence(draw, options.trim));
    double distance = std::abs(trimmedMean(draw, options.trim) - result.value);
    if (error > 0)
      magnitudes.push_back(distance / error);
    else if (distance > 0)
      magnitudes.push_back(infinity);
    else
      magnitudes.push_back(0);
  }
  // An order statistic, not between two: some may be infinite.
  size_t rank = std::min(
      size_t(std::ceil(options.confidence * double(magnitudes.size() + 1))),
      magnitudes.size());
  std::nth_element(magnitudes.begin(), magnitudes.begin() + rank - 1,
                   magnitudes.end());
  double halfWidth =
      std::max(magnitudes[rank - 1] * result.standardError, options.resolution);
  result.interval = {result.value - halfWidth, result.value + halfWidth};
  return result;
}

Estimate metrics::estimateMedian(std::span<const double> series,
                                 double confidence) {
  assert(!series.empty() && "no values");
  Estimate result;
  result.value = median(series);
  std::vector<double> ordered(series.begin(), series.end());
  std::sort(ordered.begin(), ordered.end());
  double correlation = correlationFor(series);
  double inflation = std::sqrt((1 + correlation) / (1 - correlation));
  // Half the number of values below the median is binomial.
  double z = normalQuantile((1 + confidence) / 2);
  double reach = z * std::sqrt(double(ordered.size())) / 2 * inflation;
  double middle = double(ordered.size()) / 2;
  double low = std::floor(middle - reach);
  double high = std::ceil(middle + reach);
  double infinity = std::numeric_limits<double>::infinity();
  result.interval.low = low >= 1 ? ordered[size_t(low) - 1] : -infinity;
  result.interval.high =
      high < double(ordered.size()) ? ordered[size_t(high)] : infinity;
  result.standardError = result.interval.getHalfWidth() / z;
  return result;
}
