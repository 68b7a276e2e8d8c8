// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run propose: the design that a model proposes unaided.

#include "AgentArguments.h"
#include "Commands.h"
#include "RunView.h"

#include "d2k/Agent/Propose.h"
#include "d2k/Support/DataRoot.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::agent;

static Result<int> propose(const Arguments &arguments) {
  if (arguments.getPositional().size() != 1 || !arguments.has("model") ||
      !arguments.has("out"))
    return fail(FailureKind::Usage, "expected a task, --model and --out; see "
                                    "d2k-run propose --help");
  ProposeOptions options;
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  options.dataRoot = *root;
  Result<std::string> folder =
      findTaskFolder(*root, arguments.getPositional().front());
  if (!folder)
    return forwardFailure(std::move(folder));
  options.taskFolder = *folder;
  Result<ModelOptions> model = readModelOptions(arguments);
  if (!model)
    return forwardFailure(std::move(model));
  options.model = std::move(*model);
  if (std::optional<std::string> name = arguments.get("judge")) {
    Result<ModelOptions> judge = ModelOptions::parse(*name);
    if (!judge)
      return forwardFailure(std::move(judge));
    judge->attempts = options.model.attempts;
    judge->retrySeconds = options.model.retrySeconds;
    judge->baseUrl = arguments.get("judge-base-url").value_or("");
    options.judge = std::move(*judge);
  }
  int64_t votes = options.votes;
  if (Result<void> done = readCount(arguments, "votes", 1, votes); !done)
    return forwardFailure(std::move(done));
  options.votes = unsigned(votes);
  options.runDirectory = arguments.get("run").value_or("");
  options.directory = *arguments.get("out");
  RunView view(arguments.has("quiet"));
  Result<json::Value> proposal = proposeDesign(options, view.getObserver());
  if (!proposal)
    return forwardFailure(std::move(proposal));
  std::fputs(renderProposal(*proposal).c_str(), stdout);
  return 0;
}

Command d2k::run::getProposeCommand() {
  return {
      "propose", "TASK",
      "Asks a model for a design unaided, and sets it beside the experts'.",
      addModelOptions(
          {{"out", "DIR", "where the conversation and proposal.json go"},
           {"judge", "PROVIDER:MODEL", "a model that assesses it too"},
           {"judge-base-url", "URL", "another server for the judge"},
           {"votes", "N", "how often the judge is asked (default 3)"},
           {"run", "DIR", "a finished run: what of the design is in its code"},
           {"quiet", "", "no progress"}}),
      propose};
}
