// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run does between two responses.

#include "RunSession.h"

#include "d2k/Agent/Prompt.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Sha256.h"
#include "d2k/Support/Version.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace d2k;
using namespace d2k::agent;

/// Compaction begins when a request would fill this part of what the model can
/// take, and leaves that one.
static constexpr double kFullPart = 0.8;
static constexpr double kKeptPart = 0.3;
static constexpr unsigned kMostSilentTurns = 3;

//===----------------------------------------------------------------------===//
// Beginning and going on
//===----------------------------------------------------------------------===//

static json::Value toJson(const Budget &budget) {
  return json::Object{
      {"turns", int64_t(budget.turns)},
      {"tokens", budget.tokens ? json::Value(*budget.tokens) : nullptr},
      {"seconds", budget.seconds ? json::Value(*budget.seconds) : nullptr},
      {"cost", budget.cost ? json::Value(*budget.cost) : nullptr}};
}

static json::Value toJson(const Prices &prices) {
  return json::Object{{"input", prices.input},
                      {"output", prices.output},
                      {"cached", prices.cached},
                      {"cache_written", prices.cacheWritten}};
}

TemporaryPlace::TemporaryPlace(std::string path) : folder(std::move(path)) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  std::filesystem::create_directories(folder, error);
  if (const char *variable = std::getenv("TMPDIR"))
    before = variable;
  ::setenv("TMPDIR", folder.c_str(), 1);
}

TemporaryPlace::~TemporaryPlace() {
  if (before)
    ::setenv("TMPDIR", before->c_str(), 1);
  else
    ::unsetenv("TMPDIR");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
}

Result<std::unique_ptr<RunSession>>
RunSession::open(const RunOptions &options, const std::string &modelName,
                 std::vector<std::string> secrets,
                 const RunObserver &observer) {
  std::error_code error;
  std::filesystem::path folder =
      std::filesystem::absolute(options.directory, error);
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(FailureKind::Usage,
                options.directory + ": cannot be made: " + error.message());
  RunOptions own = options;
  own.directory = folder.string();
  if (own.directory.size() > 1 && own.directory.back() == '/')
    own.directory.pop_back();
  // Nobody's folder is taken for a run.
  if (!isRegularFile(joinPath(own.directory, "transcript.jsonl")) &&
      !std::filesystem::is_empty(folder, error))
    return fail(FailureKind::Usage,
                options.directory + ": holds other things than a run; name a "
                                    "new folder");
  Result<Transcript> transcript =
      Transcript::open(joinPath(own.directory, "transcript.jsonl"));
  if (!transcript)
    return forwardFailure(std::move(transcript));
  transcript->setSecrets(std::move(secrets));
  Result<WorkDirectory> files =
      WorkDirectory::open(joinPath(own.directory, "work"));
  if (!files)
    return forwardFailure(std::move(files));
  std::unique_ptr<RunSession> session(
      new RunSession(own, observer, std::move(*transcript), std::move(*files)));
  Result<Workbench> bench = Workbench::create(own.bench);
  if (!bench)
    return forwardFailure(std::move(bench));
  session->bench = std::make_unique<Workbench>(std::move(*bench));
  session->bench->progress = [session =
                                  session.get()](const std::string &doing) {
    session->show(doing);
  };
  if (Result<void> done = session->start(modelName); !done)
    return forwardFailure(std::move(done));
  return session;
}

Result<void> RunSession::start(const std::string &modelName) {
  const task::Task &task = bench->getTask();
  Result<std::string> guidance =
      makeGuidanceText(options.bench.evaluate.dataRoot, task.name, options.arm);
  if (!guidance)
    return forwardFailure(std::move(guidance));
  Result<std::string> taskText =
      readFile(joinPath(options.bench.evaluate.taskFolder, "task.json"));
  if (!taskText)
    return forwardFailure(std::move(taskText));
  json::Array tools;
  for (const ToolDefinition &tool : getToolDefinitions())
    tools.push_back(tool.toJson());
  json::Object data = {
      {"schema", "d2k.transcript/1"},
      {"d2k_version", std::string(getVersion())},
      {"task", task.name},
      {"task_sha256", sha256Hex(*taskText)},
      {"arm", options.arm},
      {"model", modelName},
      {"parameters", options.model.parameters},
      {"max_output_tokens", options.model.maxOutputTokens},
      {"context_tokens", options.contextTokens},
      {"budget", toJson(options.budget)},
      {"prices", toJson(options.prices)},
      {"system", getSystemPrompt()},
      {"tools", std::move(tools)},
      {"first_message",
       makeTaskText(task, bench->getDescription(), options.budget.turns) +
           *guidance}};
  const std::vector<Event> &events = transcript.getEvents();
  if (events.empty())
    return append("start", std::move(data));
  // A run keeps its settings; the version may be a newer one.
  if (events.front().type != "start")
    return fail(FailureKind::Input, "the transcript has no start");
  const json::Object *before = events.front().data.getAsObject();
  for (const json::Member &member : data) {
    if (member.name == "d2k_version")
      continue;
    const json::Value *old = before ? before->find(member.name) : nullptr;
    if (!old || !(*old == member.value))
      return fail(FailureKind::Usage,
                  options.directory + ": has a run with another " +
                      member.name +
                      "; name a new folder, or give the options of that run");
  }
  for (const Event &event : events)
    if (Result<void> done = state.apply(event); !done)
      return done;
  if (Result<void> done = restoreFiles(); !done)
    return done;
  if (state.ended)
    return {};
  return append("resume", {{"d2k_version", std::string(getVersion())}});
}

ToolContext RunSession::makeContext() {
  return {files, *bench, joinPath(options.directory, "submissions"),
          state.submissions, state.turn};
}

/// The files are what the tools of the transcript made of nothing.
Result<void> RunSession::restoreFiles() {
  if (Result<void> done = files.clear(); !done)
    return done;
  Message last;
  for (const Event &event : transcript.getEvents()) {
    json::Cursor data(event.data, "transcript");
    if (event.type == "response") {
      Result<Message> message = Message::fromJson(data.at("message"));
      if (!message)
        return forwardFailure(std::move(message));
      last = std::move(*message);
    }
    if (event.type != "tool" || data.getBoolean("is_error").value_or(true) ||
        !changesFiles(data.getString("name").value_or("")))
      continue;
    std::vector<const Block *> calls = last.getToolCalls();
    size_t index = size_t(data.getInteger("call").value_or(0));
    if (index >= calls.size())
      return data.fail("no such call");
    ToolContext context = makeContext();
    Result<ToolOutcome> outcome =
        callTool(context, calls[index]->name, calls[index]->text);
    if (!outcome)
      return forwardFailure(std::move(outcome));
    // It worked then. Files that are not those of the run are worse than none.
    if (outcome->isError)
      return fail(FailureKind::Environment,
                  "the files of turn " +
                      std::to_string(data.getInteger("turn").value_or(0)) +
                      " cannot be made again: " + outcome->text);
  }
  return {};
}

Result<void> RunSession::append(std::string type, json::Object data) {
  if (Result<void> done = transcript.append(std::move(type), std::move(data));
      !done)
    return done;
  return state.apply(transcript.getEvents().back());
}

void RunSession::show(const std::string &doing) {
  if (!observer.progress)
    return;
  RunProgress progress;
  progress.turn = state.turn;
  progress.turns = options.budget.turns;
  progress.usage = state.usage;
  progress.cost = state.cost;
  progress.elapsed = transcript.getElapsed();
  progress.submissions = unsigned(state.submissions.size());
  if (const SubmissionRecord *best = state.getBest())
    progress.best = best->speedup;
  if (!state.submissions.empty())
    progress.lastVerdict = state.submissions.back().verdict;
  progress.doing = doing;
  observer.progress(progress);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

std::optional<std::string> RunSession::getBudgetEnd() const {
  const Budget &budget = options.budget;
  if (state.turn >= budget.turns)
    return "turns";
  if (budget.tokens && state.usage.getTotal() >= *budget.tokens)
    return "tokens";
  if (budget.seconds && transcript.getElapsed() >= *budget.seconds)
    return "seconds";
  if (budget.cost && state.cost >= *budget.cost)
    return "cost";
  if (state.silentTurns >= kMostSilentTurns)
    return "silence";
  return std::nullopt;
}

Result<void> RunSession::addResponse(const Message &message, const Usage &usage,
                                     const std::string &stop,
                                     const std::string &model, double seconds,
                                     unsigned attempts) {
  json::Object data =
      makeResponseData(state.turn + 1, message, usage,
                       options.prices.getCost(usage), stop, model, attempts);
  data.set("seconds", seconds);
  return append("response", std::move(data));
}

Result<void> RunSession::runPendingCalls() {
  while (std::optional<RunState::PendingCall> pending =
             state.getPendingCall()) {
    show(pending->call->name);
    ToolContext context = makeContext();
    Result<ToolOutcome> outcome =
        callTool(context, pending->call->name, pending->call->text);
    if (!outcome)
      return forwardFailure(std::move(outcome));
    json::Object data = {
        {"turn", int64_t(state.turn)}, {"call", int64_t(pending->index)},
        {"id", pending->call->callId}, {"name", pending->call->name},
        {"text", outcome->text},       {"is_error", outcome->isError}};
    if (outcome->submission)
      data.set("submission", outcome->submission->toJson());
    if (Result<void> done = append("tool", std::move(data)); !done)
      return done;
    if (outcome->submission && observer.note) {
      const SubmissionRecord &record = *outcome->submission;
      char speedup[32] = "";
      if (record.speedup)
        std::snprintf(speedup, sizeof(speedup), ", %.3gx", *record.speedup);
      observer.note("turn " + std::to_string(state.turn) + ": submission " +
                    std::to_string(record.number) + " is " + record.verdict +
                    speedup);
    }
  }
  return {};
}

Result<void> RunSession::closeTurn() {
  std::string text = "[turn " + std::to_string(state.turn) + " of " +
                     std::to_string(options.budget.turns) + "]";
  if (state.silentTurns > 0)
    text += " You called no tool. Go on with the task; after three responses "
            "in a row without a tool call the work ends.";
  return append("message", {{"text", text}});
}

Result<bool> RunSession::compact(bool force) {
  // A quarter of a small context is kept for the response at least.
  int64_t room = std::max(options.contextTokens - options.model.maxOutputTokens,
                          options.contextTokens / 4);
  if (!force &&
      double(state.estimatePromptTokens()) <= kFullPart * double(room))
    return true;
  size_t most = size_t(kKeptPart * double(room * kCharactersPerToken));
  // The provider knows better what is too long.
  if (force)
    most = std::min(most, state.getMessageBytes() / 2);
  size_t start = state.findCompactionStart(most);
  if (start == 0)
    return false;
  unsigned left = 0;
  for (size_t i = 0; i < start; ++i)
    left += state.messages[i].role == Role::Assistant;
  std::string note = "[Turns 1 to " + std::to_string(left) +
                     " are left out here to save space. Your files now:\n";
  for (const WorkDirectory::Entry &entry : files.list())
    note += "- " + entry.file + ", " + std::to_string(entry.bytes) + " bytes\n";
  note += "Your submissions so far:\n";
  for (const SubmissionRecord &record : state.submissions) {
    char speedup[32] = "";
    if (record.speedup)
      std::snprintf(speedup, sizeof(speedup), ", speedup %.3g",
                    *record.speedup);
    note += "- " + std::to_string(record.number) + " (turn " +
            std::to_string(record.turn) + "): " + record.verdict + speedup +
            "\n";
  }
  if (state.submissions.empty())
    note += "- none\n";
  note += "`read_file` shows a file, `diff_files` what changed since a "
          "submission.]";
  if (Result<void> done =
          append("compaction", {{"turn", int64_t(state.turn)},
                                {"first_message_kept", int64_t(start)},
                                {"note", std::move(note)}});
      !done)
    return forwardFailure(std::move(done));
  return true;
}

Result<void> RunSession::addProblem(const std::string &text) {
  if (observer.note)
    observer.note(text);
  return append("problem", {{"text", text}});
}

Result<void> RunSession::end(const std::string &reason) {
  return append("end", {{"reason", reason}});
}
