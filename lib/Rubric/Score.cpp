// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From credits to scores. Credits are a table of workloads by properties; all
// sums are functions of that table, so that "what if" is the same sums over a
// changed table.

#include "d2k/Rubric/Score.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

using namespace d2k;
using namespace d2k::rubric;

std::string_view d2k::rubric::getStatusName(Status status) {
  static constexpr std::string_view kNames[] = {
      "implemented", "partial", "missing", "undecided", "not_applicable"};
  return kNames[static_cast<size_t>(status)];
}

Status d2k::rubric::getStatus(Interval credit) {
  if (credit.lo >= 1)
    return Status::Implemented;
  if (credit.lo > 0)
    return Status::Partial;
  return credit.hi > 0 ? Status::Undecided : Status::Missing;
}

namespace {

/// Credits of all properties under one workload; nothing where a property is
/// not applicable.
using Row = std::vector<std::optional<Interval>>;
/// One row a workload.
using Table = std::vector<Row>;

/// A running weighted mean of intervals.
class Mean {
public:
  void add(Interval value, double weight = 1) {
    sum = rubric::add(sum, scale(value, weight));
    total += weight;
  }
  bool empty() const { return total == 0; }
  /// \p factor times the mean; zero when nothing was added.
  Interval get(double factor = 1) const {
    return empty() ? Interval() : scale(sum, factor / total);
  }

private:
  Interval sum;
  double total = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static Interval getMeanOfLevels(const Points &points) {
  Mean mean;
  for (const std::optional<Interval> &level : points.levels)
    if (level)
      mean.add(*level);
  return mean.get();
}

/// Points of one workload.
static Points sumRow(const Rubric &rubric, const Row &row) {
  std::array<Mean, kNumLevels> levels;
  Mean items;
  for (size_t i = 0; i < row.size(); ++i) {
    if (!row[i])
      continue;
    const Property &property = rubric.properties[i];
    levels[property.level].add(*row[i], property.weight);
    items.add(*row[i], property.weight);
  }
  Points points;
  for (unsigned level = 0; level < kNumLevels; ++level)
    if (!levels[level].empty())
      points.levels[level] = levels[level].get(100);
  points.combined = getMeanOfLevels(points);
  points.itemWeighted = items.get(100);
  return points;
}

/// Points over all workloads: a level's score is the mean over the workloads in
/// which something of it applies, and the combined score the mean of levels.
static Points sumTable(const Rubric &rubric, const Table &table) {
  std::array<Mean, kNumLevels> levels;
  Mean items;
  for (const Row &row : table) {
    Points points = sumRow(rubric, row);
    bool applicable = false;
    for (unsigned level = 0; level < kNumLevels; ++level)
      if (points.levels[level]) {
        levels[level].add(*points.levels[level]);
        applicable = true;
      }
    if (applicable)
      items.add(points.itemWeighted);
  }
  Points total;
  for (unsigned level = 0; level < kNumLevels; ++level)
    if (!levels[level].empty())
      total.levels[level] = levels[level].get();
  total.combined = getMeanOfLevels(total);
  total.itemWeighted = items.get();
  return total;
}

//===----------------------------------------------------------------------===//
// Gates
//===----------------------------------------------------------------------===//

namespace {

/// The gates of a rubric by index: looked up once, applied once for each
/// improvement that is tried.
class Gates {
public:
  explicit Gates(const Rubric &rubric);

  /// Applies all gates to one workload's credits. \p blockedBy, when given,
  /// gets the prerequisites that lowered each.
  Row apply(const Row &row,
            std::vector<std::vector<std::string>> *blockedBy) const;
  Table apply(const Table &table) const;

private:
  /// Credit of the best applicable prerequisite; nothing when none is
  /// applicable, which does not gate.
  static std::optional<Interval> getCredit(const std::vector<size_t> &anyOf,
                                           const Row &gated);

  const Rubric &rubric;
  /// Prerequisites first.
  std::vector<size_t> order;
  /// Of each property, of each of its gates: the properties that open it.
  std::vector<std::vector<std::vector<size_t>>> anyOf;
};

} // namespace

Gates::Gates(const Rubric &rubric)
    : rubric(rubric), order(rubric.getGateOrder()) {
  std::map<std::string_view, size_t> indices;
  for (size_t i = 0; i < rubric.properties.size(); ++i)
    indices.try_emplace(rubric.properties[i].id, i);
  for (const Property &property : rubric.properties) {
    auto &lists = anyOf.emplace_back();
    for (const Gate &gate : property.dependsOn) {
      std::vector<size_t> &list = lists.emplace_back();
      for (const std::string &id : gate.anyOf) {
        auto found = indices.find(id);
        assert(found != indices.end() &&
               "unknown gates are refused when a rubric is read");
        list.push_back(found->second);
      }
    }
  }
}

std::optional<Interval> Gates::getCredit(const std::vector<size_t> &anyOf,
                                         const Row &gated) {
  std::optional<Interval> best;
  for (size_t index : anyOf)
    if (const std::optional<Interval> &credit = gated[index])
      best = best ? join(*best, *credit) : *credit;
  return best;
}

Row Gates::apply(const Row &row,
                 std::vector<std::vector<std::string>> *blockedBy) const {
  Row gated = row;
  for (size_t index : order) {
    if (!gated[index])
      continue;
    for (size_t gate = 0; gate < anyOf[index].size(); ++gate) {
      std::optional<Interval> limit = getCredit(anyOf[index][gate], gated);
      if (!limit)
        continue;
      Interval lowered = meet(*row[index], *limit);
      if (blockedBy && lowered != *row[index])
        for (const std::string &id :
             rubric.properties[index].dependsOn[gate].anyOf)
          (*blockedBy)[index].push_back(id);
      gated[index] = meet(*gated[index], *limit);
    }
  }
  return gated;
}

Table Gates::apply(const Table &table) const {
  Table gated;
  for (const Row &row : table)
    gated.push_back(apply(row, nullptr));
  return gated;
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

static PropertyResult evaluateProperty(const Property &property,
                                       const Evaluator &evaluator,
                                       const std::string &target,
                                       const std::string &workload) {
  PropertyResult result;
  result.workload = workload;
  if (!property.appliesToWorkload(workload)) {
    result.because.push_back("does not apply to " + workload);
    return result;
  }
  const Target *match = property.findTarget(target);
  if (!match || !match->detect) {
    result.because.push_back(match ? match->notApplicable
                                   : "the rubric has no entry for " + target);
    return result;
  }
  Outcome outcome = evaluator.evaluateTarget(*match);
  result.credit = outcome.credit;
  result.status = getStatus(outcome.credit);
  result.because = std::move(outcome.because);
  if (outcome.credit.hi > outcome.credit.lo)
    result.wouldDecide = std::move(outcome.wouldDecide);
  result.where = std::move(outcome.where);
  return result;
}

/// Fills in everything of \p score but its per-workload results.
static void summarizeProperty(PropertyScore &score) {
  Mean credit, gatedCredit;
  const PropertyResult *worst = nullptr;
  bool differ = false;
  for (const PropertyResult &result : score.workloads) {
    if (result.status == Status::NotApplicable)
      continue;
    credit.add(result.credit);
    gatedCredit.add(result.gatedCredit);
    for (const std::string &id : result.blockedBy)
      if (std::find(score.blockedBy.begin(), score.blockedBy.end(), id) ==
          score.blockedBy.end())
        score.blockedBy.push_back(id);
    if (worst &&
        (worst->credit != result.credit || worst->because != result.because))
      differ = true;
    if (!worst || std::tuple(result.credit.lo, result.credit.hi) <
                      std::tuple(worst->credit.lo, worst->credit.hi))
      worst = &result;
  }
  if (!worst) {
    // Not applicable anywhere: the first reason is as good as any.
    if (!score.workloads.empty())
      score.because = joinSentences(score.workloads.front().because);
    return;
  }
  score.credit = credit.get();
  score.gatedCredit = gatedCredit.get();
  score.status = getStatus(score.credit);
  score.because = (differ ? worst->workload + ": " : std::string()) +
                  joinSentences(worst->because);
  score.wouldDecide = joinSentences(worst->wouldDecide);
  score.where = worst->where;
  // The places prove what there is of it, also where another workload has less.
  for (const PropertyResult &result : score.workloads)
    if (score.where.empty())
      score.where = result.where;
}

//===----------------------------------------------------------------------===//
// Improvements
//===----------------------------------------------------------------------===//

/// What full credit for property \p index adds to the combined score, from the
/// weights alone: per workload 100 * weight * missing credit / weights of its
/// level, averaged over the workloads in which the level applies, divided by
/// the number of levels.
[[maybe_unused]] static double predictGain(const Rubric &rubric,
                                           const Table &table,
                                           const Points &total, size_t index) {
  unsigned level = rubric.properties[index].level;
  double sum = 0;
  unsigned workloads = 0;
  for (const Row &row : table) {
    double weights = 0;
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i] && rubric.properties[i].level == level)
        weights += rubric.properties[i].weight;
    if (weights == 0)
      continue;
    ++workloads;
    if (row[index])
      sum += 100 * rubric.properties[index].weight * (1 - row[index]->lo) /
             weights;
  }
  long levels = std::count_if(total.levels.begin(), total.levels.end(),
                              [](const auto &one) { return one.has_value(); });
  return workloads == 0 ? 0 : sum / workloads / double(levels);
}

static std::vector<Improvement>
findImprovements(const Rubric &rubric, const Gates &gates, const Table &table,
                 const Points &ungated, const Points &gated) {
  constexpr double kLeastGain = 1e-9;
  std::vector<Improvement> list;
  for (size_t i = 0; i < rubric.properties.size(); ++i) {
    Table changed = table;
    for (Row &row : changed)
      if (row[i])
        row[i] = Interval::yes();
    Improvement improvement;
    improvement.property = i;
    improvement.gain =
        sumTable(rubric, changed).combined.lo - ungated.combined.lo;
    improvement.gatedGain =
        sumTable(rubric, gates.apply(changed)).combined.lo - gated.combined.lo;
    assert(std::abs(improvement.gain - predictGain(rubric, table, ungated, i)) <
               1e-6 &&
           "applying an improvement gives what its weight promises");
    if (improvement.gain > kLeastGain)
      list.push_back(improvement);
  }
  std::sort(list.begin(), list.end(),
            [](const Improvement &a, const Improvement &b) {
              return std::tuple(-a.gain, -a.gatedGain, a.property) <
                     std::tuple(-b.gain, -b.gatedGain, b.property);
            });
  return list;
}

//===----------------------------------------------------------------------===//
// The score
//===----------------------------------------------------------------------===//

static void checkCompleteness(const Analysis &analysis, Score &score) {
  for (Tier tier : {Tier::Source, Tier::Ptx, Tier::Sass}) {
    TierState state = analysis.getTierState(tier);
    if (state == TierState::Ok)
      continue;
    std::string reason = std::string(getTierName(tier)) + " is " +
                         std::string(getTierStateName(state));
    auto found = analysis.tiers.find(tier);
    if (found != analysis.tiers.end() && !found->second.reason.empty())
      reason += ": " + found->second.reason;
    score.incompleteBecause.push_back(std::move(reason));
  }
  if (!analysis.hostAnalysed)
    score.incompleteBecause.push_back(
        "host code was not followed: every kernel counts as launched");
  score.complete = score.incompleteBecause.empty();
}

Score d2k::rubric::computeScore(const Rubric &rubric, const Analysis &analysis,
                                const PropertyCatalog &catalog,
                                const std::vector<std::string> &workloads) {
  std::vector<std::string> ids = workloads;
  if (ids.empty())
    ids.emplace_back();
  Gates gates(rubric);

  Score score;
  score.task = rubric.task;
  score.properties.resize(rubric.properties.size());
  Table table, gatedTable;
  for (const std::string &id : ids) {
    Evaluator evaluator(analysis, catalog, id);
    Row row(rubric.properties.size());
    std::vector<PropertyResult> results;
    for (size_t i = 0; i < rubric.properties.size(); ++i) {
      results.push_back(evaluateProperty(rubric.properties[i], evaluator,
                                         analysis.target, id));
      if (results[i].status != Status::NotApplicable)
        row[i] = results[i].credit;
    }
    std::vector<std::vector<std::string>> blockedBy(row.size());
    Row gated = gates.apply(row, &blockedBy);
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].gatedCredit = gated[i].value_or(Interval());
      results[i].blockedBy = std::move(blockedBy[i]);
      score.properties[i].property = i;
      score.properties[i].workloads.push_back(std::move(results[i]));
    }
    WorkloadScore workload;
    workload.id = id;
    for (const PathKernel &kernel : evaluator.getKernels())
      workload.kernels.push_back(kernel.index);
    workload.ungated = sumRow(rubric, row);
    workload.gated = sumRow(rubric, gated);
    score.workloads.push_back(std::move(workload));
    table.push_back(std::move(row));
    gatedTable.push_back(std::move(gated));
  }
  for (PropertyScore &property : score.properties)
    summarizeProperty(property);
  score.ungated = sumTable(rubric, table);
  score.gated = sumTable(rubric, gatedTable);
  score.improvements =
      findImprovements(rubric, gates, table, score.ungated, score.gated);
  for (unsigned level = 0; level < kNumLevels; ++level)
    if (!score.ungated.levels[level])
      score.emptyLevels.push_back(level);
  checkCompleteness(analysis, score);
  return score;
}
