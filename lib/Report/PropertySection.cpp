// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rubric's properties, level by level, with their evidence; and what would
// raise the score most. Their JSON is in the `score` member.

#include "Section.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::report;
using namespace d2k::rubric;

namespace {

class PropertySection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
};

class ImprovementSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
};

struct StatusLook {
  /// Also without colour the statuses are told apart at a glance.
  const char *mark;
  const char *name;
  Style style;
};

} // namespace

static StatusLook getLook(Status status) {
  switch (status) {
  case Status::Implemented:
    return {"+", "implemented", Style::Green};
  case Status::Partial:
    return {"~", "partial", Style::Yellow};
  case Status::Missing:
    return {"-", "missing", Style::Red};
  case Status::Undecided:
    return {"?", "undecided", Style::Yellow};
  case Status::NotApplicable:
    return {".", "not applicable", Style::Dim};
  }
  return {" ", "", Style::Plain};
}

/// "0.5", or "0 to 0.5".
static std::string formatCreditRange(Interval credit) {
  std::string text = formatCredit(credit.lo);
  if (formatCredit(credit.hi) != text)
    text += " to " + formatCredit(credit.hi);
  return text;
}

/// "large implemented, small missing" when workloads differ.
static std::string describeWorkloads(const PropertyScore &score) {
  std::string text;
  bool differ = false;
  for (const PropertyResult &result : score.workloads) {
    const PropertyResult &first = score.workloads.front();
    differ |= result.status != first.status || result.credit != first.credit;
    text += (text.empty() ? "" : ", ") + result.workload + " " +
            getLook(result.status).name;
    if (result.status == Status::Partial)
      text += " " + formatCreditRange(result.credit);
  }
  return differ ? text : std::string();
}

static void writeProperty(const PropertyScore &score, const Property &property,
                          TextWriter &writer) {
  constexpr size_t kTextColumn = 8;
  StatusLook look = getLook(score.status);
  writer.pad(2).add(look.mark, look.style).add(" ");
  std::string status = look.name;
  if (score.status == Status::Partial || score.status == Status::Undecided)
    status += " " + formatCreditRange(score.credit);
  writer.add(status, look.style).pad(26);
  writer.add(property.id, Style::Bold)
      .add("  " + property.guidance + ", weight " +
               formatCredit(property.weight),
           Style::Dim)
      .end();
  writer.wrap(kTextColumn, property.title);
  if (!score.because.empty())
    writer.wrap(kTextColumn, score.because, Style::Dim);
  writer.places(kTextColumn, score.where);
  if (std::string workloads = describeWorkloads(score); !workloads.empty())
    writer.wrap(kTextColumn, workloads, Style::Dim);
  if (!score.wouldDecide.empty())
    writer.pad(kTextColumn)
        .add("would decide: ", Style::Yellow)
        .wrap(kTextColumn + 4, score.wouldDecide);
  if (!score.blockedBy.empty()) {
    std::string names;
    for (const std::string &id : score.blockedBy)
      names += (names.empty() ? "" : ", ") + id;
    writer.pad(kTextColumn)
        .add("blocked by: ", Style::Yellow)
        .wrap(kTextColumn + 4, names);
  }
}

void PropertySection::writeText(const Report &report,
                                TextWriter &writer) const {
  if (!report.score)
    return;
  static constexpr const char *kTitles[] = {"L1 algorithmic insight",
                                            "L2 dataflow design",
                                            "L3 low-level optimization"};
  for (unsigned level = 0; level < kNumLevels; ++level) {
    bool started = false;
    for (const PropertyScore &score : report.score->properties) {
      const Property &property = report.rubric->properties[score.property];
      if (property.level != level)
        continue;
      if (!started)
        writer.heading(kTitles[level]);
      started = true;
      writeProperty(score, property, writer);
    }
  }
}

void ImprovementSection::writeText(const Report &report,
                                   TextWriter &writer) const {
  constexpr size_t kMost = 5;
  if (!report.score || report.score->improvements.empty())
    return;
  writer.heading("What would raise the score most");
  const std::vector<Improvement> &list = report.score->improvements;
  for (size_t i = 0; i < std::min(kMost, list.size()); ++i) {
    const Property &property = report.rubric->properties[list[i].property];
    const PropertyScore &score = report.score->properties[list[i].property];
    writer.pad(2)
        .add("+" + formatPoints(list[i].gain), Style::Green)
        .pad(9)
        .add(property.id, Style::Bold);
    if (score.status == Status::Undecided)
      writer.add(" (undecided: perhaps it is there)", Style::Yellow);
    writer.end();
    writer.wrap(9, property.hint);
    if (formatPoints(list[i].gatedGain) == formatPoints(list[i].gain))
      continue;
    // The gated score may need a prerequisite first.
    std::string note =
        "gated score: +" + formatPoints(std::max(0.0, list[i].gatedGain));
    for (const Gate &gate : property.dependsOn)
      for (const std::string &id : gate.anyOf)
        note += (note.find("after") == std::string::npos ? ", in full after "
                                                         : " or ") +
                id;
    writer.wrap(9, note, Style::Dim);
  }
}

std::unique_ptr<Section> d2k::report::makePropertySection() {
  return std::make_unique<PropertySection>();
}

std::unique_ptr<Section> d2k::report::makeImprovementSection() {
  return std::make_unique<ImprovementSection>();
}
