// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks a model to compare two designs.

#include "Judge.h"

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
    std::optional<json::Cursor> list = document->getRoot().find("verdicts");
    Result<std::vector<json::Cursor>> elements =
        list ? list->asArray()
             : Result<std::vector<json::Cursor>>(
                   fail(FailureKind::Input, "no verdicts"));
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

Result<Judgement> agent::judgeDesign(ModelClient &judge, unsigned votes,
                                     const Design &design,
                                     const std::string &guidanceText,
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
  Message question;
  question.blocks.push_back(
      Block::makeText("# What experts advise\n\n" + guidanceText +
                      "\n\n# The proposal\n\n" + json::dump(design.toJson())));
  request.messages.push_back(std::move(question));

  Judgement judgement;
  std::vector<std::map<std::string, Discovery>> ballots;
  for (unsigned vote = 1; vote <= votes; ++vote) {
    Result<ModelResponse> response = judge.complete(request, vote, events);
    if (!response)
      return forwardFailure(std::move(response));
    judgement.usage += response->usage;
    if (auto ballot = readVote(response->message, guidance))
      ballots.push_back(std::move(*ballot));
  }
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
