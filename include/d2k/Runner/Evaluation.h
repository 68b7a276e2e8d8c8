// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What evaluating a submission gave: the verdict, what it rests on, and the two
// forms in which it is written (docs/schemas/result.schema.json, and text).

#ifndef D2K_RUNNER_EVALUATION_H
#define D2K_RUNNER_EVALUATION_H

#include "d2k/Runner/Sandbox.h"
#include "d2k/Runner/Timing.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::runner {

enum class Verdict : uint8_t {
  Correct,
  /// The GPU throttled for heat or power supply: measure again.
  Unstable,
  /// The times cannot be believed: clocks disagree.
  InvalidMeasurement,
  /// Faster than physics allows.
  Quarantined,
  Incorrect,
  Timeout,
  Crash,
  CompileError,
  /// Breaks the rules, or attacks the harness.
  Exploit,
};

/// "correct", "unstable", "incorrect", "compile_error", "crash", "timeout",
/// "invalid_measurement", "quarantined", "exploit".
std::string_view getVerdictName(Verdict verdict);

/// The first element that was wrong.
struct WrongElement {
  /// The kind of the trial, or "timed call".
  std::string trial;
  int64_t rank = 0;
  std::string tensor;
  std::vector<int64_t> index;
  /// As text: not all of them are finite.
  std::string expected, got, allowed;
};

struct WorkloadResult {
  std::string id;
  Verdict verdict = Verdict::Correct;
  /// Empty when correct.
  std::string reason;
  /// Trials that were judged.
  unsigned trials = 0;
  /// Largest error as a fraction of what is allowed; infinite for a value that
  /// is not finite; nothing when nothing was compared.
  std::optional<double> maxError;
  std::optional<double> rmsRatio;
  std::optional<WrongElement> wrong;
  /// Two calls on one input gave the same bits.
  std::optional<bool> isDeterministic;
  /// What repacking the constant inputs took last; it is not timed. Nothing
  /// when the submission does not.
  std::optional<double> prepareSeconds;
  /// Outputs of timed calls that were judged.
  unsigned timedChecks = 0;
  std::optional<WorkloadTiming> timing;
  /// Counters by name, and why there are none.
  json::Object counters;
  std::string countersProblem;
  /// Everything that the profile of the worker has, for --profile.
  json::Value profile;
  /// What a reader should know, a sentence each.
  std::vector<std::string> notes;
};

/// How often something was asked of a process, and how long that took.
struct RequestTime {
  unsigned count = 0;
  double seconds = 0;
};

struct Evaluation {
  std::string task;
  std::string submissionSha256;
  /// Of the first device: what the driver says about it. Where something was
  /// compiled without one, `arch` alone.
  json::Value device = json::Object();
  unsigned world = 1;
  Verdict verdict = Verdict::Correct;
  std::string reason;
  std::vector<WorkloadResult> workloads;
  /// What a reader of the text should know, a sentence each; not in the
  /// document.
  std::vector<std::string> notes;
  /// The `score` of d2k-analyze, or null and the reason.
  json::Value implementation;
  std::string implementationProblem;
  Isolation isolation;
  json::Object environment;
  double compileSeconds = 0, validateSeconds = 0, profileSeconds = 0;
  /// From the reading of the submission to the verdict, compiling included.
  double totalSeconds = 0;
  /// By process and request: "oracle.prepare", "submission.sample",
  /// "baseline.start".
  std::map<std::string, RequestTime> requests;
  /// How long the GPU worked for "oracle" (to prepare samples), "baseline" and
  /// "submission"; the submission's is its own word. Without processes that
  /// ended before the verdict.
  std::map<std::string, double> gpuSeconds;

  /// The text \p name of `device`, or "unknown".
  std::string getDeviceText(std::string_view name) const;
  /// Over all workloads; nothing unless all are correct.
  std::optional<metrics::TaskSpeedup> getSpeedup() const;
  /// Sets `verdict` and `reason` from the worst workload.
  void conclude();
};

/// The document d2k.result/1.
json::Value toJson(const Evaluation &evaluation);

/// For people: one paragraph a workload, then the verdict.
std::string renderText(const Evaluation &evaluation, bool color);

} // namespace d2k::runner

#endif // D2K_RUNNER_EVALUATION_H
