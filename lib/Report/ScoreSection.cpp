// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The score: combined, by level and by workload, with ranges; and the whole
// `score` member of the JSON.

#include "FactJson.h"
#include "Section.h"

#include <algorithm>
#include <cmath>

using namespace d2k;
using namespace d2k::report;
using namespace d2k::rubric;

namespace {

class ScoreSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
  void addJson(const Report &report, json::Object &document) const override;
};

} // namespace

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The id of a workload as people read it.
static std::string getWorkloadName(const std::string &id) {
  return id.empty() ? "(unnamed)" : id;
}

static std::string formatRange(Interval points) {
  std::string text = formatPoints(points.lo);
  if (formatPoints(points.hi) != text)
    text += " to " + formatPoints(points.hi);
  return text;
}

/// `[########????....]`: proved, open, refuted.
static void writeBar(Interval points, TextWriter &writer) {
  constexpr size_t kCells = 30;
  auto getCells = [](double value) {
    return size_t(std::lround(std::clamp(value, 0.0, 100.0) / 100 * kCells));
  };
  size_t proved = getCells(points.lo);
  size_t open = getCells(points.hi) - proved;
  writer.add("[")
      .add(std::string(proved, '#'), Style::Green)
      .add(std::string(open, '?'), Style::Yellow)
      .add(std::string(kCells - proved - open, '.'), Style::Dim)
      .add("]");
}

static void writeRow(const std::string &name,
                     const std::optional<Interval> &points,
                     TextWriter &writer) {
  // Names of workloads are longer than those of levels.
  constexpr size_t kBarColumn = 28;
  writer.pad(2).add(shorten(name, kBarColumn - 4)).pad(kBarColumn);
  if (!points) {
    writer.add("nothing applicable: leaves the mean", Style::Dim).end();
    return;
  }
  writeBar(*points, writer);
  writer.add(" " + formatRange(*points)).end();
}

void ScoreSection::writeText(const Report &report, TextWriter &writer) const {
  if (!report.score)
    return;
  const Score &score = *report.score;
  Interval combined = score.ungated.combined;
  writer.heading("Implementation score: " + formatPoints(combined.lo) +
                 " of 100 (" + score.task + ")");
  if (formatPoints(combined.hi) != formatPoints(combined.lo))
    writer.wrap(2, "proved; up to " + formatPoints(combined.hi) +
                       " if everything that is undecided holds");
  writer.wrap(2, "gated " + formatRange(score.gated.combined) +
                     " | item-weighted " +
                     formatRange(score.ungated.itemWeighted));
  if (!score.complete) {
    writer.pad(2).add("incomplete, so no benchmark result:", Style::Yellow);
    writer.end();
    for (const std::string &reason : score.incompleteBecause)
      writer.wrap(4, reason, Style::Yellow);
  }
  for (unsigned level = 0; level < kNumLevels; ++level)
    writeRow(getLevelName(level), score.ungated.levels[level], writer);
  if (score.workloads.size() > 1) {
    writer.end().pad(2).add("by workload").end();
    for (const WorkloadScore &workload : score.workloads)
      writeRow(getWorkloadName(workload.id), workload.ungated.combined, writer);
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Four decimals: more would be noise of the order of summation.
static double roundNumber(double value) {
  return std::round(value * 1e4) / 1e4;
}

static json::Value toRange(Interval interval) {
  return json::Array{roundNumber(interval.lo), roundNumber(interval.hi)};
}

static json::Value toLevels(const Points &points) {
  json::Object object;
  for (unsigned level = 0; level < kNumLevels; ++level)
    object.append(getLevelName(level),
                  points.levels[level]
                      ? json::Value(roundNumber(points.levels[level]->lo))
                      : json::Value(nullptr));
  return object;
}

static json::Value toLevelRanges(const Points &points) {
  json::Object object;
  for (unsigned level = 0; level < kNumLevels; ++level)
    if (points.levels[level])
      object.append(getLevelName(level), toRange(*points.levels[level]));
  return object;
}

static json::Value toGated(const Points &points) {
  json::Object object;
  object.append("combined", roundNumber(points.combined.lo));
  object.append("levels", toLevels(points));
  object.append("item_weighted", roundNumber(points.itemWeighted.lo));
  object.append("range", toRange(points.combined));
  return object;
}

static void addPoints(const Points &ungated, const Points &gated,
                      json::Object &object) {
  object.append("combined", roundNumber(ungated.combined.lo));
  object.append("levels", toLevels(ungated));
  object.append("gated", toGated(gated));
  object.append("item_weighted", roundNumber(ungated.itemWeighted.lo));
  object.append("range", toRange(ungated.combined));
  object.append("level_ranges", toLevelRanges(ungated));
}

static json::Value toJson(const WorkloadScore &workload,
                          const Analysis &analysis) {
  json::Object object;
  object.append("id", workload.id);
  json::Array kernels;
  for (size_t index : workload.kernels)
    kernels.emplace_back(analysis.kernels[index].name);
  object.append("kernels", std::move(kernels));
  addPoints(workload.ungated, workload.gated, object);
  return object;
}

static json::Value toJson(const PropertyScore &score, const Rubric &rubric) {
  const Property &property = rubric.properties[score.property];
  json::Object object;
  object.append("id", property.id);
  object.append("level", getLevelName(property.level));
  object.append("guidance", property.guidance);
  object.append("title", property.title);
  object.append("status", getStatusName(score.status));
  object.append("credit", toRange(score.credit));
  object.append("gated_credit", toRange(score.gatedCredit));
  object.append("weight", property.weight);
  object.append("blocked_by", report::toJson(score.blockedBy));
  object.append("because", score.because);
  object.append("would_decide", score.wouldDecide);
  object.append("hint", property.hint);
  object.append("where", report::toJson(score.where));
  json::Array workloads;
  for (const PropertyResult &result : score.workloads)
    workloads.push_back(json::Object{{"id", result.workload},
                                     {"status", getStatusName(result.status)},
                                     {"credit", toRange(result.credit)}});
  object.append("workloads", std::move(workloads));
  return object;
}

void ScoreSection::addJson(const Report &report, json::Object &document) const {
  if (!report.score)
    return;
  const Score &score = *report.score;
  const Rubric &rubric = *report.rubric;
  json::Object object;
  object.append("task", score.task);
  addPoints(score.ungated, score.gated, object);
  object.append("complete", score.complete);
  object.append("incomplete_because", report::toJson(score.incompleteBecause));
  json::Array list;
  for (const WorkloadScore &workload : score.workloads)
    list.push_back(::toJson(workload, *report.analysis));
  object.append("workloads", std::move(list));
  list.clear();
  for (const PropertyScore &property : score.properties)
    list.push_back(::toJson(property, rubric));
  object.append("properties", std::move(list));
  list.clear();
  for (const Improvement &improvement : score.improvements)
    list.push_back(
        json::Object{{"property", rubric.properties[improvement.property].id},
                     {"gain", roundNumber(improvement.gain)},
                     {"gated_gain", roundNumber(improvement.gatedGain)}});
  object.append("improvements", std::move(list));
  document.append("score", std::move(object));
}

std::unique_ptr<Section> d2k::report::makeScoreSection() {
  return std::make_unique<ScoreSection>();
}
