// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The head of a report: what was analysed, for which target, and which tiers
// could be read.

#include "FactJson.h"
#include "Section.h"

using namespace d2k;
using namespace d2k::report;

namespace {

class OverviewSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
  void addJson(const Report &report, json::Object &document) const override;
};

} // namespace

static Style getStateStyle(TierState state) {
  switch (state) {
  case TierState::Ok:
    return Style::Green;
  case TierState::Partial:
    return Style::Yellow;
  case TierState::Unavailable:
    return Style::Dim;
  case TierState::Failed:
    return Style::Red;
  }
  return Style::Plain;
}

void OverviewSection::writeText(const Report &report,
                                TextWriter &writer) const {
  // A list of hundreds of messages hides the rest of the report.
  constexpr size_t kMostDiagnostics = 10;
  const Analysis &analysis = *report.analysis;
  for (size_t i = 0; i < analysis.inputs.size(); ++i)
    writer.add(i == 0 ? "" : ", ").add(analysis.inputs[i].path, Style::Bold);
  writer.add(analysis.inputs.empty() ? "for " : " for ")
      .add(analysis.target, Style::Bold)
      .end();
  for (const auto &[tier, status] : analysis.tiers) {
    writer.pad(2).add(getTierName(tier)).pad(13);
    writer.add(getTierStateName(status.state), getStateStyle(status.state));
    if (!status.tool.empty())
      writer.pad(26).add(status.tool);
    if (!status.reason.empty())
      writer.pad(26)
          .add(status.tool.empty() ? "" : ": ")
          .wrap(26, status.reason);
    else
      writer.end();
    size_t shown = 0;
    for (const std::string &message : status.diagnostics) {
      if (shown++ == kMostDiagnostics) {
        writer.pad(4)
            .add("and " +
                     std::to_string(status.diagnostics.size() -
                                    kMostDiagnostics) +
                     " more messages",
                 Style::Dim)
            .end();
        break;
      }
      // As the tool said it: a place that is broken over two lines can neither
      // be clicked nor searched for.
      writer.pad(4).add(message, Style::Dim).end();
    }
  }
}

void OverviewSection::addJson(const Report &report,
                              json::Object &document) const {
  const Analysis &analysis = *report.analysis;
  document.append("schema", "d2k.analysis/1");
  document.append("target", analysis.target);
  json::Array inputs;
  for (const InputFile &input : analysis.inputs)
    inputs.push_back(
        json::Object{{"path", input.path}, {"sha256", input.sha256}});
  document.append("inputs", std::move(inputs));
  json::Object tiers;
  for (const auto &[tier, status] : analysis.tiers) {
    json::Object entry;
    entry.append("status", getTierStateName(status.state));
    entry.append("reason", status.reason);
    entry.append("diagnostics", toJson(status.diagnostics));
    entry.append("tool", status.tool);
    if (report.withSeconds && status.seconds)
      entry.append("seconds", *status.seconds);
    if (report.withSeconds && status.toolSeconds)
      entry.append("tool_seconds", *status.toolSeconds);
    tiers.append(std::string(getTierName(tier)), std::move(entry));
  }
  document.append("tiers", std::move(tiers));
}

std::unique_ptr<Section> d2k::report::makeOverviewSection() {
  return std::make_unique<OverviewSection>();
}
