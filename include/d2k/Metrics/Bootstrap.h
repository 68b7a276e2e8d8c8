// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A confidence interval for the trimmed mean of a series whose neighbours are
// correlated: the block bootstrap-t. Runs of neighbouring values are drawn
// with replacement, so that a draw keeps the correlation; each draw gives a t
// value, and the interval is as wide as the quantile of their magnitudes says
// (the symmetric bootstrap-t of Hall 1988; block means as the standard error,
// Goetze and Kuensch 1996).
//
// With few blocks, block means of length L miss the correlation beyond L. The
// standard error is therefore multiplied by what an autoregressive process of
// the lag-one correlation that the series shows would be missing.
//
// The unit test simulates how often the interval holds the true value; for
// independent, skewed, heavy-tailed, quantised and correlated series.

#ifndef D2K_METRICS_BOOTSTRAP_H
#define D2K_METRICS_BOOTSTRAP_H

#include "d2k/Metrics/Statistics.h"

#include <cstdint>

namespace d2k::metrics {

struct BootstrapOptions {
  /// Probability that the interval holds the true value.
  double confidence = 0.95;
  /// Part that is cut off at each end: 0.1 leaves the middle 80%.
  double trim = 0.1;
  unsigned resamples = 999;
  /// Of the draws; the same seed and series give the same interval.
  uint64_t seed = 1;
  /// What the estimate cannot be known better than, whatever the series says;
  /// in its unit. A clock that steps makes whole series constant.
  double resolution = 0;
};

struct Estimate {
  double value = 0;
  Interval interval;
  /// Of the estimate, with the correction for correlation.
  double standardError = 0;
  /// Neighbouring values drawn together.
  unsigned blockLength = 1;
};

/// The trimmed mean of \p series and its interval. Fewer than five values give
/// no interval worth the name: it is then all numbers.
Estimate estimateTrimmedMean(std::span<const double> series,
                             const BootstrapOptions &options = {});

/// The median of \p series and the interval between two order statistics that
/// holds the true median with at least \p confidence, whatever the
/// distribution; made wider for correlation of neighbours. An end is infinite
/// where the series is too short to have one (fewer than six values at 95%).
Estimate estimateMedian(std::span<const double> series,
                        double confidence = 0.95);

} // namespace d2k::metrics

#endif // D2K_METRICS_BOOTSTRAP_H
