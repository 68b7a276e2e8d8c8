// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run: one model, one task, one arm, a budget. Everything that the run
// knows is in its transcript; the state here is a function of it, so that a run
// that was killed goes on where it stopped. docs/Agents.md has the rules.

#ifndef D2K_AGENT_RUN_H
#define D2K_AGENT_RUN_H

#include "d2k/Agent/ModelClient.h"
#include "d2k/Agent/Transcript.h"
#include "d2k/Agent/Workbench.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace d2k::agent {

struct SubmissionRecord;

/// When a run ends. Turns are the measure of the benchmark; the others are for
/// those who pay.
struct Budget {
  unsigned turns = 350;
  std::optional<int64_t> tokens;
  std::optional<double> seconds;
  /// US dollars, by Prices.
  std::optional<double> cost;
};

struct RunOptions {
  WorkbenchOptions bench;
  ModelOptions model;
  Prices prices;
  std::string arm = "none";
  Budget budget;
  /// Of the model: what a request and its response may have together.
  int64_t contextTokens = 200000;
  /// Times that a selected submission is measured again.
  unsigned finalRepeats = 3;
  /// Everything that the run keeps.
  std::string directory;
};

/// How far a run is, for those who watch.
struct RunProgress {
  unsigned turn = 0, turns = 0;
  Usage usage;
  double cost = 0, elapsed = 0;
  unsigned submissions = 0;
  std::optional<double> best;
  std::string lastVerdict;
  /// What is being done now.
  std::string doing;
};

struct RunObserver {
  /// The state changed.
  std::function<void(const RunProgress &)> progress;
  /// Something that a reader should keep: a failed attempt, a submission.
  std::function<void(const std::string &)> note;
};

/// The result of a run, the document d2k.run/1 (docs/schemas/run.schema.json).
struct RunResult {
  json::Value document;
  /// A submission was correct and stayed so when it was measured again.
  bool isCorrect = false;
};

/// Runs, or goes on with what \p options.directory has. Fails with kind Usage
/// when the folder has a run with other settings, and with kind Environment
/// when the model or the device is out of reach; calling it again goes on then.
Result<RunResult> runAgent(const RunOptions &options,
                           const RunObserver &observer);

/// One submission, evaluated again.
struct ReplayedSubmission {
  unsigned number = 0;
  std::string recorded, replayed;
  std::optional<double> recordedSpeedup, replayedSpeedup;
};

/// Evaluates every submission of the run in \p directory again.
Result<std::vector<ReplayedSubmission>> replayRun(const std::string &directory,
                                                  Workbench &bench,
                                                  const RunObserver &observer);

/// The name of the task in the transcript of \p directory.
Result<std::string> readRunTask(const std::string &directory);

} // namespace d2k::agent

#endif // D2K_AGENT_RUN_H
