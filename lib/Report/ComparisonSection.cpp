// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BaselineComparison with an earlier report.

#include "Section.h"

#include "d2k/Support/JsonSchema.h"

#include <cmath>
#include <map>
#include <set>

using namespace d2k;
using namespace d2k::report;
using json::Cursor;

namespace d2k::embedded {
extern const char *const analysisSchema;
} // namespace d2k::embedded

std::string_view d2k::report::getAnalysisSchemaText() {
  return embedded::analysisSchema;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {

/// Status and proved credit of a property of a rubric.
struct Standing {
  std::string status;
  double credit = 0;

  std::string toString() const {
    return status + " (" + formatCredit(credit) + ")";
  }
};

} // namespace

static std::string readString(const Cursor &at, std::string_view name) {
  return *at.at(name).getValue().getAsString();
}

static std::map<std::string, Standing> readStandings(const Cursor &score) {
  std::map<std::string, Standing> standings;
  Cursor list = score.at("properties");
  for (size_t i = 0; i < list.getValue().getAsArray()->size(); ++i) {
    Cursor property = list.at(i);
    standings[readString(property, "id")] = {
        readString(property, "status"),
        *property.at("credit").at(0).getValue().getAsNumber()};
  }
  return standings;
}

/// The facts of all launched kernels and of the host as text.
static std::set<std::string> readFacts(const Cursor &root) {
  std::set<std::string> facts;
  auto addFacts = [&](const Cursor &subject, const std::string &name) {
    Cursor list = subject.at("facts");
    for (size_t i = 0; i < list.getValue().getAsArray()->size(); ++i) {
      Cursor fact = list.at(i);
      std::string text = readString(fact, "property");
      const char *separator = " (";
      for (const auto &[key, value] :
           *fact.at("attributes").getValue().getAsObject()) {
        const std::string *string = value.getAsString();
        text += separator + key + " " +
                (string ? *string : json::dump(value, false));
        separator = ", ";
      }
      if (*separator == ',')
        text += ")";
      facts.insert(text + " in " + name);
    }
  };
  Cursor kernels = root.at("kernels");
  for (size_t i = 0; i < kernels.getValue().getAsArray()->size(); ++i) {
    Cursor kernel = kernels.at(i);
    if (kernel.at("reachable").getValue() == json::Value(false))
      continue;
    addFacts(kernel, readString(kernel, "demangled"));
  }
  addFacts(root.at("host"), "the host code");
  return facts;
}

/// "undecided" is no step below "missing": only credit orders.
static void compareStandings(const std::map<std::string, Standing> &before,
                             const std::map<std::string, Standing> &after,
                             BaselineComparison &comparison) {
  constexpr double kLeast = 1e-4; // what the JSON resolves
  for (const auto &[id, now] : after) {
    auto then = before.find(id);
    Standing old =
        then == before.end() ? Standing{"not in the rubric", 0} : then->second;
    double change = now.credit - old.credit;
    if (std::abs(change) < kLeast)
      continue;
    (change > 0 ? comparison.gained : comparison.lost)
        .push_back({id, old.toString(), now.toString()});
  }
  for (const auto &[id, old] : before)
    if (!after.count(id) && old.credit > kLeast)
      comparison.lost.push_back({id, old.toString(), "not in the rubric (0)"});
}

Result<BaselineComparison>
d2k::report::compareWithBaseline(const json::Document &baseline,
                                 const Report &report) {
  Result<json::Document> schemaDocument =
      json::Document::parse(getAnalysisSchemaText(), "analysis.schema.json");
  if (!schemaDocument)
    return forwardFailure(std::move(schemaDocument));
  Result<json::Schema> schema =
      json::Schema::create(std::move(*schemaDocument));
  if (!schema)
    return forwardFailure(std::move(schema));
  if (Result<void> conforms = schema->check(baseline); !conforms)
    return forwardFailure(std::move(conforms));

  // Both sides go through the JSON, so that both are rounded alike.
  json::Value current = renderJson(report);
  Cursor before = baseline.getRoot();
  Cursor after(current, "report");
  BaselineComparison comparison;
  std::string oldTarget = readString(before, "target");
  std::string newTarget = readString(after, "target");
  if (oldTarget != newTarget) {
    comparison.targetBefore = std::move(oldTarget);
    comparison.targetAfter = std::move(newTarget);
  }
  std::optional<Cursor> scoreBefore = before.find("score");
  std::optional<Cursor> scoreAfter = after.find("score");
  if (scoreBefore && scoreAfter &&
      readString(*scoreBefore, "task") == readString(*scoreAfter, "task")) {
    comparison.combinedBefore =
        scoreBefore->at("combined").getValue().getAsNumber();
    comparison.combinedAfter =
        scoreAfter->at("combined").getValue().getAsNumber();
    compareStandings(readStandings(*scoreBefore), readStandings(*scoreAfter),
                     comparison);
    return comparison;
  }
  std::set<std::string> factsBefore = readFacts(before);
  std::set<std::string> factsAfter = readFacts(after);
  for (const std::string &fact : factsAfter)
    if (!factsBefore.count(fact))
      comparison.gained.push_back({fact, "", ""});
  for (const std::string &fact : factsBefore)
    if (!factsAfter.count(fact))
      comparison.lost.push_back({fact, "", ""});
  return comparison;
}

//===----------------------------------------------------------------------===//
// Section
//===----------------------------------------------------------------------===//

namespace {

class ComparisonSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
  void addJson(const Report &report, json::Object &document) const override;
};

} // namespace

static void writeChanges(const char *title, Style style,
                         const std::vector<Change> &changes,
                         TextWriter &writer) {
  for (const Change &change : changes) {
    std::string text = change.subject;
    if (!change.before.empty())
      text += ": " + change.before + " -> " + change.after;
    writer.pad(2).add(title, style).pad(10).wrap(10, text);
  }
}

void ComparisonSection::writeText(const Report &report,
                                  TextWriter &writer) const {
  if (!report.comparison)
    return;
  const BaselineComparison &comparison = *report.comparison;
  writer.heading("Since the baseline");
  if (!comparison.targetAfter.empty())
    writer.pad(2).wrap(2, "the baseline is for " + comparison.targetBefore +
                              ", this report for " + comparison.targetAfter +
                              ": what differs may come from the target");
  if (comparison.combinedBefore && comparison.combinedAfter) {
    double change = *comparison.combinedAfter - *comparison.combinedBefore;
    writer.pad(2)
        .add("combined " + formatPoints(*comparison.combinedBefore) + " -> " +
             formatPoints(*comparison.combinedAfter) + " (" +
             (change < 0 ? "" : "+") + formatPoints(change) + ")")
        .end();
  }
  if (comparison.empty())
    writer.pad(2).add("nothing was gained or lost").end();
  writeChanges("gained", Style::Green, comparison.gained, writer);
  writeChanges("lost", Style::Red, comparison.lost, writer);
}

static json::Value toJson(const std::vector<Change> &changes) {
  json::Array list;
  for (const Change &change : changes)
    list.push_back(json::Object{{"subject", change.subject},
                                {"before", change.before},
                                {"after", change.after}});
  return list;
}

static json::Value toJson(const std::optional<double> &points) {
  return points ? json::Value(*points) : json::Value(nullptr);
}

void ComparisonSection::addJson(const Report &report,
                                json::Object &document) const {
  if (!report.comparison)
    return;
  const BaselineComparison &comparison = *report.comparison;
  json::Object object;
  object.append("combined_before", toJson(comparison.combinedBefore));
  object.append("combined_after", toJson(comparison.combinedAfter));
  if (!comparison.targetAfter.empty()) {
    object.append("target_before", comparison.targetBefore);
    object.append("target_after", comparison.targetAfter);
  }
  object.append("gained", toJson(comparison.gained));
  object.append("lost", toJson(comparison.lost));
  document.append("comparison", std::move(object));
}

std::unique_ptr<Section> d2k::report::makeComparisonSection() {
  return std::make_unique<ComparisonSection>();
}
