// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means, quantiles and trimming.

#include "d2k/Metrics/Statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

using namespace d2k;
using namespace d2k::metrics;

static std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

static size_t trimCount(size_t count, double trim) {
  assert(trim >= 0 && trim < 0.5 && "trimming takes less than all");
  // The tolerance makes 0.1 of 30 three although 0.1 * 30 may be below it.
  return size_t(std::floor(trim * double(count) + 1e-9));
}

double metrics::mean(std::span<const double> values) {
  assert(!values.empty() && "no values");
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(values.size());
}

double metrics::standardDeviation(std::span<const double> values) {
  if (values.size() < 2)
    return 0;
  double center = mean(values);
  double sum = 0;
  for (double value : values)
    sum += (value - center) * (value - center);
  return std::sqrt(sum / double(values.size() - 1));
}

double metrics::quantile(std::span<const double> values, double probability) {
  assert(!values.empty() && "no values");
  assert(probability >= 0 && probability <= 1 && "a probability");
  std::vector<double> ordered = sorted(values);
  double position = probability * double(ordered.size() - 1);
  size_t below = size_t(position);
  if (below + 1 == ordered.size())
    return ordered.back();
  double fraction = position - double(below);
  return ordered[below] + fraction * (ordered[below + 1] - ordered[below]);
}

double metrics::median(std::span<const double> values) {
  return quantile(values, 0.5);
}

double metrics::trimmedMean(std::span<const double> values, double trim) {
  std::vector<double> ordered = sorted(values);
  size_t cut = trimCount(ordered.size(), trim);
  return mean(std::span(ordered).subspan(cut, ordered.size() - 2 * cut));
}

std::vector<double>
metrics::trimmedMeanInfluence(std::span<const double> values, double trim) {
  std::vector<double> ordered = sorted(values);
  size_t cut = trimCount(ordered.size(), trim);
  double low = ordered[cut];
  double high = ordered[ordered.size() - 1 - cut];
  std::vector<double> influence(values.begin(), values.end());
  for (double &value : influence)
    value = std::clamp(value, low, high);
  double center = mean(influence);
  // By what is cut and not by what was asked, which differ for small n.
  double kept = 1 - 2 * double(cut) / double(values.size());
  for (double &value : influence)
    value = (value - center) / kept;
  return influence;
}

double metrics::lagOneCorrelation(std::span<const double> values) {
  if (values.size() < 3)
    return 0;
  double center = mean(values);
  double product = 0, square = 0;
  for (size_t i = 0; i != values.size(); ++i) {
    square += (values[i] - center) * (values[i] - center);
    if (i != 0)
      product += (values[i] - center) * (values[i - 1] - center);
  }
  return square > 0 ? product / square : 0;
}

double metrics::geometricMean(std::span<const double> values) {
  assert(!values.empty() && "no values");
  double sum = 0;
  for (double value : values) {
    assert(value > 0 && "the geometric mean is of positive values");
    sum += std::log(value);
  }
  return std::exp(sum / double(values.size()));
}

double metrics::normalQuantile(double probability) {
  assert(probability > 0 && probability < 1 && "a probability");
  // Bisection on the distribution function, which the library has.
  double low = -40, high = 40;
  while (high - low > 1e-12) {
    double middle = (low + high) / 2;
    double below = 0.5 * std::erfc(-middle / std::sqrt(2.0));
    (below < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

Interval metrics::proportionInterval(unsigned successes, unsigned trials,
                                     double confidence) {
  assert(trials > 0 && successes <= trials && "a part of something");
  double z = normalQuantile((1 + confidence) / 2);
  double n = trials, part = successes / n;
  double center = (part + z * z / (2 * n)) / (1 + z * z / n);
  double reach = z / (1 + z * z / n) *
                 std::sqrt(part * (1 - part) / n + z * z / (4 * n * n));
  return {std::max(0.0, center - reach), std::min(1.0, center + reach)};
}
