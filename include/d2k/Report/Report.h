// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One report, several writers. A report is a list of sections, each of which
// knows its text for people and its members of the JSON document, so that the
// two cannot drift apart. Reports are functions of the model: no clock, no
// path of this machine, no pointer order.
//
//   Report report;
//   report.analysis = &analysis;
//   report.rubric = &rubric;   // with a score
//   report.score = &score;
//   std::cout << renderText(report, {.color = true});
//   std::cout << json::dump(renderJson(report));

#ifndef D2K_REPORT_REPORT_H
#define D2K_REPORT_REPORT_H

#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Rubric/Score.h"
#include "d2k/Support/Json.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::report {

/// One entry of a comparison with an earlier report.
struct Change {
  /// Id of a rubric's property, or a fact: `copy (bytes 16) in kernel k`.
  std::string subject;
  /// "missing (0)"; empty for facts.
  std::string before, after;
};

/// What changed since an earlier report. Properties are compared when both
/// have a score for the same task, facts of kernels otherwise.
struct BaselineComparison {
  /// Combined scores (low end), when both have one.
  std::optional<double> combinedBefore, combinedAfter;
  /// Both targets when they differ: then the compiler, and which properties a
  /// rubric asks for, may differ, too.
  std::string targetBefore, targetAfter;
  std::vector<Change> gained, lost;

  bool empty() const { return gained.empty() && lost.empty(); }
};

/// What to report. Pointers must outlive it.
struct Report {
  const Analysis *analysis = nullptr;
  /// Both or neither.
  const rubric::Rubric *rubric = nullptr;
  const rubric::Score *score = nullptr;
  const BaselineComparison *comparison = nullptr;
  /// List the facts of every kernel also when there is a score (text only; the
  /// JSON always has them).
  bool listFacts = false;
  /// Put the seconds of each tier into the JSON; two runs then differ.
  bool withSeconds = false;
};

/// How text looks.
struct TextOptions {
  /// Escape sequences for colour; see d2k::useColor.
  bool color = false;
  /// Columns to wrap prose at.
  unsigned width = 100;
  /// Places listed for one fact or property; the rest is counted.
  unsigned maxPlaces = 3;
};

/// The report for people. Untrusted text in it is sanitised.
std::string renderText(const Report &report, const TextOptions &options);

/// The report as docs/schemas/analysis.schema.json describes it.
json::Value renderJson(const Report &report);

/// Compares \p report with the earlier JSON report \p baseline. Fails with kind
/// Input when that does not conform to the schema.
Result<BaselineComparison> compareWithBaseline(const json::Document &baseline,
                                               const Report &report);

/// The schema of d2k.analysis/1 that this program was built with.
std::string_view getAnalysisSchemaText();

/// The properties of \p catalog, one a line with their tiers and whether this
/// version detects them, for `--list-properties`.
std::string renderPropertyList(const PropertyCatalog &catalog,
                               const TextOptions &options);

} // namespace d2k::report

#endif // D2K_REPORT_REPORT_H
