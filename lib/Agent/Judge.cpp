// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks a model to compare two designs.

#include "Judge.h"
#include "RunState.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::agent;

static constexpr const char *kSystem =
    "You compare two designs of a GPU kernel: what experts advise, and what "
    "somebody proposes. For each item of the experts say whether the proposal "
    "has it: \"discovered\" when it proposes the same main decision, whatever "
    "the words; \"partly\" when it proposes a weaker form or a part of it; "
    "\"missed\" otherwise. Mentioning a topic is not enough, and neither is "
    "rejecting it. Answer with one call of judge_design that has every item "
    "once.";

static constexpr const char *kSchema = R"({
  "type": "object",
  "properties": {
    "verdicts": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "id": {"type": "string"},
          "verdict": {"enum": ["discovered", "partly", "missed"]}
        },
        "required": ["id", "verdict"],
        "additionalProperties": false
      }
    }
  },
  "required": ["verdicts"],
  "additionalProperties": false
})";

/// One vote; nothing when it cannot be understood or leaves an item out.
static std::optional<std::map<std::string, Discovery>>
readVote(const Message &message, const rubric::Guidance &guidance) {
  for (const Block *call : message.getToolCalls()) {
    Result<json::Document> document =
        json::Document::parse(call->text, "verdicts");
    if (!document)
      continue;
    Result<std::vector<json::Cursor>> elements =
        document->getRoot().getArray("verdicts");
    if (!elements)
      continue;
    std::map<std::string, Discovery> vote;
    for (const json::Cursor &element : *elements) {
      std::string id = element.getString("id").value_or("");
      std::string verdict = element.getString("verdict").value_or("");
      for (Discovery discovery :
           {Discovery::Missed, Discovery::Partly, Discovery::Discovered})
        if (verdict == getDiscoveryName(discovery) && guidance.find(id))
          vote[id] = discovery;
    }
    if (vote.size() == guidance.items.size())
      return vote;
  }
  return std::nullopt;
}

/// Appends the question to an empty transcript, else compares it with the one
/// that is there.
static Result<void> startVotes(Transcript &transcript,
                               const std::string &judgeName,
                               const std::string &question) {
  if (transcript.getEvents().empty())
    return transcript.append("start", {{"schema", "d2k.transcript/1"},
                                       {"model", judgeName},
                                       {"system", kSystem},
                                       {"first_message", question}});
  json::Cursor start(transcript.getEvents().front().data, "judge");
  if (start.getString("model").value_or("") != judgeName ||
      start.getString("first_message").value_or("") != question)
    return fail(FailureKind::Usage,
                "judge.jsonl has the votes of another judge, or on another "
                "design; name a new folder");
  return {};
}

Result<Judgement> agent::judgeDesign(ModelClient &judge,
                                     const std::string &judgeName,
                                     unsigned votes, const Design &design,
                                     const std::string &guidanceText,
                                     Transcript &transcript,
                                     const ModelEvents &events) {
  rubric::Guidance guidance = rubric::parseGuidance(guidanceText);
  Result<json::Value> schema = json::parse(kSchema, "judge_design");
  if (!schema)
    return forwardFailure(std::move(schema));
  ModelRequest request;
  request.system = kSystem;
  request.tools = {{"judge_design",
                    "Says how much of the experts' design the "
                    "proposal has.",
                    std::move(*schema)}};
  request.forcedTool = "judge_design";
  std::string text = "# What experts advise\n\n" + guidanceText +
                     "\n\n# The proposal\n\n" + json::dump(design.toJson());
  Message question;
  question.blocks.push_back(Block::makeText(text));
  request.messages.push_back(std::move(question));
  if (Result<void> done = startVotes(transcript, judgeName, text); !done)
    return forwardFailure(std::move(done));

  RunState state;
  for (const Event &event : transcript.getEvents())
    if (Result<void> done = state.apply(event); !done)
      return forwardFailure(std::move(done));
  while (state.turn < votes) {
    int64_t vote = int64_t(state.turn) + 1;
    Result<ModelResponse> response = judge.complete(request, vote, events);
    if (!response)
      return forwardFailure(std::move(response));
    if (Result<void> done = transcript.append(
            "response",
            makeResponseData(vote, response->message, response->usage,
                             /*cost=*/0,
                             std::string(getStopReasonName(response->stop)),
                             response->model, response->attempts));
        !done)
      return forwardFailure(std::move(done));
    if (Result<void> done = state.apply(transcript.getEvents().back()); !done)
      return forwardFailure(std::move(done));
  }
  Judgement judgement;
  judgement.usage = state.usage;
  std::vector<std::map<std::string, Discovery>> ballots;
  for (const Message &message : state.messages)
    if (ballots.size() < votes)
      if (auto ballot = readVote(message, guidance))
        ballots.push_back(std::move(*ballot));
  if (ballots.empty())
    return fail(FailureKind::Environment,
                "the judge gave no verdict that can be understood");
  judgement.votes = unsigned(ballots.size());
  double same = 0, pairs = 0;
  for (const rubric::GuidanceItem &item : guidance.items) {
    unsigned counts[3] = {};
    for (size_t i = 0; i < ballots.size(); ++i) {
      ++counts[size_t(ballots[i][item.id])];
      for (size_t j = i + 1; j < ballots.size(); ++j) {
        ++pairs;
        same += ballots[i][item.id] == ballots[j][item.id];
      }
    }
    judgement.items[item.id] =
        Discovery(std::max_element(counts, counts + 3) - counts);
  }
  if (pairs > 0)
    judgement.agreement = same / pairs;
  return judgement;
}
