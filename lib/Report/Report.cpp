// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts sections together.

#include "d2k/Report/Report.h"

#include "Section.h"

#include <cassert>

using namespace d2k;
using namespace d2k::report;

/// In the order of the text; the JSON's order of members follows from it.
static std::vector<std::unique_ptr<Section>> makeSections() {
  std::vector<std::unique_ptr<Section>> sections;
  sections.push_back(makeOverviewSection());
  sections.push_back(makeKernelSection());
  sections.push_back(makeScoreSection());
  sections.push_back(makePropertySection());
  sections.push_back(makeImprovementSection());
  sections.push_back(makeFactSection());
  sections.push_back(makeNearMissSection());
  sections.push_back(makeComparisonSection());
  return sections;
}

static void checkReport(const Report &report) {
  assert(report.analysis && "a report is about an analysis");
  assert(!report.rubric == !report.score && "a score has a rubric");
  (void)report;
}

std::string d2k::report::renderText(const Report &report,
                                    const TextOptions &options) {
  checkReport(report);
  TextWriter writer(options);
  for (const std::unique_ptr<Section> &section : makeSections())
    section->writeText(report, writer);
  return writer.take();
}

json::Value d2k::report::renderJson(const Report &report) {
  checkReport(report);
  json::Object document;
  for (const std::unique_ptr<Section> &section : makeSections())
    section->addJson(report, document);
  return document;
}

std::string d2k::report::renderPropertyList(const PropertyCatalog &catalog,
                                            const TextOptions &options) {
  static constexpr const char *kGroups[] = {"Moving data",
                                            "Computing",
                                            "Dividing and scheduling the work",
                                            "Reductions and algorithms",
                                            "Fusing, and the host side",
                                            "Between GPUs"};
  TextWriter writer(options);
  char group = 0;
  for (const PropertyInfo &info : catalog.getProperties()) {
    if (info.group != group) {
      group = info.group;
      writer.heading(kGroups[group - 'A']);
    }
    std::string tiers;
    for (Tier tier : info.decidingTiers.toVector())
      tiers += (tiers.empty() ? "" : ", ") + std::string(getTierName(tier));
    writer.pad(2)
        .add(info.id, Style::Bold)
        .pad(32)
        .add(tiers)
        .pad(48)
        .add(info.isImplemented() ? "detected" : "not detected yet",
             info.isImplemented() ? Style::Green : Style::Dim)
        .end();
    writer.pad(6)
        .add("holds when ", Style::Dim)
        .wrap(6, info.summary, Style::Dim);
    for (const AttributeInfo &attribute : info.attributes) {
      std::string text = attribute.name + ": " +
                         std::string(getAttrTypeName(attribute.type)) + ", " +
                         attribute.meaning;
      for (size_t i = 0; i < attribute.values.size(); ++i)
        text += (i == 0 ? " (" : ", ") + attribute.values[i];
      writer.wrap(6, attribute.values.empty() ? text : text + ")");
    }
  }
  return writer.take();
}
