// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls d2k-analyze: this side links no LLVM.

#include "Evaluate/Score.h"

#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

using namespace d2k;
using namespace d2k::runner;

void runner::scoreImplementation(const EvaluateOptions &options,
                                 const std::string &task,
                                 Evaluation &evaluation) {
  if (!isRegularFile(joinPath(options.dataRoot, "rubrics/" + task + ".json"))) {
    evaluation.implementationProblem = "there is no rubric for " + task;
    return;
  }
  Command command;
  command.argv = {options.analyzer,
                  "--task",
                  task,
                  "--format",
                  "json",
                  "--arch",
                  evaluation.getDeviceText("arch"),
                  options.submission};
  Result<CommandResult> result = runCommand(command);
  if (!result || !result->succeeded()) {
    evaluation.implementationProblem =
        "d2k-analyze: " + (result ? result->describeEnd() + " " + result->error
                                  : result.error().message);
    return;
  }
  Result<json::Value> report = json::parse(result->output, "d2k-analyze");
  const json::Object *object = report ? report->getAsObject() : nullptr;
  const json::Value *score = object ? object->find("score") : nullptr;
  if (score && score->getAsObject())
    evaluation.implementation = *score;
  else
    evaluation.implementationProblem = "d2k-analyze reports no score";
}
