// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run replay: evaluate the submissions of a run again and compare.

#include "Commands.h"
#include "EvaluateArguments.h"
#include "RunView.h"

#include "d2k/Agent/ModelClient.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

static std::string formatSpeedup(const std::optional<double> &speedup) {
  char text[32] = "-";
  if (speedup)
    std::snprintf(text, sizeof(text), "%.3f", *speedup);
  return text;
}

static Result<int> replay(const Arguments &arguments) {
  if (arguments.getPositional().size() != 1)
    return fail(FailureKind::Usage,
                "expected the folder of a run, what --out of d2k-run agent or "
                "serve named");
  const std::string &directory = arguments.getPositional().front();
  Result<std::string> task = readRunTask(directory);
  if (!task)
    return forwardFailure(std::move(task));
  Result<runner::EvaluateOptions> evaluate =
      readEvaluateOptions(arguments, *task);
  if (!evaluate)
    return forwardFailure(std::move(evaluate));
  forgetKeys();
  WorkbenchOptions options;
  options.evaluate = std::move(*evaluate);
  Result<Workbench> bench = Workbench::create(std::move(options));
  if (!bench)
    return forwardFailure(std::move(bench));
  RunView view(arguments.has("quiet"));
  Result<std::vector<ReplayedSubmission>> list =
      replayRun(directory, *bench, view.getObserver());
  if (!list)
    return forwardFailure(std::move(list));
  size_t different = 0;
  std::printf("%10s  %-20s %-20s %9s %9s\n", "submission", "recorded", "now",
              "speedup", "now");
  for (const ReplayedSubmission &one : *list) {
    bool isSame = one.recorded == one.replayed;
    different += !isSame;
    std::printf("%10u  %-20s %-20s %9s %9s%s\n", one.number,
                sanitize(one.recorded).c_str(), sanitize(one.replayed).c_str(),
                formatSpeedup(one.recordedSpeedup).c_str(),
                formatSpeedup(one.replayedSpeedup).c_str(),
                isSame ? "" : "  differs");
  }
  std::printf("%zu submissions, %zu verdicts differ\n", list->size(),
              different);
  return different ? getExitCode(FailureKind::Finding) : 0;
}

Command d2k::run::getReplayCommand() {
  return {"replay", "DIR",
          "Evaluates every submission of a run again and compares.",
          addEvaluateOptions({{"quiet", "", "no progress"}}), replay};
}
