// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of --explain.

#include "d2k/Report/Explain.h"

#include "Section.h"

#include <algorithm>
#include <set>

using namespace d2k;
using namespace d2k::report;

namespace {
/// Lines shown before and behind a line of evidence.
constexpr int64_t kContext = 2;
/// Stretches of code shown for one finding; the rest is counted.
constexpr size_t kMaxStretches = 8;

/// Neighbouring lines of one file, some of them evidence.
struct Stretch {
  std::string file;
  int64_t first = 0, last = 0;
  std::set<int64_t> marked;
  /// The places in it; what has no line that can be shown is alone.
  std::vector<SourceLocation> places;
};

class Explainer {
public:
  Explainer(const Analysis &analysis, const PropertyInfo &info,
            const LineReader &readLines, const TextOptions &options)
      : analysis(analysis), info(info), readLines(readLines), writer(options) {}

  std::string run();

private:
  void explainSubject(const std::string &name, const FactSet &facts,
                      const TierSet *completeTiers);
  void showPlaces(const std::vector<SourceLocation> &where);
  void showStretch(const Stretch &stretch);

  const Analysis &analysis;
  const PropertyInfo &info;
  const LineReader &readLines;
  TextWriter writer;
};
} // namespace

/// "ptx, sass"
static std::string listTiers(TierSet tiers) {
  std::string text;
  for (Tier tier : tiers.toVector())
    text += (text.empty() ? "" : ", ") + std::string(getTierName(tier));
  return text;
}

/// A near miss that knows the smallest change that would make the property hold
/// says it in brackets at its end.
static std::pair<std::string, std::string>
splitChange(const std::string &reason) {
  static const std::string kBegin = " (to make it hold: ";
  size_t at = reason.rfind(kBegin);
  if (at == std::string::npos || reason.back() != ')')
    return {reason, "change what the sentence above names"};
  size_t begin = at + kBegin.size();
  return {reason.substr(0, at),
          reason.substr(begin, reason.size() - 1 - begin)};
}

void Explainer::showStretch(const Stretch &stretch) {
  std::vector<std::string> lines;
  if (stretch.first > 0)
    lines = readLines(stretch.file);
  if (lines.empty()) {
    writer.places(6, stretch.places);
    return;
  }
  // What is said about the places, then the code.
  for (const SourceLocation &place : stretch.places) {
    writer.pad(6).add(describePlace(place), Style::Cyan);
    if (!place.instruction.empty())
      writer.add("  ").add(shorten(place.instruction, 60), Style::Dim);
    if (place.sassOffset && !place.sassInstruction.empty())
      writer.add("  ").add(shorten(place.sassInstruction, 40), Style::Dim);
    writer.end();
  }
  int64_t last = std::min<int64_t>(stretch.last, int64_t(lines.size()));
  size_t width = std::to_string(last).size();
  for (int64_t line = std::max<int64_t>(stretch.first, 1); line <= last;
       ++line) {
    bool marked = stretch.marked.count(line) != 0;
    std::string number = std::to_string(line);
    writer.pad(6).add(marked ? "> " : "  ", Style::Yellow);
    writer.pad(8 + width - number.size()).add(number, Style::Dim).add(" | ");
    size_t room = std::max<size_t>(writer.getOptions().width, 40) - 12 - width;
    writer
        .add(shorten(lines[size_t(line) - 1], room),
             marked ? Style::Plain : Style::Dim)
        .end();
  }
}

void Explainer::showPlaces(const std::vector<SourceLocation> &where) {
  std::vector<Stretch> stretches;
  for (const SourceLocation &place : where) {
    bool hasLine = place.line > 0 && place.kind != LocationKind::Sass;
    if (!stretches.empty() && hasLine && stretches.back().first > 0 &&
        stretches.back().file == place.file &&
        place.line - kContext <= stretches.back().last + 1) {
      Stretch &stretch = stretches.back();
      stretch.last = std::max(stretch.last, place.line + kContext);
      // Clones of one instruction are one place to a reader.
      if (!stretch.marked.insert(place.line).second)
        continue;
      stretch.places.push_back(place);
      continue;
    }
    Stretch stretch;
    stretch.file = place.file;
    stretch.places.push_back(place);
    if (hasLine) {
      stretch.first = std::max<int64_t>(place.line - kContext, 1);
      stretch.last = place.line + kContext;
      stretch.marked.insert(place.line);
    }
    stretches.push_back(std::move(stretch));
  }
  for (size_t i = 0; i < std::min(stretches.size(), kMaxStretches); ++i)
    showStretch(stretches[i]);
  if (stretches.size() > kMaxStretches)
    writer.pad(6)
        .add("and " + std::to_string(stretches.size() - kMaxStretches) +
                 " more places",
             Style::Dim)
        .end();
}

void Explainer::explainSubject(const std::string &name, const FactSet &facts,
                               const TierSet *completeTiers) {
  writer.heading(shorten(name, writer.getOptions().width));
  bool found = false;
  for (const Fact &fact : facts.facts) {
    if (fact.property != info.id)
      continue;
    found = true;
    writer.pad(2).add("holds: ", Style::Green).add(describeFact(fact));
    std::string place;
    if (fact.inMain == Tristate::Yes)
      place += ", main region";
    if (fact.loop)
      place += ", loop " + *fact.loop;
    place += ", read at " + listTiers(fact.tiers);
    for (const std::string &workload : fact.workloads)
      place +=
          (&workload == &fact.workloads.front() ? ", under " : " ") + workload;
    writer.add(place, Style::Dim).end();
    writer.pad(4).add("because of", Style::Dim).end();
    showPlaces(fact.where);
  }
  for (const NearMiss &miss : facts.nearMisses) {
    if (miss.property != info.id)
      continue;
    found = true;
    auto [reason, change] = splitChange(miss.reason);
    writer.pad(2).add("nearly: ", Style::Yellow).wrap(4, reason);
    showPlaces(miss.where);
    writer.pad(4).add("to make it hold: ", Style::Bold).wrap(6, change);
  }
  for (const Undecided &entry : facts.undecided) {
    if (entry.property != info.id)
      continue;
    found = true;
    writer.pad(2).add("undecided: ", Style::Yellow).wrap(4, entry.reason);
    showPlaces(entry.where);
    if (!entry.wouldDecide.empty())
      writer.pad(4)
          .add("would decide: ", Style::Bold)
          .wrap(6, entry.wouldDecide);
  }
  if (found)
    return;
  if (!info.isImplemented()) {
    writer.pad(2)
        .add("undecided: ", Style::Yellow)
        .wrap(4, "this version has no detector for it");
    return;
  }
  if (completeTiers && !info.canRefute(*completeTiers)) {
    writer.pad(2)
        .add("undecided: ", Style::Yellow)
        .wrap(4, "nothing was found, and no tier that decides it (" +
                     listTiers(info.decidingTiers) + ") was read as a whole");
    return;
  }
  writer.pad(2)
      .add("absent: ", Style::Red)
      .wrap(4, "nothing in the code that runs reaches for it");
  writer.pad(4).add("to make it hold: ", Style::Bold);
  writer.wrap(6, "write code of which this is true: " + info.summary);
}

std::string Explainer::run() {
  writer.add(info.id, Style::Bold).end();
  writer.pad(2).add("holds when ", Style::Dim).wrap(2, info.summary);
  for (const AttributeInfo &attribute : info.attributes)
    writer.pad(2)
        .add(attribute.name, Style::Bold)
        .add(": ")
        .wrap(4, attribute.meaning);
  writer.pad(2)
      .add("decided at ", Style::Dim)
      .add(listTiers(info.decidingTiers))
      .end();
  if (info.subject == Subject::Host) {
    explainSubject("host code", analysis.host, nullptr);
    return writer.take();
  }
  for (const KernelFacts &kernel : analysis.kernels) {
    if (kernel.reachable == Tristate::No) {
      writer.heading(shorten(kernel.demangled, writer.getOptions().width));
      writer.pad(2)
          .add("not looked at: ", Style::Yellow)
          .wrap(4, kernel.notLaunchedBecause.empty()
                       ? "it is never launched"
                       : kernel.notLaunchedBecause);
      continue;
    }
    explainSubject(kernel.demangled, kernel, &kernel.completeTiers);
  }
  return writer.take();
}

std::string d2k::report::renderExplanation(const Analysis &analysis,
                                           const PropertyInfo &info,
                                           const LineReader &readLines,
                                           const TextOptions &options) {
  return Explainer(analysis, info, readLines, options).run();
}
