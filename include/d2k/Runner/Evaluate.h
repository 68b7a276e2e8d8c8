// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a submission: checks and compiles it, lets it run behind walls,
// judges what it computes and times it beside the baseline.

#ifndef D2K_RUNNER_EVALUATE_H
#define D2K_RUNNER_EVALUATE_H

#include "d2k/Runner/Evaluation.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace d2k::runner {

struct EvaluateOptions {
  /// The folder with task.json, reference.cu and baseline.cu.
  std::string taskFolder;
  /// The data folder, which the submission must not see.
  std::string dataRoot;
  /// A .cu file or a folder.
  std::string submission;
  /// Ids; empty: all that are scored. Held-out ones can be named too.
  std::vector<std::string> workloads;
  /// Evaluate the held-out workloads as well.
  bool heldOut = false;
  /// One a rank.
  std::vector<int> devices = {0};
  /// The path of d2k-worker, and of d2k-analyze or empty.
  std::string worker, analyzer;
  /// The path of compute-sanitizer, under which a call of each workload is made
  /// too; empty: not asked for.
  std::string sanitizer;
  /// Fail where a wall of the sandbox is missing.
  bool requireIsolation = false;
  /// Measure counters and keep the profile.
  bool profile = false;
  /// Judge what is computed and time nothing: a submission can then be Correct
  /// without a speedup.
  bool onlyValidate = false;
  /// Compile the submission, and the reference and the baseline into the cache
  /// (getCacheFolder), and call none of them. The devices are not taken:
  /// another evaluation may be measuring on them.
  bool onlyCompile = false;
  /// With `onlyCompile`: what to compile for. Empty: for the first device, or,
  /// where there is none, kDefaultArchitecture.
  std::string arch;
  /// Folder for the images of the modules that ran; empty: not kept.
  std::string evidenceFolder;
  /// GPU time for each workload.
  double gpuSeconds = 20;
  /// How far the parent's clock may differ from the worker's, as a part.
  double clockTolerance = 0.05;
  /// A call that takes longer hangs.
  std::chrono::milliseconds callTimeout = std::chrono::seconds(10);
  /// Host memory of the submission's process.
  uint64_t maxMemoryBytes = uint64_t(16) << 30;
  /// Called with what is being done now.
  std::function<void(const std::string &)> progress;
};

/// Fails with kind Usage or Input for a task or submission that cannot be
/// read, and with kind Environment when the harness or the machine does not
/// work; what the submission does wrong is a verdict.
Result<Evaluation> evaluate(const EvaluateOptions &options);

/// What the driver says about the devices of \p options, one object each. Fails
/// with kind Environment when there are none.
Result<json::Array> queryDevices(const EvaluateOptions &options);

} // namespace d2k::runner

#endif // D2K_RUNNER_EVALUATE_H
