// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verdicts, and the result as JSON.

#include "d2k/Runner/Evaluation.h"

#include <cmath>

using namespace d2k;
using namespace d2k::runner;

std::string_view runner::getVerdictName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Correct:
    return "correct";
  case Verdict::Unstable:
    return "unstable";
  case Verdict::InvalidMeasurement:
    return "invalid_measurement";
  case Verdict::Quarantined:
    return "quarantined";
  case Verdict::Incorrect:
    return "incorrect";
  case Verdict::Timeout:
    return "timeout";
  case Verdict::Crash:
    return "crash";
  case Verdict::CompileError:
    return "compile_error";
  case Verdict::Exploit:
    break;
  }
  return "exploit";
}

void Evaluation::conclude() {
  // The enumerators are in the order of gravity.
  const WorkloadResult *worst = nullptr;
  for (const WorkloadResult &workload : workloads)
    if (!worst || workload.verdict > worst->verdict)
      worst = &workload;
  if (!worst)
    return;
  verdict = worst->verdict;
  reason = verdict == Verdict::Correct ? "" : worst->id + ": " + worst->reason;
}

std::string Evaluation::getDeviceText(std::string_view name) const {
  return json::Cursor(device, "device").getString(name).value_or("unknown");
}

std::optional<metrics::TaskSpeedup> Evaluation::getSpeedup() const {
  std::vector<metrics::Comparison> comparisons;
  for (const WorkloadResult &workload : workloads) {
    if (workload.verdict != Verdict::Correct || !workload.timing)
      return std::nullopt;
    comparisons.push_back(workload.timing->comparison);
  }
  if (comparisons.empty() || verdict != Verdict::Correct)
    return std::nullopt;
  return metrics::combineWorkloads(comparisons);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// Nanoseconds to microseconds; null when nothing was measured.
static json::Value toMicroseconds(const TimeEstimate &time) {
  if (!(time.median > 0))
    return nullptr;
  return json::Object{
      {"median", time.median / 1000},
      {"ci", json::Array{json::Value(time.interval.low / 1000),
                         json::Value(time.interval.high / 1000)}}};
}

static json::Value positiveOrNull(double number) {
  return std::isfinite(number) && number > 0 ? json::Value(number)
                                             : json::Value();
}

static json::Value makeStrings(const std::vector<std::string> &strings) {
  json::Array array;
  for (const std::string &string : strings)
    array.emplace_back(string);
  return array;
}

static json::Value toJson(const WrongElement &wrong) {
  json::Array index;
  for (int64_t i : wrong.index)
    index.emplace_back(i);
  return json::Object{{"trial", wrong.trial},       {"rank", wrong.rank},
                      {"tensor", wrong.tensor},     {"index", std::move(index)},
                      {"expected", wrong.expected}, {"got", wrong.got},
                      {"allowed", wrong.allowed}};
}

static json::Value toJson(const WorkloadResult &workload) {
  json::Object object = {
      {"id", workload.id},
      {"verdict", getVerdictName(workload.verdict)},
      {"reason", workload.reason},
      // JSON has no infinity: a value that is not finite is no error of a size.
      {"max_error", workload.maxError && std::isfinite(*workload.maxError)
                        ? json::Value(*workload.maxError)
                        : json::Value()},
      {"trials", int64_t(workload.trials)},
      {"timed_checks", int64_t(workload.timedChecks)},
  };
  if (workload.isDeterministic)
    object.set("deterministic", *workload.isDeterministic);
  if (workload.prepareSeconds && std::isfinite(*workload.prepareSeconds))
    object.set("prepare_seconds", *workload.prepareSeconds);
  if (workload.wrong)
    object.set("wrong", toJson(*workload.wrong));
  const std::optional<WorkloadTiming> &timing = workload.timing;
  object.set(
      "time_us",
      json::Object{
          {"cold", timing ? toMicroseconds(timing->cold) : json::Value()},
          {"warm", timing ? toMicroseconds(timing->warm) : json::Value()}});
  bool isScored = workload.verdict == Verdict::Correct && timing;
  object.set("baseline_us",
             timing ? positiveOrNull(timing->baselineCold.median / 1000)
                    : json::Value());
  object.set("speedup", isScored ? positiveOrNull(timing->comparison.speedup)
                                 : json::Value());
  object.set("speed_of_light",
             timing ? positiveOrNull(timing->getSpeedOfLight().value_or(0))
                    : json::Value());
  json::Array kernels;
  if (timing)
    for (const KernelUse &kernel : timing->kernels)
      kernels.emplace_back(json::Object{{"name", kernel.name},
                                        {"module", kernel.module},
                                        {"count", int64_t(kernel.count)}});
  object.set("kernels", std::move(kernels));
  object.set("counters", workload.counters);
  if (!workload.countersProblem.empty())
    object.set("counters_unavailable", workload.countersProblem);
  if (timing)
    object.set("timing", toJson(*timing));
  object.set("notes", makeStrings(workload.notes));
  return object;
}

static json::Value toJson(const std::map<std::string, RequestTime> &requests) {
  json::Object object;
  for (const auto &[name, time] : requests)
    object.set(name, json::Object{{"count", int64_t(time.count)},
                                  {"seconds", time.seconds}});
  return object;
}

static json::Value toJson(const std::map<std::string, double> &seconds) {
  json::Object object;
  for (const auto &[name, value] : seconds)
    object.set(name, value);
  return object;
}

json::Value runner::toJson(const Evaluation &evaluation) {
  json::Object device;
  for (const char *name : {"name", "arch", "uuid"})
    device.set(name, evaluation.getDeviceText(name));
  device.set("world", int64_t(evaluation.world));
  json::Array workloads;
  for (const WorkloadResult &workload : evaluation.workloads)
    workloads.push_back(::toJson(workload));
  std::optional<metrics::TaskSpeedup> speedup = evaluation.getSpeedup();
  json::Object object = {
      {"schema", "d2k.result/1"},
      {"task", evaluation.task},
      {"submission_sha256", evaluation.submissionSha256},
      {"device", std::move(device)},
      {"verdict", getVerdictName(evaluation.verdict)},
      {"reason", evaluation.reason},
      {"workloads", std::move(workloads)},
      {"speedup", speedup ? json::Value(speedup->value) : json::Value()},
      {"implementation", evaluation.implementation},
      {"isolation", evaluation.isolation.toJson()},
      {"environment", evaluation.environment},
      {"seconds", json::Object{{"compile", evaluation.compileSeconds},
                               {"validate", evaluation.validateSeconds},
                               {"profile", evaluation.profileSeconds},
                               {"total", evaluation.totalSeconds},
                               {"gpu", ::toJson(evaluation.gpuSeconds)},
                               {"requests", ::toJson(evaluation.requests)}}},
  };
  if (speedup && std::isfinite(speedup->interval.low) &&
      std::isfinite(speedup->interval.high))
    object.set("speedup_ci", json::Array{json::Value(speedup->interval.low),
                                         json::Value(speedup->interval.high)});
  if (!evaluation.implementationProblem.empty())
    object.set("implementation_unavailable", evaluation.implementationProblem);
  return object;
}
