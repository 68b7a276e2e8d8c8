// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run without the question where responses come from: folder, transcript,
// files, tools, budget and end. The loop of Run.cpp feeds it with a model's
// responses, the MCP server with the calls of an outside agent.

#ifndef D2K_LIB_AGENT_RUNSESSION_H
#define D2K_LIB_AGENT_RUNSESSION_H

#include "RunState.h"

#include "d2k/Agent/Run.h"

#include <memory>

namespace d2k::agent {

/// Where temporary files go, until the object dies.
class TemporaryPlace {
public:
  /// Makes \p folder empty and names it in TMPDIR.
  explicit TemporaryPlace(std::string folder);
  ~TemporaryPlace();
  TemporaryPlace(const TemporaryPlace &) = delete;
  TemporaryPlace &operator=(const TemporaryPlace &) = delete;

private:
  std::string folder;
  std::optional<std::string> before;
};

class RunSession {
public:
  /// Opens or makes the run in \p options.directory. \p modelName stands in the
  /// transcript; \p secrets never do. \p observer must outlive the session.
  static Result<std::unique_ptr<RunSession>>
  open(const RunOptions &options, const std::string &modelName,
       std::vector<std::string> secrets, const RunObserver &observer);

  const RunState &getState() const { return state; }
  const RunOptions &getOptions() const { return options; }
  Workbench &getBench() { return *bench; }

  /// Why the budget ends the run now, or nothing.
  std::optional<std::string> getBudgetEnd() const;

  /// Adds a response; a turn is used up.
  Result<void> addResponse(const Message &message, const Usage &usage,
                           const std::string &stop, const std::string &model,
                           double seconds, unsigned attempts);
  /// Runs the calls of the last response that have no result yet.
  Result<void> runPendingCalls();
  /// Ends the turn with what the harness has to say.
  Result<void> closeTurn();
  /// Leaves old messages out when the next request would be too long, or
  /// always with \p force. False when there is nothing to leave out.
  Result<bool> compact(bool force);
  /// Something that a reader should know and that changes nothing.
  Result<void> addProblem(const std::string &text);
  Result<void> end(const std::string &reason);

  /// Measures the best submission again and writes what the run came to. May
  /// be called again; what was measured stays.
  Result<RunResult> finish();

  void show(const std::string &doing);

private:
  RunSession(const RunOptions &options, const RunObserver &observer,
             Transcript transcript, WorkDirectory files)
      : options(options), observer(observer), transcript(std::move(transcript)),
        files(std::move(files)), temporary(options.directory + "/tmp") {}

  Result<void> start(const std::string &modelName);
  Result<void> restoreFiles();
  Result<void> append(std::string type, json::Object data);
  ToolContext makeContext();
  /// The result in \p file, or of a new evaluation.
  Result<json::Value> measureOnce(const std::string &file,
                                  const SubmissionRecord &record, bool heldOut,
                                  bool score);
  struct Final {
    const SubmissionRecord *selected = nullptr;
    std::optional<double> speedup;
    json::Array repeats, rejected;
    json::Value heldOut, implementation, isolation, device;
  };
  Result<bool> measureAgain(const SubmissionRecord &record, Final &final);
  json::Value makeDocument(const Final &final) const;

  const RunOptions options;
  const RunObserver &observer;
  Transcript transcript;
  WorkDirectory files;
  // Evaluations leave files there when they are killed; the next start removes
  // them.
  TemporaryPlace temporary;
  std::unique_ptr<Workbench> bench;
  RunState state;
};

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_RUNSESSION_H
