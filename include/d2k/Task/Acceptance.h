// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The named acceptance rules of the harness, for outputs that no bound on an
// error describes.

#ifndef D2K_TASK_ACCEPTANCE_H
#define D2K_TASK_ACCEPTANCE_H

#include "d2k/Task/Task.h"

namespace d2k::task {

enum class AcceptanceKind : uint8_t {
  /// The smallest power of two that is not below a positive value: for the
  /// value 5 it is 8. When the value is within `nearness`, relative, of a power
  /// of two, that power and its double are both accepted, because rounding of
  /// the value decides. Parameter: nearness.
  PowerOfTwoCeiling,
  /// Values divided by a power of two, a scale for each group of columns, and
  /// rounded to the output's type. The scales are those that the submission
  /// wrote to another output, whose own rule judges them. Each element may be
  /// one step of the type away from the rounded exact quotient, and at most the
  /// share max_different of all elements may differ at all. Parameters: scales
  /// (an output, [groups, rows]), group (columns), max_different.
  QuantisedGroups,
  /// The task's reference.cu judges the output itself, by d2k_reference_accept
  /// of d2k/Task/Reference.h. For outputs that are right in more than one way:
  /// a list of ids with ties, a sampled token.
  Reference,
};

/// A rule with its parameters.
struct AcceptanceSpec {
  AcceptanceKind kind = AcceptanceKind::PowerOfTwoCeiling;
  double nearness = 0;
  /// Index among the task's outputs.
  size_t scales = 0;
  int64_t group = 1;
  double maxDifferent = 0;
};

/// The rule of \p output of \p task, whose tolerance is an acceptance rule.
/// Fails with kind Input on an unknown rule and on parameters that it lacks or
/// that do not fit the task.
Result<AcceptanceSpec> getAcceptance(const Task &task, const Tensor &output);

} // namespace d2k::task

#endif // D2K_TASK_ACCEPTANCE_H
