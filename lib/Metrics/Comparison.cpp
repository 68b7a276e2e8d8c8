// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison of two programs by ABBA blocks.

#include "d2k/Metrics/Comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace d2k;
using namespace d2k::metrics;

double AbbaBlock::getLogSpeedup() const {
  assert(baselineFirst > 0 && baselineSecond > 0 && candidateFirst > 0 &&
         candidateSecond > 0 && "a time is positive");
  return (std::log(baselineFirst) + std::log(baselineSecond) -
          std::log(candidateFirst) - std::log(candidateSecond)) /
         2;
}

std::string_view metrics::getVerdictName(ComparisonVerdict verdict) {
  switch (verdict) {
  case ComparisonVerdict::Same:
    return "same";
  case ComparisonVerdict::Faster:
    return "faster";
  case ComparisonVerdict::Slower:
    return "slower";
  case ComparisonVerdict::Ambiguous:
    break;
  }
  return "ambiguous";
}

ComparisonVerdict metrics::judge(const Interval &speedup, double band) {
  if (Interval{1 - band, 1 + band}.contains(speedup))
    return ComparisonVerdict::Same;
  if (speedup.low > 1)
    return ComparisonVerdict::Faster;
  if (speedup.high < 1)
    return ComparisonVerdict::Slower;
  return ComparisonVerdict::Ambiguous;
}

double metrics::getLogResolution(double stepNs, unsigned samples,
                                 double baselineNs, double candidateNs) {
  assert(samples > 0 && baselineNs > 0 && candidateNs > 0 &&
         "resolution of something");
  double rest = stepNs * std::min(1.0, 3.0 / samples);
  return rest / baselineNs + rest / candidateNs;
}

static Estimate estimateLogSpeedup(std::span<const AbbaBlock> blocks,
                                   const ComparisonConfig &config,
                                   double logResolution) {
  std::vector<double> series;
  series.reserve(blocks.size());
  for (const AbbaBlock &block : blocks)
    series.push_back(block.getLogSpeedup());
  BootstrapOptions options;
  options.confidence = config.confidence;
  options.trim = config.trim;
  options.seed = config.seed;
  options.resolution = logResolution;
  return estimateTrimmedMean(series, options);
}

Comparison metrics::compare(std::span<const AbbaBlock> blocks,
                            const ComparisonConfig &config,
                            double logResolution) {
  Estimate estimate = estimateLogSpeedup(blocks, config, logResolution);
  Comparison result;
  result.speedup = std::exp(estimate.value);
  result.interval = {std::exp(estimate.interval.low),
                     std::exp(estimate.interval.high)};
  result.logHalfWidth = estimate.interval.getHalfWidth();
  result.blocks = unsigned(blocks.size());
  result.blockLength = estimate.blockLength;
  std::vector<double> series;
  for (const AbbaBlock &block : blocks)
    series.push_back(block.getLogSpeedup());
  result.lagOneCorrelation = lagOneCorrelation(series);
  result.verdict = judge(result.interval, config.band);
  return result;
}

/// Blocks that bring the half-width from \p halfWidth at \p count blocks to
/// the target; a tenth more, because the former is an estimate.
static double neededBlocks(size_t count, double halfWidth, double target) {
  double ratio = halfWidth / target;
  return std::ceil(1.1 * double(count) * ratio * ratio);
}

/// The half-width to reach for programs that differ as \p estimate says.
static double getTarget(const Estimate &estimate,
                        const ComparisonConfig &config) {
  double far = std::log1p(config.farDifference);
  return estimate.interval.low > far || estimate.interval.high < -far
             ? config.farHalfWidth
             : config.targetHalfWidth;
}

unsigned metrics::planBlocks(std::span<const AbbaBlock> pilot,
                             const ComparisonConfig &config,
                             unsigned affordable) {
  double most = std::max<double>(5, std::min(affordable, config.maxBlocks));
  double least = std::min<double>(double(pilot.size()), most);
  if (pilot.size() < 5)
    return unsigned(most);
  Estimate estimate = estimateLogSpeedup(pilot, config, 0);
  double halfWidth = estimate.interval.getHalfWidth();
  double target = getTarget(estimate, config);
  if (halfWidth <= target)
    return unsigned(least);
  return unsigned(
      std::clamp(neededBlocks(pilot.size(), halfWidth, target), least, most));
}

std::optional<unsigned>
metrics::planExtension(std::span<const AbbaBlock> blocks,
                       const ComparisonConfig &config, unsigned affordable) {
  if (blocks.size() < 5)
    return std::nullopt;
  Estimate estimate = estimateLogSpeedup(blocks, config, 0);
  double halfWidth = estimate.interval.getHalfWidth();
  double target = getTarget(estimate, config);
  double most = std::min({2.0 * double(blocks.size()), double(affordable),
                          double(config.maxBlocks)});
  if (halfWidth <= target || most <= double(blocks.size()))
    return std::nullopt;
  return unsigned(
      std::min(neededBlocks(blocks.size(), halfWidth, target), most));
}

TaskSpeedup metrics::combineWorkloads(std::span<const Comparison> workloads) {
  assert(!workloads.empty() && "a task has a workload");
  double sum = 0, squares = 0;
  for (const Comparison &workload : workloads) {
    sum += std::log(workload.speedup);
    squares += workload.logHalfWidth * workload.logHalfWidth;
  }
  double count = double(workloads.size());
  double center = sum / count;
  double halfWidth = std::sqrt(squares) / count;
  return {std::exp(center),
          {std::exp(center - halfWidth), std::exp(center + halfWidth)}};
}
