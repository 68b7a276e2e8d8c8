// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A section of a report: its text and its members of the JSON document.

#ifndef D2K_REPORT_SECTION_H
#define D2K_REPORT_SECTION_H

#include "TextWriter.h"

#include "d2k/Report/Report.h"

#include <memory>
#include <vector>

namespace d2k::report {

class Section {
public:
  virtual ~Section() = default;

  /// Writes nothing when there is nothing to say.
  virtual void writeText(const Report &report, TextWriter &writer) const = 0;
  /// Adds members to the document; sections whose content stands in another
  /// one's members add none.
  virtual void addJson(const Report &report, json::Object &document) const {}
};

/// Target, inputs and how reading each tier went.
std::unique_ptr<Section> makeOverviewSection();
/// Combined score, levels, range, gated score; the whole `score` member.
std::unique_ptr<Section> makeScoreSection();
/// Every property of the rubric with status and evidence.
std::unique_ptr<Section> makePropertySection();
/// What would raise the score most.
std::unique_ptr<Section> makeImprovementSection();
/// The kernels, and `kernels` and `host` with all facts.
std::unique_ptr<Section> makeKernelSection();
/// Facts of each kernel and of the host.
std::unique_ptr<Section> makeFactSection();
/// Near misses, and what could not be decided.
std::unique_ptr<Section> makeNearMissSection();
/// What changed since a baseline.
std::unique_ptr<Section> makeComparisonSection();

/// `copy (bytes 16, kind bulk)`.
std::string describeFact(const Fact &fact);

} // namespace d2k::report

#endif // D2K_REPORT_SECTION_H
