// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One workload: correctness trials, then timing beside the baseline, then the
// profile.

#ifndef D2K_LIB_RUNNER_EVALUATE_WORKLOADRUN_H
#define D2K_LIB_RUNNER_EVALUATE_WORKLOADRUN_H

#include "Evaluate/Session.h"

#include "d2k/Task/Task.h"
#include "d2k/Task/Trials.h"

namespace d2k::runner {

class WorkloadRun {
public:
  /// \p taskPath is the task.json that the oracle reads, \p reference the
  /// compiled reference.
  WorkloadRun(Session &session, const EvaluateOptions &options,
              const task::Task &task, const std::string &taskPath,
              const std::string &reference, const task::Workload &workload)
      : session(session), options(options), task(task), taskPath(taskPath),
        reference(reference), workload(workload) {}

  /// Judges and times; the verdict is in the result. Trouble is Lost or
  /// Harness.
  Step<WorkloadResult> run();

  /// Of the baseline, once it was timed: library, version, algorithm.
  const std::string &getBaselineIdentity() const { return baselineIdentity; }
  /// Seconds of the host's clock for trials, and for what follows.
  double getValidateSeconds() const { return validateSeconds; }
  double getProfileSeconds() const { return profileSeconds; }

private:
  class Source;

  /// The steps; trouble of any kind ends them.
  Step<void> runSteps();
  Step<void> open();
  Step<void> openWorker(Side side);
  Step<void> runTrials();
  Step<void> runTrial(const task::TrialSpec &trial, unsigned set, bool twice);
  /// Draws the inputs of \p set and lets \p sides repack the constant ones.
  Step<void> fill(unsigned set, const task::TrialSpec &trial,
                  const std::vector<Side> &sides);
  Step<void> prepareConstants(Side side, unsigned set);
  Step<void> callOnce(Side side, unsigned set, const std::string &trial,
                      unsigned patience = 1);
  /// Judges the last capture of \p set and keeps what is worst.
  Step<void> judge(unsigned set, bool isComplete, const std::string &trial);
  /// One call under each tool of compute-sanitizer that is worth its time.
  Step<void> sanitize();
  Step<void> sanitizeWith(const std::string &tool);
  Step<void> warmBaseline();
  Step<void> measure();
  Step<void> profile();
  Step<void> prepare(const std::vector<unsigned> &sets, bool perturb);
  /// Where memory is copied: what the oracle has goes to the worker of \p side,
  /// and what the worker made of it back to the oracle.
  Step<void> exportSets(const std::vector<unsigned> &sets);
  Step<void> handOver(Side side, const std::vector<unsigned> &sets);
  Step<void> handBack(Side side, unsigned set);
  /// Copies the outputs of \p set away from \p side, to be judged.
  Step<void> capture(Side side, unsigned set);
  Step<TimingConfig> makeTimingConfig() const;
  void report(const std::string &doing) const;

  Session &session;
  const EvaluateOptions &options;
  const task::Task &task;
  const std::string &taskPath;
  const std::string &reference;
  const task::Workload &workload;
  unsigned sets = 3;
  json::Array buffers;
  /// The file through which memory is copied, or empty.
  std::string exchange;
  WorkloadResult result;
  std::string baselineIdentity;
  double validateSeconds = 0, profileSeconds = 0;
};

} // namespace d2k::runner

#endif // D2K_LIB_RUNNER_EVALUATE_WORKLOADRUN_H
