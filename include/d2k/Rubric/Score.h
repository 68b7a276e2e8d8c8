// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The implementation score of an analysis under a rubric: credit, status and
// evidence of each property per workload, level scores, the combined score with
// its range, the gated score beside it, and what would raise the score most.
// docs/RubricFormat.md has the rules; test/Unit/Rubric works each by hand.

#ifndef D2K_RUBRIC_SCORE_H
#define D2K_RUBRIC_SCORE_H

#include "d2k/Rubric/Evaluate.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace d2k::rubric {

/// What a credit amounts to.
enum class Status : uint8_t {
  Implemented,
  Partial,
  Missing,
  Undecided,
  NotApplicable,
};

/// "implemented", "partial", "missing", "undecided", "not_applicable".
std::string_view getStatusName(Status status);

/// The status of a credit: Implemented when lo = 1, Missing when hi = 0,
/// Partial when 0 < lo < 1, Undecided when lo = 0 < hi.
Status getStatus(Interval credit);

/// One property under one workload.
struct PropertyResult {
  std::string workload;
  Status status = Status::NotApplicable;
  /// Meaningless when not applicable.
  Interval credit;
  /// Credit after gating.
  Interval gatedCredit;
  /// Prerequisites that lowered the gated credit.
  std::vector<std::string> blockedBy;
  /// Why this credit, or why it is not applicable.
  std::vector<std::string> because;
  std::vector<std::string> wouldDecide;
  std::vector<SourceLocation> where;
};

/// One property over all workloads.
struct PropertyScore {
  /// Index in Rubric::properties.
  size_t property = 0;
  Status status = Status::NotApplicable;
  /// Means over the workloads where it applies.
  Interval credit;
  Interval gatedCredit;
  std::vector<std::string> blockedBy;
  /// From the workload with the least credit, which is named when workloads
  /// differ.
  std::string because;
  std::string wouldDecide;
  std::vector<SourceLocation> where;
  std::vector<PropertyResult> workloads;
};

/// Points, 0 to 100, of one workload or of all.
struct Points {
  /// Mean of the levels that have something applicable.
  Interval combined;
  /// Nothing when nothing of the level is applicable.
  std::array<std::optional<Interval>, kNumLevels> levels;
  /// Over all properties, whatever their level.
  Interval itemWeighted;
};

struct WorkloadScore {
  std::string id;
  /// Indices in Analysis::kernels of the kernels on its path.
  std::vector<size_t> kernels;
  Points ungated, gated;
};

/// What full credit for one property would add.
struct Improvement {
  size_t property = 0;
  /// To the combined score, ungated and gated.
  double gain = 0;
  double gatedGain = 0;
};

/// The score. The headline is ungated.combined.lo: what is proved.
struct Score {
  std::string task;
  Points ungated, gated;
  /// All three static tiers were read whole; a benchmark result needs that.
  bool complete = false;
  std::vector<std::string> incompleteBecause;
  std::vector<WorkloadScore> workloads;
  /// In the order of the rubric.
  std::vector<PropertyScore> properties;
  /// Largest gain first; properties without gain are left out.
  std::vector<Improvement> improvements;
  /// Levels in which nothing is applicable.
  std::vector<unsigned> emptyLevels;
};

/// Scores \p analysis under \p rubric and \p workloads (ids; none stands for
/// one unnamed workload, to which everything applies).
Score computeScore(const Rubric &rubric, const Analysis &analysis,
                   const PropertyCatalog &catalog,
                   const std::vector<std::string> &workloads);

} // namespace d2k::rubric

#endif // D2K_RUBRIC_SCORE_H
