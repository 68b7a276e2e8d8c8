// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result as a kernel author reads it.

#include "d2k/Runner/Evaluation.h"

#include "d2k/Support/Terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace d2k;
using namespace d2k::runner;

namespace {

class TextWriter {
public:
  TextWriter(const Evaluation &evaluation, bool color)
      : evaluation(evaluation), color(color) {}

  std::string write();

private:
  void line(const std::string &text) { out += text + "\n"; }
  /// \p text, which may be hostile and of several lines, indented.
  void indented(const std::string &text);
  void writeWorkload(const WorkloadResult &workload, size_t width);
  void writeTimes(const WorkloadTiming &timing);
  void writeCounters(const WorkloadResult &workload);
  void writeSummary();
  std::string paintVerdict(Verdict verdict, size_t width) const;

  const Evaluation &evaluation;
  bool color;
  std::string out;
};

} // namespace

/// Three significant digits, without an exponent for times.
static std::string formatNumber(double number) {
  char text[32];
  double size = std::fabs(number);
  int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}

static std::string formatInterval(double low, double high, double scale) {
  if (!std::isfinite(low) || !std::isfinite(high))
    return "";
  return " [" + formatNumber(low * scale) + ", " + formatNumber(high * scale) +
         "]";
}

static std::string formatTime(const TimeEstimate &time) {
  return formatNumber(time.median / 1000) + " us" +
         formatInterval(time.interval.low, time.interval.high, 1e-3);
}

std::string TextWriter::paintVerdict(Verdict verdict, size_t width) const {
  std::string name(getVerdictName(verdict));
  name.resize(std::max(width, name.size()), ' ');
  Style style = verdict == Verdict::Correct ? Style::Green
                : verdict == Verdict::Unstable ||
                        verdict == Verdict::InvalidMeasurement ||
                        verdict == Verdict::Quarantined
                    ? Style::Yellow
                    : Style::Red;
  return paint(name, style, color);
}

void TextWriter::indented(const std::string &text) {
  std::string safe = sanitizeLines(text);
  for (size_t at = 0; at < safe.size();) {
    size_t end = std::min(safe.find('\n', at), safe.size());
    line("      " + safe.substr(at, end - at));
    at = end + 1;
  }
}

void TextWriter::writeTimes(const WorkloadTiming &timing) {
  if (!(timing.cold.median > 0))
    return;
  const metrics::Comparison &comparison = timing.comparison;
  line("      " + formatTime(timing.cold) + ", baseline " +
       formatTime(timing.baselineCold) + ": " +
       paint(formatNumber(comparison.speedup) + "x", Style::Bold, color) +
       formatInterval(comparison.interval.low, comparison.interval.high, 1) +
       " " + std::string(metrics::getVerdictName(comparison.verdict)));
  std::string more;
  if (std::optional<double> part = timing.getSpeedOfLight())
    more = formatNumber(*part * 100) + "% of the speed of light (" +
           std::string(metrics::getLimitName(timing.floor->limit)) + ")";
  if (timing.warm.median > 0)
    more += (more.empty() ? "" : "; ") + std::string("warm ") +
            formatTime(timing.warm);
  if (timing.smClockMHz > 0)
    more +=
        (more.empty() ? "" : "; ") + formatNumber(timing.smClockMHz) + " MHz";
  if (!more.empty())
    line("      " + more);
  for (const KernelUse &kernel : timing.kernels)
    line(paint("      " + std::to_string(kernel.count) + " x " +
                   sanitize(kernel.name) + " (" + sanitize(kernel.module) + ")",
               Style::Dim, color));
  for (const std::string &note : timing.notes)
    indented("note: " + note);
}

void TextWriter::writeCounters(const WorkloadResult &workload) {
  for (const json::Member &counter : workload.counters)
    if (std::optional<double> value = counter.value.getAsNumber())
      line("      " + sanitize(counter.name) + " " + formatNumber(*value));
  if (!workload.countersProblem.empty())
    indented("no counters: " + workload.countersProblem);
}

void TextWriter::writeWorkload(const WorkloadResult &workload, size_t width) {
  std::string name = sanitize(workload.id);
  name.resize(std::max(width, name.size()), ' ');
  std::string head = "  " + name + "  " + paintVerdict(workload.verdict, 0);
  if (workload.maxError && std::isfinite(*workload.maxError))
    head += "  error " + formatNumber(*workload.maxError) + " of what is " +
            "allowed in " + std::to_string(workload.trials) + " trials";
  line(head);
  if (!workload.reason.empty())
    indented(workload.reason);
  if (const std::optional<WrongElement> &wrong = workload.wrong) {
    std::string index;
    for (int64_t i : wrong->index)
      index += (index.empty() ? "" : ", ") + std::to_string(i);
    std::string rank = evaluation.world > 1
                           ? " of rank " + std::to_string(wrong->rank)
                           : std::string();
    indented("first wrong element: " + wrong->tensor + "[" + index + "]" +
             rank + ": expected " + wrong->expected + ", got " + wrong->got +
             ", allowed error " + wrong->allowed);
  }
  if (workload.prepareSeconds)
    line("      prepared in " + formatNumber(*workload.prepareSeconds) +
         " s, which is not timed");
  if (workload.isDeterministic == false)
    indented("note: two calls on the same input gave different bits");
  for (const std::string &note : workload.notes)
    indented("note: " + note);
  if (workload.timing)
    writeTimes(*workload.timing);
  writeCounters(workload);
}

/// What the walls were, in a sentence.
static std::string describeIsolation(const Isolation &isolation) {
  std::string text = "isolation: " + isolation.method;
  if (isolation.isComplete())
    return text + ", no files, processes or network of this machine in reach";
  for (size_t i = 0; i < isolation.missing.size(); ++i)
    text += (i ? "; " : "; missing: ") + isolation.missing[i];
  return text;
}

/// What to do about a verdict, as docs/ThreatModel.md has it at length; empty
/// where the reason says it all.
static std::string_view getAdvice(Verdict verdict) {
  switch (verdict) {
  case Verdict::Correct:
  case Verdict::CompileError:
    return "";
  case Verdict::Incorrect:
    return "--workload ID tries one again; --sanitize looks for stray accesses "
           "and races";
  case Verdict::Crash:
    return "--sanitize looks for stray accesses and races";
  case Verdict::Timeout:
    return "a hang, or a slow call: --call-timeout SECONDS allows longer ones";
  case Verdict::Unstable:
    return "the GPU was too hot, which is no fault of the submission: measure "
           "again";
  case Verdict::InvalidMeasurement:
    return "measure again on a quiet machine; if that does not help, look for "
           "work that the stream does not wait for (docs/Timing.md)";
  case Verdict::Quarantined:
    return "faster than physics allows: a person has to look; most often a "
           "part of the work is not done (docs/Timing.md)";
  case Verdict::Exploit:
    return "the code breaks the rules, or attacked the harness "
           "(docs/SubmissionRules.md)";
  }
  return "";
}

void TextWriter::writeSummary() {
  if (std::optional<metrics::TaskSpeedup> speedup = evaluation.getSpeedup())
    line("speedup " +
         paint(formatNumber(speedup->value) + "x", Style::Bold, color) +
         formatInterval(speedup->interval.low, speedup->interval.high, 1) +
         " (geometric mean over " +
         std::to_string(evaluation.workloads.size()) + " workload" +
         (evaluation.workloads.size() == 1 ? "" : "s") + ")");
  if (const json::Object *score = evaluation.implementation.getAsObject())
    if (const json::Value *combined = score->find("combined"))
      if (std::optional<double> value = combined->getAsNumber())
        line("implementation score " + formatNumber(*value) + " of 100");
  char seconds[128];
  std::snprintf(seconds, sizeof(seconds),
                "compiled in %.1f s, validated in %.1f s, timed in %.1f s",
                evaluation.compileSeconds, evaluation.validateSeconds,
                evaluation.profileSeconds);
  std::string times = seconds;
  double busy = 0;
  for (const auto &[process, time] : evaluation.gpuSeconds)
    busy += time;
  if (busy > 0 && evaluation.totalSeconds > 0)
    times +=
        "; the GPU worked " +
        formatNumber(100 * busy / evaluation.totalSeconds / evaluation.world) +
        "% of " + formatNumber(evaluation.totalSeconds) + " s";
  line(paint(times, Style::Dim, color));
  if (!evaluation.workloads.empty())
    line(paint(sanitize(describeIsolation(evaluation.isolation)), Style::Dim,
               color));
  line("verdict: " + paintVerdict(evaluation.verdict, 0));
  if (std::string_view advice = getAdvice(evaluation.verdict); !advice.empty())
    line(paint("  " + std::string(advice), Style::Dim, color));
}

std::string TextWriter::write() {
  std::string world =
      evaluation.world > 1 ? std::to_string(evaluation.world) + " x " : "";
  line(paint(sanitize(evaluation.task), Style::Bold, color) + " on " + world +
       sanitize(evaluation.getDeviceText("name")) + " (" +
       sanitize(evaluation.getDeviceText("arch")) + "), submission " +
       evaluation.submissionSha256.substr(0, 12));
  size_t width = 0;
  for (const WorkloadResult &workload : evaluation.workloads)
    width = std::max(width, workload.id.size());
  for (const WorkloadResult &workload : evaluation.workloads)
    writeWorkload(workload, width);
  if (evaluation.workloads.empty())
    indented(evaluation.reason);
  writeSummary();
  return std::move(out);
}

std::string runner::renderText(const Evaluation &evaluation, bool color) {
  return TextWriter(evaluation, color).write();
}
