// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop: ask, do what is asked for, ask again.

#include "d2k/Agent/Run.h"

#include "RunSession.h"

#include "d2k/Runner/Submission.h"

#include <filesystem>

using namespace d2k;
using namespace d2k::agent;

/// Whether a provider that refuses a request means its length: only then may
/// the conversation be cut. Each says it in its own words.
static bool isAboutLength(const std::string &message) {
  for (const char *words :
       {"too long", "too large", "context", "maximum", "tokens", "413"})
    if (message.find(words) != std::string::npos)
      return true;
  return false;
}

/// One response. A request that the provider finds too long is made shorter
/// once.
static Result<void> takeTurn(RunSession &session, ModelClient &client) {
  Result<bool> compacted = session.compact(/*force=*/false);
  if (!compacted)
    return forwardFailure(std::move(compacted));
  unsigned turn = session.getState().turn + 1;
  Result<void> recorded;
  ModelEvents events;
  events.problem = [&](const std::string &text) {
    if (recorded)
      recorded =
          session.addProblem("turn " + std::to_string(turn) + ": " + text);
  };
  for (bool isRetry = false;; isRetry = true) {
    session.show("waiting for the model");
    ModelRequest request;
    request.system = session.getState().system;
    request.messages = session.getState().getContext();
    request.tools = getToolDefinitions();
    auto start = std::chrono::steady_clock::now();
    Result<ModelResponse> response = client.complete(request, turn, events);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (!recorded)
      return recorded;
    if (response)
      return session.addResponse(response->message, response->usage,
                                 std::string(getStopReasonName(response->stop)),
                                 response->model, seconds, response->attempts);
    if (response.error().kind != FailureKind::Input)
      return forwardFailure(std::move(response));
    // Not the submission's fault, whatever the kind says.
    response.error().kind = FailureKind::Environment;
    if (isRetry || !isAboutLength(response.error().message))
      return forwardFailure(std::move(response));
    Result<bool> shorter = session.compact(/*force=*/true);
    if (!shorter)
      return forwardFailure(std::move(shorter));
    if (!*shorter)
      return forwardFailure(std::move(response));
    if (Result<void> done = session.addProblem(
            "turn " + std::to_string(turn) + ": " + response.error().message +
            "; trying with less of the conversation");
        !done)
      return done;
  }
}

Result<RunResult> agent::runAgent(const RunOptions &options,
                                  const RunObserver &observer) {
  Result<std::unique_ptr<ModelClient>> client =
      createModelClient(options.model);
  if (!client)
    return forwardFailure(std::move(client));
  Result<std::unique_ptr<RunSession>> opened = RunSession::open(
      options, options.model.getName(), (*client)->getSecrets(), observer);
  if (!opened)
    return forwardFailure(std::move(opened));
  RunSession &session = **opened;
  while (!session.getState().ended) {
    if (Result<void> done = session.runPendingCalls(); !done)
      return forwardFailure(std::move(done));
    const std::vector<Message> &messages = session.getState().messages;
    if (!messages.empty() && messages.back().role == Role::Assistant)
      if (Result<void> done = session.closeTurn(); !done)
        return forwardFailure(std::move(done));
    std::optional<std::string> reason = session.getBudgetEnd();
    Result<void> done =
        reason ? session.end(*reason) : takeTurn(session, **client);
    if (!done)
      return forwardFailure(std::move(done));
  }
  return session.finish();
}

//===----------------------------------------------------------------------===//
// Replay
//===----------------------------------------------------------------------===//

Result<std::string> agent::readRunTask(const std::string &directory) {
  Result<std::vector<Event>> events =
      readTranscript(joinPath(directory, "transcript.jsonl"));
  if (!events)
    return forwardFailure(std::move(events));
  if (events->empty())
    return fail(FailureKind::Input, directory + ": the transcript is empty");
  return json::Cursor(events->front().data, directory).getString("task");
}

Result<std::vector<ReplayedSubmission>>
agent::replayRun(const std::string &directory, Workbench &bench,
                 const RunObserver &observer) {
  Result<std::vector<Event>> events =
      readTranscript(joinPath(directory, "transcript.jsonl"));
  if (!events)
    return forwardFailure(std::move(events));
  RunState state;
  for (const Event &event : *events)
    if (Result<void> done = state.apply(event); !done)
      return forwardFailure(std::move(done));
  std::vector<ReplayedSubmission> replayed;
  for (const SubmissionRecord &record : state.submissions) {
    std::string folder = joinPath(
        getSubmissionFolder(joinPath(directory, "submissions"),
                            record.sameAs ? record.sameAs : record.number),
        "source");
    Result<runner::Submission> files = runner::Submission::read(folder);
    if (!files)
      return forwardFailure(std::move(files));
    if (files->sha256 != record.sha256)
      return fail(FailureKind::Input,
                  folder + ": the files are not those of submission " +
                      std::to_string(record.number));
    ReplayedSubmission again;
    again.number = record.number;
    again.recorded = record.verdict;
    again.recordedSpeedup = record.speedup;
    if (record.sameAs) {
      const ReplayedSubmission &first = replayed[record.sameAs - 1];
      again.replayed = first.replayed;
      again.replayedSpeedup = first.replayedSpeedup;
      replayed.push_back(std::move(again));
      continue;
    }
    if (observer.note)
      observer.note("submission " + std::to_string(record.number));
    Result<runner::Evaluation> evaluation =
        bench.evaluate(folder, Workbench::Depth::Submit, {});
    if (!evaluation)
      return forwardFailure(std::move(evaluation));
    again.replayed = std::string(getVerdictName(evaluation->verdict));
    if (std::optional<metrics::TaskSpeedup> speedup = evaluation->getSpeedup())
      again.replayedSpeedup = speedup->value;
    replayed.push_back(std::move(again));
  }
  return replayed;
}
