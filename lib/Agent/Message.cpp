// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages as JSON, and the arithmetic of tokens.

#include "d2k/Agent/Message.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::agent;

Block Block::makeText(std::string text) {
  Block block;
  block.text = std::move(text);
  return block;
}

Block Block::makeToolCall(std::string id, std::string name,
                          std::string arguments) {
  Block block;
  block.kind = Kind::ToolCall;
  block.callId = std::move(id);
  block.name = std::move(name);
  block.text = std::move(arguments);
  return block;
}

Block Block::makeToolResult(std::string id, std::string text, bool isError) {
  Block block;
  block.kind = Kind::ToolResult;
  block.callId = std::move(id);
  block.text = std::move(text);
  block.isError = isError;
  return block;
}

Block Block::makeOpaque(json::Value value) {
  Block block;
  block.kind = Kind::Opaque;
  block.value = std::move(value);
  return block;
}

std::string Message::getText() const {
  std::string text;
  for (const Block &block : blocks)
    if (block.kind == Block::Kind::Text)
      text += block.text;
  return text;
}

std::vector<const Block *> Message::getToolCalls() const {
  std::vector<const Block *> calls;
  for (const Block &block : blocks)
    if (block.kind == Block::Kind::ToolCall)
      calls.push_back(&block);
  return calls;
}

json::Value Message::toJson() const {
  json::Array list;
  for (const Block &block : blocks) {
    switch (block.kind) {
    case Block::Kind::Text:
      list.emplace_back(json::Object{{"type", "text"}, {"text", block.text}});
      break;
    case Block::Kind::ToolCall:
      list.emplace_back(json::Object{{"type", "tool_call"},
                                     {"id", block.callId},
                                     {"name", block.name},
                                     {"arguments", block.text}});
      break;
    case Block::Kind::ToolResult:
      list.emplace_back(json::Object{{"type", "tool_result"},
                                     {"id", block.callId},
                                     {"text", block.text},
                                     {"is_error", block.isError}});
      break;
    case Block::Kind::Opaque:
      list.emplace_back(
          json::Object{{"type", "opaque"}, {"value", block.value}});
      break;
    }
  }
  return json::Object{{"role", role == Role::User ? "user" : "assistant"},
                      {"content", std::move(list)}};
}

static Result<Block> blockFromJson(const json::Cursor &cursor) {
  Result<std::string> type = cursor.getString("type");
  if (!type)
    return forwardFailure(std::move(type));
  if (*type == "opaque") {
    Result<json::Cursor> value = cursor.get("value");
    if (!value)
      return forwardFailure(std::move(value));
    return Block::makeOpaque(value->getValue());
  }
  bool isCall = *type == "tool_call", isResult = *type == "tool_result";
  if (!isCall && !isResult && *type != "text")
    return cursor.fail("unknown type of block \"" + *type + "\"");
  Result<std::string> text = cursor.getString(isCall ? "arguments" : "text");
  if (!text)
    return forwardFailure(std::move(text));
  if (!isCall && !isResult)
    return Block::makeText(std::move(*text));
  Result<std::string> id = cursor.getString("id");
  if (!id)
    return forwardFailure(std::move(id));
  if (isResult)
    return Block::makeToolResult(std::move(*id), std::move(*text),
                                 cursor.getBoolean("is_error").value_or(false));
  Result<std::string> name = cursor.getString("name");
  if (!name)
    return forwardFailure(std::move(name));
  return Block::makeToolCall(std::move(*id), std::move(*name),
                             std::move(*text));
}

Result<Message> Message::fromJson(const json::Cursor &cursor) {
  Result<std::string> role = cursor.getString("role");
  if (!role)
    return forwardFailure(std::move(role));
  Message message;
  message.role = *role == "assistant" ? Role::Assistant : Role::User;
  Result<std::vector<json::Cursor>> list = cursor.getArray("content");
  if (!list)
    return forwardFailure(std::move(list));
  for (const json::Cursor &element : *list) {
    Result<Block> block = blockFromJson(element);
    if (!block)
      return forwardFailure(std::move(block));
    message.blocks.push_back(std::move(*block));
  }
  return message;
}

json::Value ToolDefinition::toJson() const {
  return json::Object{
      {"name", name}, {"description", description}, {"input_schema", schema}};
}

Usage &Usage::operator+=(const Usage &other) {
  input += other.input;
  cached += other.cached;
  cacheWritten += other.cacheWritten;
  output += other.output;
  return *this;
}

Usage Usage::getBounded() const {
  auto bound = [](int64_t count) {
    return std::clamp<int64_t>(count, 0, 1000000000000);
  };
  return {bound(input), bound(cached), bound(cacheWritten), bound(output)};
}

json::Value Usage::toJson() const {
  return json::Object{{"input", input},
                      {"cached", cached},
                      {"cache_written", cacheWritten},
                      {"output", output}};
}

Result<Usage> Usage::fromJson(const json::Cursor &cursor) {
  Usage usage;
  for (auto [name, number] :
       {std::pair{"input", &usage.input}, std::pair{"cached", &usage.cached},
        std::pair{"cache_written", &usage.cacheWritten},
        std::pair{"output", &usage.output}}) {
    Result<int64_t> value = cursor.getInteger(name);
    if (!value)
      return forwardFailure(std::move(value));
    *number = *value;
  }
  return usage;
}

double Prices::getCost(const Usage &usage) const {
  return (input * double(usage.input) + cached * double(usage.cached) +
          cacheWritten * double(usage.cacheWritten) +
          output * double(usage.output)) /
         1e6;
}

std::string_view agent::getStopReasonName(StopReason reason) {
  switch (reason) {
  case StopReason::EndTurn:
    return "end_turn";
  case StopReason::ToolUse:
    return "tool_use";
  case StopReason::MaxTokens:
    return "max_tokens";
  case StopReason::Refusal:
    return "refusal";
  case StopReason::Other:
    break;
  }
  return "other";
}
