// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of two programs is faster, from blocks of four samples in the order
// baseline, candidate, candidate, baseline, or the other way round. A drift
// that is linear over a block (a clock that warms up) adds the same to both
// sides of the block's ratio and cancels.
//
// The number of blocks is fixed by a pilot, before the result is looked at;
// one extension is allowed and depends on the width of the interval only.
// Looking after each block and stopping when it suits makes nominal 95%
// intervals hold the true value in 67 to 74% of cases.

#ifndef D2K_METRICS_COMPARISON_H
#define D2K_METRICS_COMPARISON_H

#include "d2k/Metrics/Bootstrap.h"

#include <optional>
#include <string_view>

namespace d2k::metrics {

/// Four times of one block, any one unit, all positive.
struct AbbaBlock {
  double baselineFirst = 0;
  double candidateFirst = 0;
  double candidateSecond = 0;
  double baselineSecond = 0;

  /// Logarithm of baseline over candidate, from the geometric means of the
  /// two samples of each: 0 when equal, log 2 when the candidate takes half
  /// the time.
  double getLogSpeedup() const;
};

/// What a comparison says.
enum class ComparisonVerdict : uint8_t {
  /// The whole interval is within the band around 1.
  Same,
  /// The candidate takes less time.
  Faster,
  /// The candidate takes more time.
  Slower,
  /// The interval contains 1 and is wider than the band.
  Ambiguous,
};

/// "same", "faster", "slower", "ambiguous".
std::string_view getVerdictName(ComparisonVerdict verdict);

struct ComparisonConfig {
  double confidence = 0.95;
  /// Part of the blocks cut off at each end.
  double trim = 0.1;
  /// A speedup in [1 - band, 1 + band] is no difference.
  double band = 0.01;
  /// The half-width of the interval of the log speedup that the number of
  /// blocks is chosen for. With 0.004, equal programs come out as Same unless
  /// the estimate is off by three standard errors.
  double targetHalfWidth = 0.004;
  /// The same for programs that differ by more than farDifference, as the pilot
  /// has it: whether they are the same is no question, and 1% is as much as a
  /// speedup of 3 can be used with.
  double farHalfWidth = 0.01;
  double farDifference = 0.15;
  /// Blocks before the number is fixed; they count.
  unsigned pilotBlocks = 20;
  /// Never more than this.
  unsigned maxBlocks = 400;
  uint64_t seed = 1;
};

/// How fast a candidate is beside the baseline.
struct Comparison {
  ComparisonVerdict verdict = ComparisonVerdict::Ambiguous;
  /// baseline / candidate and its interval.
  double speedup = 1;
  Interval interval;
  /// Half-width of the interval of the logarithm.
  double logHalfWidth = 0;
  unsigned blocks = 0;
  unsigned blockLength = 1;
  double lagOneCorrelation = 0;
};

/// The verdict for an interval of the speedup.
ComparisonVerdict judge(const Interval &speedup, double band);

/// How far the log speedup may be off although every sample is equal, when the
/// clock steps by \p stepNs and the samples, \p samples a side, last
/// \p baselineNs and \p candidateNs. A duration that is not a multiple of the
/// step reads as one of two multiples, with odds by the rest; if it read the
/// same in all samples, the rest is below 3 / samples of a step at 95%.
double getLogResolution(double stepNs, unsigned samples, double baselineNs,
                        double candidateNs);

/// Compares; \p logResolution is a lower limit of the half-width.
Comparison compare(std::span<const AbbaBlock> blocks,
                   const ComparisonConfig &config, double logResolution = 0);

/// The number of blocks to take in all after the pilot, at least as many as it
/// has and at most \p affordable or maxBlocks. 5 is the least that gives an
/// interval.
unsigned planBlocks(std::span<const AbbaBlock> pilot,
                    const ComparisonConfig &config, unsigned affordable);

/// After the planned blocks: the number to go on to, at most twice as many,
/// when the interval is wider than the target and more can be afforded. To be
/// asked once.
std::optional<unsigned> planExtension(std::span<const AbbaBlock> blocks,
                                      const ComparisonConfig &config,
                                      unsigned affordable);

/// The speedup of a task: the geometric mean over its workloads, and its
/// interval when their errors are independent. \p workloads is not empty.
struct TaskSpeedup {
  double value = 1;
  Interval interval;
};
TaskSpeedup combineWorkloads(std::span<const Comparison> workloads);

} // namespace d2k::metrics

#endif // D2K_METRICS_COMPARISON_H
