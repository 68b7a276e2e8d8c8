// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a schema cannot say about a rubric: that it speaks of properties,
// attributes and values that exist, that every architecture and every item of
// the guidance is covered, and that no predicate holds by accident.

#ifndef D2K_RUBRIC_LINT_H
#define D2K_RUBRIC_LINT_H

#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Rubric/Guidance.h"
#include "d2k/Rubric/Rubric.h"

#include <string>
#include <vector>

namespace d2k::rubric {

/// Architectures that every property must say something about.
inline constexpr std::string_view kRequiredArchitectures[] = {"sm_80", "sm_90a",
                                                              "sm_100a"};

/// What a rubric is checked against; what is null is not checked.
struct LintContext {
  const PropertyCatalog *catalog = nullptr;
  const Guidance *guidance = nullptr;
  /// Ids of the task's workloads that are scored.
  const std::vector<std::string> *workloads = nullptr;
};

/// All faults of \p rubric, each `PATH: message` with the JSON path, in
/// document order.
std::vector<std::string> lintRubric(const Rubric &rubric,
                                    const LintContext &context);

} // namespace d2k::rubric

#endif // D2K_RUBRIC_LINT_H
