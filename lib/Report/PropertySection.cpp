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

/// "large implemented, small missing" when workloads differ, "only under large"
/// when they differ only in that it does not apply to some.
static std::string describeWorkloads(const PropertyScore &score) {
  const PropertyResult *first = nullptr;
  std::string all, applicable;
  bool differ = false;
  bool everywhere = true;
  for (const PropertyResult &result : score.workloads) {
    if (result.status == Status::NotApplicable) {
      everywhere = false;
    } else {
      applicable += (applicable.empty() ? "" : ", ") + result.workload;
      if (!first)
        first = &result;
      differ |= result.credit != first->credit;
    }
    all += (all.empty() ? "" : ", ") + result.workload + " " +
           getLook(result.status).name;
    if (result.status == Status::Partial)
      all += " " + formatCreditRange(result.credit);
  }
  if (differ)
    return all;
  return first && !everywhere ? "only under " + applicable : std::string();
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

static void writeImprovement(const Improvement &improvement,
                             const Property &property, TextWriter &writer) {
  constexpr size_t kTextColumn = 9;
  writer.pad(2)
      .add("+" + formatPoints(improvement.gain), Style::Green)
      .pad(kTextColumn)
      .add(property.id, Style::Bold)
      .end();
  writer.wrap(kTextColumn, property.hint);
  if (formatPoints(improvement.gatedGain) == formatPoints(improvement.gain))
    return;
  // The gated score may need a prerequisite first.
  std::string note =
      "gated score: +" + formatPoints(std::max(0.0, improvement.gatedGain));
  const char *separator = ", in full after ";
  for (const Gate &gate : property.dependsOn)
    for (const std::string &id : gate.anyOf) {
      note += separator + id;
      separator = " or ";
    }
  writer.wrap(kTextColumn, note, Style::Dim);
}

void ImprovementSection::writeText(const Report &report,
                                   TextWriter &writer) const {
  constexpr size_t kMostMissing = 5;
  constexpr size_t kMostUndecided = 3;
  if (!report.score || report.score->improvements.empty())
    return;
  // What is known to be missing can be acted upon; what is undecided first has
  // to be looked at.
  std::vector<const Improvement *> missing, undecided;
  for (const Improvement &improvement : report.score->improvements) {
    Status status = report.score->properties[improvement.property].status;
    (status == Status::Undecided ? undecided : missing).push_back(&improvement);
  }
  writer.heading("What would raise the score most");
  auto writeFirst = [&](const std::vector<const Improvement *> &list,
                        size_t most) {
    for (size_t i = 0; i < std::min(most, list.size()); ++i)
      writeImprovement(*list[i], report.rubric->properties[list[i]->property],
                       writer);
  };
  writeFirst(missing, kMostMissing);
  if (!undecided.empty())
    writer.pad(2)
        .add("undecided, so perhaps there already:", Style::Yellow)
        .end();
  writeFirst(undecided, kMostUndecided);
}

std::unique_ptr<Section> d2k::report::makePropertySection() {
  return std::make_unique<PropertySection>();
}

std::unique_ptr<Section> d2k::report::makeImprovementSection() {
  return std::make_unique<ImprovementSection>();
}
