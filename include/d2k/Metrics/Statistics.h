// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain statistics of a series of numbers. Every function takes the series in
// the order in which it was measured and leaves it alone. An empty series is a
// programmer's error unless said otherwise.

#ifndef D2K_METRICS_STATISTICS_H
#define D2K_METRICS_STATISTICS_H

#include <span>
#include <vector>

namespace d2k::metrics {

/// A closed interval.
struct Interval {
  double low = 0;
  double high = 0;

  double getHalfWidth() const { return (high - low) / 2; }
  bool contains(double value) const { return low <= value && value <= high; }
  /// The other interval lies inside this one.
  bool contains(const Interval &other) const {
    return low <= other.low && other.high <= high;
  }
};

double mean(std::span<const double> values);

/// With divisor n - 1; 0 for a single value.
double standardDeviation(std::span<const double> values);

/// The quantile \p probability in [0, 1], linear between order statistics
/// (type 7 of Hyndman and Fan): of 1, 2, 3, 4 the median is 2.5.
double quantile(std::span<const double> values, double probability);
double median(std::span<const double> values);

/// The mean without the floor(trim * n) smallest and as many largest values.
/// Of 1, 2, 3, 4, 100 with trim 0.2 it is 3. \p trim is below 0.5.
double trimmedMean(std::span<const double> values, double trim);

/// What each value adds to the error of the trimmed mean: the winsorised value
/// less the mean of those, divided by 1 - 2 * trim. Their mean is 0, and the
/// trimmed mean has about the variance of the mean of these (Tukey and
/// McLaughlin 1963).
std::vector<double> trimmedMeanInfluence(std::span<const double> values,
                                         double trim);

/// Correlation of each value with the next; 0 for a constant series and for
/// fewer than three values.
double lagOneCorrelation(std::span<const double> values);

/// exp(mean(log)). All values are positive.
double geometricMean(std::span<const double> values);

/// The value below which a standard normal variable lies with probability
/// \p probability, which is strictly between 0 and 1: 1.959964 for 0.975.
double normalQuantile(double probability);

/// The interval of a proportion of which \p successes of \p trials were seen,
/// by Wilson's score at \p confidence: of 0 of 100 at 95% it is [0, 0.037].
Interval proportionInterval(unsigned successes, unsigned trials,
                            double confidence = 0.95);

} // namespace d2k::metrics

#endif // D2K_METRICS_STATISTICS_H
