// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run agent: one run of the agent loop.

#include "AgentArguments.h"
#include "Commands.h"
#include "RunView.h"

#include "d2k/Agent/RunReport.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

static Result<int> runAgentCommand(const Arguments &arguments) {
  if (arguments.getPositional().size() != 1)
    return fail(FailureKind::Usage,
                "expected a task; see d2k-run agent --help");
  if (!arguments.has("model"))
    return fail(FailureKind::Usage,
                "--model is missing; see d2k-run agent --help");
  Result<RunOptions> options = readRunOptions(arguments);
  if (!options)
    return forwardFailure(std::move(options));
  Result<ModelOptions> model = readModelOptions(arguments);
  if (!model)
    return forwardFailure(std::move(model));
  options->model = std::move(*model);
  RunView view(arguments.has("quiet"));
  Result<RunResult> result = runAgent(*options, view.getObserver());
  view.clear();
  if (!result)
    return forwardFailure(std::move(result));
  std::fputs(sanitizeLines(renderRunSummary(result->document)).c_str(), stdout);
  return result->isCorrect ? 0 : getExitCode(FailureKind::Finding);
}

Command d2k::run::getAgentCommand() {
  return {"agent", "TASK",
          "Lets a model work on a task; goes on when DIR holds a run.",
          addRunOptions(addModelOptions({})), runAgentCommand};
}
