// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts, near misses and undecided properties, subject by subject.

#include "Section.h"

#include <functional>
#include <map>

using namespace d2k;
using namespace d2k::report;

namespace {

class FactSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
};

class NearMissSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
};

} // namespace

std::string d2k::report::describeFact(const Fact &fact) {
  std::string text = fact.property;
  const char *separator = " (";
  for (const auto &[name, value] : fact.attributes) {
    text += separator + name + " " + toString(value);
    separator = ", ";
  }
  return fact.attributes.empty() ? text : text + ")";
}

/// Calls `action` for each kernel that may be launched, then for the host.
static void forEachSubject(
    const Analysis &analysis,
    const std::function<void(const std::string &name, const FactSet &facts)>
        &action) {
  for (const KernelFacts &kernel : analysis.kernels)
    if (kernel.reachable != Tristate::No)
      action(kernel.demangled, kernel);
  action("host code", analysis.host);
}

static void writeSubject(const std::string &name, TextWriter &writer) {
  writer.pad(2)
      .add(shorten(name, writer.getOptions().width - 2), Style::Cyan)
      .end();
}

static void writeFact(const Fact &fact, TextWriter &writer) {
  writer.pad(4).add(describeFact(fact), Style::Green);
  std::string place;
  if (fact.inMain == Tristate::Yes)
    place += ", main region";
  if (fact.loop)
    place += ", loop " + *fact.loop;
  for (Tier tier : fact.tiers.toVector())
    place += ", " + std::string(getTierName(tier));
  if (!fact.workloads.empty()) {
    place += ", under";
    for (const std::string &workload : fact.workloads)
      place += " " + workload;
  }
  writer.add(place, Style::Dim).end();
  writer.places(8, fact.where);
}

void FactSection::writeText(const Report &report, TextWriter &writer) const {
  if (report.score && !report.listFacts)
    return;
  bool started = false;
  forEachSubject(*report.analysis,
                 [&](const std::string &name, const FactSet &facts) {
                   if (facts.facts.empty())
                     return;
                   if (!started)
                     writer.heading("Facts");
                   started = true;
                   writeSubject(name, writer);
                   for (const Fact &fact : facts.facts)
                     writeFact(fact, writer);
                 });
  if (!started)
    writer.heading("Facts").pad(2).add("none").end();
}

/// Undecided properties with one reason in common are one entry: a kernel that
/// was not seen whole leaves dozens of them open.
static void writeUndecided(const FactSet &facts, TextWriter &writer) {
  std::map<std::pair<std::string, std::string>, std::vector<const Undecided *>>
      byReason;
  for (const Undecided &entry : facts.undecided)
    byReason[{entry.reason, entry.wouldDecide}].push_back(&entry);
  for (const auto &[key, entries] : byReason) {
    std::string names;
    std::vector<SourceLocation> where;
    for (const Undecided *entry : entries) {
      if (names.find(entry->property) == std::string::npos)
        names += (names.empty() ? "" : ", ") + entry->property;
      where.insert(where.end(), entry->where.begin(), entry->where.end());
    }
    writer.pad(4).add("undecided: ", Style::Yellow).wrap(8, names);
    writer.wrap(8, key.first);
    if (!key.second.empty())
      writer.pad(8).add("would decide: ", Style::Dim).wrap(12, key.second);
    writer.places(8, where);
  }
}

void NearMissSection::writeText(const Report &report,
                                TextWriter &writer) const {
  bool started = false;
  // With a score, what is undecided stands beside the items that ask for it.
  bool withUndecided = !report.score || report.listFacts;
  forEachSubject(*report.analysis, [&](const std::string &name,
                                       const FactSet &facts) {
    bool hasUndecided = withUndecided && !facts.undecided.empty();
    if (facts.nearMisses.empty() && !hasUndecided)
      return;
    if (!started)
      writer.heading(withUndecided ? "Near misses and what is undecided"
                                   : "Near misses");
    started = true;
    writeSubject(name, writer);
    for (const NearMiss &miss : facts.nearMisses) {
      writer.pad(4).add("near miss: ", Style::Yellow).add(miss.property).end();
      writer.wrap(8, miss.reason);
      writer.places(8, miss.where);
    }
    if (hasUndecided)
      writeUndecided(facts, writer);
  });
}

std::unique_ptr<Section> d2k::report::makeFactSection() {
  return std::make_unique<FactSection>();
}

std::unique_ptr<Section> d2k::report::makeNearMissSection() {
  return std::make_unique<NearMissSection>();
}
