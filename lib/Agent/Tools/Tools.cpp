// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds and calls tools.

#include "Tools/Tools.h"

#include "d2k/Support/JsonSchema.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::agent;

json::Value SubmissionRecord::toJson() const {
  json::Object object = {
      {"number", int64_t(number)},
      {"turn", int64_t(turn)},
      {"sha256", sha256},
      {"verdict", verdict},
      {"reason", reason},
      {"speedup", speedup ? json::Value(*speedup) : nullptr}};
  if (sameAs)
    object.set("same_as", int64_t(sameAs));
  return object;
}

Result<SubmissionRecord>
SubmissionRecord::fromJson(const json::Cursor &cursor) {
  SubmissionRecord record;
  Result<int64_t> number = cursor.getInteger("number");
  Result<int64_t> turn = cursor.getInteger("turn");
  if (!number)
    return forwardFailure(std::move(number));
  if (!turn)
    return forwardFailure(std::move(turn));
  record.number = unsigned(*number);
  record.turn = unsigned(*turn);
  for (auto [name, text] : {std::pair{"sha256", &record.sha256},
                            std::pair{"verdict", &record.verdict},
                            std::pair{"reason", &record.reason}}) {
    Result<std::string> value = cursor.getString(name);
    if (!value)
      return forwardFailure(std::move(value));
    *text = std::move(*value);
  }
  if (Result<double> speedup = cursor.getNumber("speedup"))
    record.speedup = *speedup;
  record.sameAs = unsigned(cursor.getInteger("same_as").value_or(0));
  return record;
}

std::string agent::getSubmissionFolder(const std::string &submissionsFolder,
                                       unsigned number) {
  char name[16];
  std::snprintf(name, sizeof(name), "%03u", number);
  return joinPath(submissionsFolder, name);
}

const std::vector<Tool> &agent::getTools() {
  static const std::vector<Tool> tools = [] {
    std::vector<Tool> list;
    addFileTools(list);
    addCompileTools(list);
    addEvaluateTools(list);
    return list;
  }();
  return tools;
}

static const Tool *findTool(const std::string &name) {
  for (const Tool &tool : getTools())
    if (tool.name == name)
      return &tool;
  return nullptr;
}

bool agent::changesFiles(const std::string &name) {
  const Tool *tool = findTool(name);
  return tool && tool->changesFiles;
}

std::vector<ToolDefinition> agent::getToolDefinitions() {
  std::vector<ToolDefinition> definitions;
  for (const Tool &tool : getTools())
    definitions.push_back({std::string(tool.name),
                           std::string(tool.description),
                           *json::parse(tool.schema, std::string(tool.name))});
  return definitions;
}

std::string agent::cutText(std::string text, size_t most) {
  if (text.size() <= most)
    return text;
  // Never through the middle of a character.
  auto isInside = [&](size_t at) {
    return at < text.size() && (uint8_t(text[at]) & 0xc0) == 0x80;
  };
  size_t front = most * 3 / 4, back = text.size() - most / 4;
  while (front > 0 && isInside(front))
    --front;
  while (isInside(back))
    ++back;
  return text.substr(0, front) + "\n[... " + std::to_string(back - front) +
         " of " + std::to_string(text.size()) +
         " bytes are left out here; ask for less at a time ...]\n" +
         text.substr(back);
}

Result<ToolOutcome> agent::callTool(ToolContext &context,
                                    const std::string &name,
                                    const std::string &arguments) {
  const Tool *tool = findTool(name);
  if (!tool) {
    std::string known;
    for (const Tool &other : getTools())
      known += (known.empty() ? "" : ", ") + std::string(other.name);
    return ToolOutcome::makeError("there is no tool \"" + name.substr(0, 100) +
                                  "\"; there are " + known);
  }
  Result<json::Document> document =
      json::Document::parse(arguments, "arguments");
  if (!document)
    return ToolOutcome::makeError(
        cutText("the arguments are no JSON: " + document.error().message +
                "; nothing was done"));
  Result<json::Document> schemaText =
      json::Document::parse(tool->schema, std::string(name));
  if (!schemaText)
    return forwardFailure(std::move(schemaText));
  Result<json::Schema> schema = json::Schema::create(std::move(*schemaText));
  if (!schema)
    return forwardFailure(std::move(schema));
  if (Result<void> checked = schema->check(*document); !checked)
    return ToolOutcome::makeError(cutText(
        "wrong arguments: " + checked.error().message + "; nothing was done"));
  Result<ToolOutcome> outcome = tool->run(context, document->getRoot());
  if (outcome)
    outcome->text = cutText(std::move(outcome->text));
  return outcome;
}
