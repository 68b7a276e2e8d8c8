// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run serve: the tools of a run for an agent from outside.

#include "AgentArguments.h"
#include "Commands.h"
#include "RunView.h"

#include "d2k/Agent/Mcp.h"
#include "d2k/Agent/ModelClient.h"
#include "d2k/Agent/RunReport.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>

#include <unistd.h>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

static Result<int> serve(const Arguments &arguments) {
  if (!arguments.has("mcp") || arguments.getPositional().size() != 1)
    return fail(FailureKind::Usage,
                "expected --mcp and a task; see d2k-run serve --help");
  Result<RunOptions> options = readRunOptions(arguments);
  if (!options)
    return forwardFailure(std::move(options));
  // The agent's client may hand its keys on; no compiler shall see them.
  forgetKeys();
  RunView view(arguments.has("quiet"));
  if (!arguments.has("finish")) {
    // Whatever prints to standard output must not reach the client.
    int output = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    Result<void> served =
        serveMcp(*options, view.getObserver(), STDIN_FILENO, output);
    if (!served)
      return forwardFailure(std::move(served));
    return 0;
  }
  Result<RunResult> result = finishServedRun(*options, view.getObserver());
  view.clear();
  if (!result)
    return forwardFailure(std::move(result));
  std::fputs(sanitizeLines(renderRunSummary(result->document)).c_str(), stdout);
  return result->isCorrect ? 0 : getExitCode(FailureKind::Finding);
}

Command d2k::run::getServeCommand() {
  return {
      "serve", "--mcp TASK",
      "Offers the same tools and budget to an outside agent, over MCP (stdio).",
      addRunOptions(
          {{"mcp", "", "speak the Model Context Protocol"},
           {"finish", "", "end the run: measure its best submission again"}}),
      serve};
}
