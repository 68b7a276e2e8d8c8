// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list of kernels in the text; all facts of kernels and host in the JSON.

#include "FactJson.h"
#include "Section.h"

using namespace d2k;
using namespace d2k::report;

namespace {

class KernelSection final : public Section {
public:
  void writeText(const Report &report, TextWriter &writer) const override;
  void addJson(const Report &report, json::Object &document) const override;
};

} // namespace

static std::string describeReachability(const Analysis &analysis,
                                        const KernelFacts &kernel) {
  std::string text;
  switch (kernel.reachable) {
  case Tristate::Yes:
    text = "launched";
    break;
  case Tristate::No:
    // Launched, but for nothing.
    text = kernel.launches.value_or(0) > 0 ? "result not used, no evidence"
                                           : "not launched, no evidence";
    break;
  case Tristate::Unknown:
    text = !analysis.hostAnalysed              ? "counted as launched"
           : kernel.notLaunchedBecause.empty() ? "perhaps launched"
                                               : "perhaps without a result";
    break;
  }
  if (!kernel.notLaunchedBecause.empty())
    text += ": " + kernel.notLaunchedBecause;
  if (!kernel.reachableUnder.empty())
    text += ", differs by workload";
  return text;
}

static std::string describeLoops(const KernelFacts &kernel) {
  size_t mainLoops = 0, spinLoops = 0;
  for (const KernelLoop &loop : kernel.loops) {
    mainLoops += loop.main;
    spinLoops += loop.spin;
  }
  std::string text = formatCount(kernel.loops.size(), "loop");
  if (mainLoops != 0)
    text += ", " + std::to_string(mainLoops) + " in the main region";
  if (spinLoops != 0)
    text += ", " + std::to_string(spinLoops) + " spinning";
  // Loops of PTX and of machine code are told to be the same by their lines.
  // The head of a loop alone may have none.
  auto isLine = [](const SourceLocation &where) {
    return where.line != 0 && where.kind == LocationKind::Source;
  };
  bool hasLines = false;
  for (const KernelLoop &loop : kernel.loops)
    hasLines |= isLine(loop.where);
  auto addLines = [&](const auto &findings) {
    for (const auto &finding : findings)
      hasLines |=
          std::any_of(finding.where.begin(), finding.where.end(), isLine);
  };
  addLines(kernel.facts);
  addLines(kernel.nearMisses);
  addLines(kernel.undecided);
  if (!kernel.loops.empty() && !hasLines)
    text += " without source lines (compile with -lineinfo)";
  return text;
}

void KernelSection::writeText(const Report &report, TextWriter &writer) const {
  const Analysis &analysis = *report.analysis;
  writer.heading("Kernels");
  if (analysis.kernels.empty())
    writer.pad(2)
        .add("none was found: nothing defines one, or only templates that "
             "nothing instantiates")
        .end();
  for (const KernelFacts &kernel : analysis.kernels) {
    size_t width = writer.getOptions().width;
    writer.pad(2).add(shorten(kernel.demangled, width - 2), Style::Cyan).end();
    std::string text = describeReachability(analysis, kernel);
    auto addNumber = [&](const std::optional<int64_t> &number,
                         const char *unit) {
      if (number)
        text += " | " + std::to_string(*number) + " " + unit;
    };
    if (kernel.launches)
      text += " | " + formatCount(*kernel.launches, "launch site");
    addNumber(kernel.registers, "registers");
    addNumber(kernel.sharedBytes, "bytes of static shared memory");
    addNumber(kernel.spillBytes, "bytes spilled");
    text += " | " + describeLoops(kernel);
    text += " | " + formatCount(kernel.facts.size(), "fact");
    writer.wrap(4, text, Style::Dim);
  }
}

void KernelSection::addJson(const Report &report,
                            json::Object &document) const {
  json::Array kernels;
  for (const KernelFacts &kernel : report.analysis->kernels)
    kernels.push_back(toJson(kernel));
  document.append("kernels", std::move(kernels));
  json::Object host;
  addFactSet(report.analysis->host, host);
  document.append("host", std::move(host));
}

std::unique_ptr<Section> d2k::report::makeKernelSection() {
  return std::make_unique<KernelSection>();
}
