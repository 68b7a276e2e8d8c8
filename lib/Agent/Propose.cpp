// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks for a design, compares it and writes down what came out.

#include "d2k/Agent/Propose.h"

#include "Judge.h"
#include "RunState.h"

#include "d2k/Agent/Prompt.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>
#include <filesystem>

using namespace d2k;
using namespace d2k::agent;

static constexpr unsigned kMostResponses = 3;
static constexpr const char *kToolName = "propose_design";

static constexpr const char *kSystem =
    "You are an expert of GPU performance. You are given a task. State the "
    "design of the kernel that you would write, before writing any code: every "
    "decision that matters for speed, as one item each. Items have three "
    "levels: L1 algorithmic insight (what is computed where, and what limits "
    "it), L2 dataflow design (how data moves and who does what), L3 low-level "
    "optimization (instructions, layouts, registers). Say what each item "
    "depends on, and why it pays, with numbers. Be concrete: an item that "
    "could stand in any design is worth nothing. Answer with one call of "
    "propose_design.\n";

namespace {

/// The conversation in which a model states its design.
class Proposal {
public:
  Proposal(const ProposeOptions &options, const RunObserver &observer,
           ModelClient &client, Transcript &transcript)
      : options(options), observer(observer), client(client),
        transcript(transcript) {}

  Result<Design> ask(const std::string &taskText);
  const Usage &getUsage() const { return state.usage; }

private:
  Result<void> append(std::string type, json::Object data) {
    if (Result<void> done = transcript.append(std::move(type), std::move(data));
        !done)
      return done;
    return state.apply(transcript.getEvents().back());
  }
  Result<void> takeResponse();
  /// The design in the last response, or what is wrong with it.
  Result<Design> read() const;

  const ProposeOptions &options;
  const RunObserver &observer;
  ModelClient &client;
  Transcript &transcript;
  RunState state;
};

} // namespace

Result<void> Proposal::takeResponse() {
  ModelRequest request;
  request.system = state.system;
  request.messages = state.getContext();
  Result<json::Value> schema =
      json::parse(getDesignSchemaText(), "design schema");
  if (!schema)
    return forwardFailure(std::move(schema));
  request.tools = {{kToolName, "States your design.", std::move(*schema)}};
  request.forcedTool = kToolName;
  ModelEvents events;
  events.problem = observer.note;
  Result<ModelResponse> response =
      client.complete(request, state.turn + 1, events);
  if (!response) {
    response.error().kind = FailureKind::Environment;
    return forwardFailure(std::move(response));
  }
  return append("response",
                makeResponseData(state.turn + 1, response->message,
                                 response->usage, /*cost=*/0,
                                 std::string(getStopReasonName(response->stop)),
                                 response->model, response->attempts));
}

Result<Design> Proposal::read() const {
  std::vector<const Block *> calls = state.messages.back().getToolCalls();
  if (calls.empty())
    return fail(FailureKind::Input,
                "no design; call propose_design with your items");
  Result<json::Document> document =
      json::Document::parse(calls.front()->text, "arguments");
  if (!document)
    return forwardFailure(std::move(document));
  return Design::fromJson(document->getRoot());
}

Result<Design> Proposal::ask(const std::string &taskText) {
  for (const Event &event : transcript.getEvents())
    if (Result<void> done = state.apply(event); !done)
      return forwardFailure(std::move(done));
  if (transcript.getEvents().empty()) {
    if (Result<void> done = append(
            "start",
            {{"schema", "d2k.transcript/1"},
             {"task",
              std::filesystem::path(options.taskFolder).filename().string()},
             {"model", options.model.getName()},
             {"parameters", options.model.parameters},
             {"system", kSystem},
             {"first_message", taskText}});
        !done)
      return forwardFailure(std::move(done));
  } else {
    json::Cursor start(transcript.getEvents().front().data, "transcript");
    if (start.getString("model").value_or("") != options.model.getName() ||
        state.firstMessage != taskText)
      return fail(FailureKind::Usage,
                  options.directory + ": has the proposal of another model or "
                                      "task; name a new folder");
  }
  for (;;) {
    bool isAnswered = !state.messages.empty() &&
                      state.messages.back().role == Role::Assistant;
    if (!isAnswered)
      if (Result<void> done = takeResponse(); !done)
        return forwardFailure(std::move(done));
    Result<Design> design = read();
    if (design && !state.ended)
      if (Result<void> done = append("end", {{"reason", "design"}}); !done)
        return forwardFailure(std::move(done));
    if (design)
      return design;
    if (state.turn >= kMostResponses)
      return fail(FailureKind::Finding,
                  "the model states no design in " +
                      std::to_string(kMostResponses) +
                      " responses; the last fault: " + design.error().message);
    while (std::optional<RunState::PendingCall> pending =
               state.getPendingCall())
      if (Result<void> done = append("tool", {{"id", pending->call->callId},
                                              {"name", pending->call->name},
                                              {"text", design.error().message},
                                              {"is_error", true}});
          !done)
        return forwardFailure(std::move(done));
    if (Result<void> done =
            append("message",
                   {{"text", "That is no design: " + design.error().message +
                                 ". Call propose_design again."}});
        !done)
      return forwardFailure(std::move(done));
  }
}

//===----------------------------------------------------------------------===//
// What was implemented
//===----------------------------------------------------------------------===//

/// The proved credit of each item of the guidance in the run's selected
/// submission: the mean over the rubric's properties, by weight.
static Result<std::map<std::string, double>>
readCredits(const std::string &directory, const rubric::Rubric &rubric) {
  Result<json::Document> result =
      json::Document::read(joinPath(directory, "result.json"));
  if (!result)
    return forwardFailure(std::move(result));
  json::Cursor root = result->getRoot();
  Result<std::string> task = root.getString("task");
  if (!task)
    return forwardFailure(std::move(task));
  if (*task != rubric.task)
    return root.fail("is a run of " + *task + ", not of " + rubric.task);
  Result<json::Cursor> score = root.get("implementation");
  if (!score)
    return forwardFailure(std::move(score));
  if (!score->getValue().getAsObject())
    return root.fail("the run has no implementation score; d2k-analyze was not "
                     "at hand when it ended");
  Result<std::vector<json::Cursor>> properties = score->getArray("properties");
  if (!properties)
    return forwardFailure(std::move(properties));
  std::map<std::string, double> sums, weights;
  for (const json::Cursor &property : *properties) {
    std::optional<size_t> index =
        rubric.find(property.getString("id").value_or(""));
    std::optional<json::Cursor> credit = property.find("credit");
    if (!index || !credit || !credit->getValue().getAsArray() ||
        credit->getValue().getAsArray()->empty())
      continue;
    const rubric::Property &known = rubric.properties[*index];
    sums[known.guidance] += known.weight * credit->at(0).asNumber().value_or(0);
    weights[known.guidance] += known.weight;
  }
  for (auto &[id, sum] : sums)
    sum /= weights[id];
  return sums;
}

static const char *getOutcome(Discovery discovery, double credit) {
  bool isFound = discovery != Discovery::Missed, isThere = credit >= 0.5;
  if (isFound)
    return isThere ? "discovered_and_implemented"
                   : "discovered_not_implemented";
  return isThere ? "implemented_undiscovered" : "not_discovered";
}

//===----------------------------------------------------------------------===//
// The document
//===----------------------------------------------------------------------===//

static json::Value toJson(const LevelScore &score) {
  return json::Object{
      {"recall", score.recall ? json::Value(*score.recall) : nullptr},
      {"precision", score.precision ? json::Value(*score.precision) : nullptr}};
}

static json::Value
makeDocument(const ProposeOptions &options, const std::string &task,
             const Design &design, const Assessment &assessment,
             const std::optional<Judgement> &judgement,
             const std::optional<std::map<std::string, double>> &credits,
             const Usage &usage) {
  json::Array items;
  for (const AssessedItem &item : assessment.items) {
    json::Object object = {
        {"id", item.id},
        {"level", rubric::getLevelName(item.level)},
        {"title", item.title},
        {"discovery", std::string(getDiscoveryName(item.discovery))},
        {"overlap", item.overlap},
        {"matched",
         item.matched.empty() ? json::Value() : json::Value(item.matched)}};
    if (judgement)
      object.set("judge",
                 std::string(getDiscoveryName(judgement->items.at(item.id))));
    if (credits) {
      auto credit = credits->find(item.id);
      if (credit != credits->end()) {
        object.set("credit", credit->second);
        object.set("outcome",
                   std::string(getOutcome(item.discovery, credit->second)));
      }
    }
    items.emplace_back(std::move(object));
  }
  json::Object levels;
  for (unsigned level = 0; level < rubric::kNumLevels; ++level)
    levels.set(rubric::getLevelName(level), toJson(assessment.levels[level]));
  json::Object document = {
      {"schema", "d2k.proposal/1"},       {"task", task},
      {"model", options.model.getName()}, {"design", design.toJson()},
      {"items", std::move(items)},        {"levels", std::move(levels)},
      {"all", toJson(assessment.all)},    {"usage", usage.toJson()}};
  if (judgement)
    document.set("judge", json::Object{{"model", options.judge->getName()},
                                       {"votes", int64_t(judgement->votes)},
                                       {"agreement",
                                        judgement->agreement
                                            ? json::Value(*judgement->agreement)
                                            : nullptr},
                                       {"usage", judgement->usage.toJson()}});
  return document;
}

Result<json::Value> agent::proposeDesign(const ProposeOptions &options,
                                         const RunObserver &observer) {
  Result<task::Task> task =
      task::Task::load(joinPath(options.taskFolder, "task.json"));
  if (!task)
    return forwardFailure(std::move(task));
  Result<std::string> description =
      readFile(joinPath(options.taskFolder, "description.md"));
  if (!description)
    return forwardFailure(std::move(description));
  Result<std::string> guidanceText =
      readFile(joinPath(options.dataRoot, "guidance/" + task->name + ".md"));
  if (!guidanceText)
    return fail(FailureKind::Input,
                "task " + task->name +
                    " has no guidance, with which a design is compared: " +
                    guidanceText.error().message +
                    " (d2k-run list says which tasks have)");
  rubric::Guidance guidance = rubric::parseGuidance(*guidanceText);
  Result<rubric::Rubric> rubric = rubric::Rubric::load(
      joinPath(options.dataRoot, "rubrics/" + task->name + ".json"));
  if (!rubric)
    return forwardFailure(std::move(rubric));
  std::optional<std::map<std::string, double>> credits;
  if (!options.runDirectory.empty()) {
    Result<std::map<std::string, double>> read =
        readCredits(options.runDirectory, *rubric);
    if (!read)
      return forwardFailure(std::move(read));
    credits = std::move(*read);
  }

  Result<std::unique_ptr<ModelClient>> client =
      createModelClient(options.model);
  if (!client)
    return forwardFailure(std::move(client));
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  Result<Transcript> transcript =
      Transcript::open(joinPath(options.directory, "transcript.jsonl"));
  if (!transcript)
    return forwardFailure(std::move(transcript));
  transcript->setSecrets((*client)->getSecrets());
  Proposal proposal(options, observer, **client, *transcript);
  Result<Design> design =
      proposal.ask(makeTaskText(*task, *description, /*turns=*/0));
  if (!design)
    return forwardFailure(std::move(design));

  std::optional<Judgement> judgement;
  if (options.judge) {
    Result<std::unique_ptr<ModelClient>> judge =
        createModelClient(*options.judge);
    if (!judge)
      return forwardFailure(std::move(judge));
    // Votes stand apart: the question has the guidance in it.
    Result<Transcript> votes =
        Transcript::open(joinPath(options.directory, "judge.jsonl"));
    if (!votes)
      return forwardFailure(std::move(votes));
    votes->setSecrets((*judge)->getSecrets());
    ModelEvents events;
    events.problem = observer.note;
    Result<Judgement> judged =
        judgeDesign(**judge, options.judge->getName(), options.votes, *design,
                    *guidanceText, *votes, events);
    if (!judged)
      return forwardFailure(std::move(judged));
    judgement = std::move(*judged);
  }
  json::Value document = makeDocument(options, task->name, *design,
                                      assessDesign(*design, guidance, *rubric),
                                      judgement, credits, proposal.getUsage());
  if (Result<void> done =
          writeFile(joinPath(options.directory, "proposal.json"),
                    json::dump(document) + "\n");
      !done)
    return forwardFailure(std::move(done));
  return document;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static std::string formatPart(const json::Cursor &score, const char *name) {
  Result<double> part = score.getNumber(name);
  if (!part)
    return "  -  ";
  char text[16];
  std::snprintf(text, sizeof(text), "%4.0f%%", 100 * *part);
  return text;
}

std::string agent::renderProposal(const json::Value &proposal) {
  json::Cursor root(proposal, "proposal");
  std::string text = sanitize(root.getString("task").value_or("")) +
                     ", proposed by " +
                     sanitize(root.getString("model").value_or("")) + "\n\n";
  std::vector<json::Cursor> items =
      root.at("items").asArray().value_or(std::vector<json::Cursor>());
  for (const json::Cursor &item : items) {
    char line[96];
    std::snprintf(
        line, sizeof(line), "%-5s %-10s %4.2f  %-4s ",
        item.getString("id").value_or("").c_str(),
        item.getString("discovery").value_or("").c_str(),
        item.getNumber("overlap").value_or(0),
        sanitize(item.getString("matched").value_or("-")).substr(0, 8).c_str());
    text += line + sanitize(item.getString("title").value_or(""));
    if (Result<std::string> judge = item.getString("judge"))
      text += " [judge: " + *judge + "]";
    if (Result<std::string> outcome = item.getString("outcome"))
      text += " [" + *outcome + "]";
    text += "\n";
  }
  text += "\n       recall precision\n";
  for (const char *level : {"L1", "L2", "L3"}) {
    json::Cursor score = root.at("levels").at(level);
    text += std::string(level) + "     " + formatPart(score, "recall") +
            "     " + formatPart(score, "precision") + "\n";
  }
  json::Cursor all = root.at("all");
  text += "all    " + formatPart(all, "recall") + "     " +
          formatPart(all, "precision") + "\n";
  if (std::optional<json::Cursor> judge = root.find("judge"))
    text += "judge " + sanitize(judge->getString("model").value_or("")) + ", " +
            std::to_string(judge->getInteger("votes").value_or(0)) +
            " votes, agreement " + formatPart(*judge, "agreement") + "\n";
  return text;
}
