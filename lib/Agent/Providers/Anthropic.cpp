// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Anthropic's Messages API, version 2023-06-01, streamed
// (docs.anthropic.com/en/api/messages-streaming).

#include "Providers/Provider.h"

#include <map>

using namespace d2k;
using namespace d2k::agent;

static std::vector<std::pair<std::string, std::string>>
makeHeaders(const std::string &key) {
  std::vector<std::pair<std::string, std::string>> headers = {
      {"anthropic-version", "2023-06-01"}};
  if (!key.empty())
    headers.emplace_back("x-api-key", key);
  return headers;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static json::Value makeContent(const Block &block) {
  switch (block.kind) {
  case Block::Kind::Text:
    return json::Object{{"type", "text"}, {"text", block.text}};
  case Block::Kind::ToolCall:
    return json::Object{{"type", "tool_use"},
                        {"id", block.callId},
                        {"name", makeToolName(block.name)},
                        {"input", makeArgumentObject(block.text)}};
  case Block::Kind::ToolResult:
    return json::Object{{"type", "tool_result"},
                        {"tool_use_id", block.callId},
                        {"content", block.text},
                        {"is_error", block.isError}};
  case Block::Kind::Opaque:
    break;
  }
  return block.value;
}

/// What comes before this block is the same in the next request.
static json::Object makeCacheMark() { return {{"type", "ephemeral"}}; }

static json::Object makeBody(const ModelRequest &request,
                             const ModelOptions &options, bool) {
  json::Array messages;
  for (const Message &message : request.messages) {
    json::Array content;
    for (const Block &block : message.blocks)
      // The API refuses empty text.
      if (block.kind != Block::Kind::Text || !block.text.empty())
        content.push_back(makeContent(block));
    // It refuses a message without content too, which a model may well send.
    if (content.empty())
      content.emplace_back(
          json::Object{{"type", "text"}, {"text", "(nothing)"}});
    if (&message == &request.messages.back())
      if (json::Object *last = content.back().getAsObject())
        last->set("cache_control", makeCacheMark());
    messages.emplace_back(json::Object{
        {"role", message.role == Role::User ? "user" : "assistant"},
        {"content", std::move(content)}});
  }
  json::Object body = {
      {"model", options.model},
      {"max_tokens", options.maxOutputTokens},
      {"stream", true},
      {"system", json::Array{json::Object{{"type", "text"},
                                          {"text", request.system},
                                          {"cache_control", makeCacheMark()}}}},
      {"messages", std::move(messages)}};
  json::Array tools;
  for (const ToolDefinition &tool : request.tools)
    tools.push_back(tool.toJson());
  if (!tools.empty())
    body.set("tools", std::move(tools));
  if (!request.forcedTool.empty())
    body.set("tool_choice",
             json::Object{{"type", "tool"}, {"name", request.forcedTool}});
  return body;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static StopReason parseStop(const std::string &reason) {
  if (reason == "end_turn" || reason == "stop_sequence")
    return StopReason::EndTurn;
  if (reason == "tool_use")
    return StopReason::ToolUse;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    return StopReason::MaxTokens;
  if (reason == "refusal")
    return StopReason::Refusal;
  return StopReason::Other;
}

namespace {

class AnthropicReader : public AnswerReader {
public:
  Result<void> onEvent(const std::string &data) override;
  Result<void> onWhole(const json::Cursor &answer) override;
  bool isComplete() const override { return complete; }
  ModelResponse take() override;

private:
  /// A block of content that is being filled.
  struct Part {
    json::Object object;
    /// Text, or the JSON of a tool's input.
    std::string text;
    /// Other members that arrive in pieces: thinking, signature.
    std::map<std::string, std::string> pieces;
  };
  void startPart(int64_t index, const json::Cursor &block);
  void takeDelta(int64_t index, const json::Cursor &delta);
  void takeUsage(const json::Cursor &owner);

  std::map<int64_t, Part> parts;
  Usage usage;
  StopReason stop = StopReason::Other;
  std::string model;
  bool complete = false;
};

} // namespace

void AnthropicReader::takeUsage(const json::Cursor &owner) {
  Result<json::Cursor> counts = owner.get("usage");
  if (!counts)
    return;
  // Later events repeat or raise the counts of earlier ones.
  auto take = [&](const char *name, int64_t &number) {
    number = counts->getInteger(name).value_or(number);
  };
  take("input_tokens", usage.input);
  take("cache_read_input_tokens", usage.cached);
  take("cache_creation_input_tokens", usage.cacheWritten);
  take("output_tokens", usage.output);
}

void AnthropicReader::startPart(int64_t index, const json::Cursor &block) {
  Part &part = parts[index];
  if (const json::Object *object = block.getValue().getAsObject())
    part.object = *object;
  part.text = block.getString("text").value_or("");
  if (onText && !part.text.empty())
    onText(part.text);
}

void AnthropicReader::takeDelta(int64_t index, const json::Cursor &delta) {
  Part &part = parts[index];
  std::string type = delta.getString("type").value_or("");
  if (type == "text_delta") {
    std::string text = delta.getString("text").value_or("");
    part.text += text;
    if (onText)
      onText(text);
  } else if (type == "input_json_delta") {
    part.text += delta.getString("partial_json").value_or("");
  } else if (type == "thinking_delta") {
    part.pieces["thinking"] += delta.getString("thinking").value_or("");
  } else if (type == "signature_delta") {
    part.pieces["signature"] += delta.getString("signature").value_or("");
  }
}

static tl::unexpected<Failure> failProvider(const json::Cursor &error) {
  return fail(FailureKind::Environment,
              error.getString("type").value_or("error") + ": " +
                  error.getString("message").value_or("no message"));
}

Result<void> AnthropicReader::onEvent(const std::string &data) {
  Result<json::Document> document = json::Document::parse(data, "stream");
  if (!document)
    return fail(FailureKind::Environment, document.error().message);
  json::Cursor event = document->getRoot();
  std::string type = event.getString("type").value_or("");
  int64_t index = event.getInteger("index").value_or(0);
  if (type == "message_start") {
    if (Result<json::Cursor> message = event.get("message")) {
      model = message->getString("model").value_or("");
      takeUsage(*message);
    }
  } else if (type == "content_block_start") {
    if (Result<json::Cursor> block = event.get("content_block"))
      startPart(index, *block);
  } else if (type == "content_block_delta") {
    if (Result<json::Cursor> delta = event.get("delta"))
      takeDelta(index, *delta);
  } else if (type == "message_delta") {
    if (Result<json::Cursor> delta = event.get("delta"))
      stop = parseStop(delta->getString("stop_reason").value_or(""));
    takeUsage(event);
  } else if (type == "message_stop") {
    complete = true;
  } else if (type == "error") {
    if (Result<json::Cursor> error = event.get("error"))
      return failProvider(*error);
    return fail(FailureKind::Environment, "the stream reports an error");
  }
  return {};
}

Result<void> AnthropicReader::onWhole(const json::Cursor &answer) {
  Result<std::vector<json::Cursor>> list = answer.getArray("content");
  if (!list)
    return fail(FailureKind::Environment, list.error().message);
  for (size_t i = 0; i < list->size(); ++i) {
    startPart(int64_t(i), (*list)[i]);
    if (Result<json::Cursor> input = (*list)[i].get("input"))
      parts[int64_t(i)].text = json::dump(input->getValue(), /*pretty=*/false);
  }
  model = answer.getString("model").value_or("");
  stop = parseStop(answer.getString("stop_reason").value_or(""));
  takeUsage(answer);
  complete = true;
  return {};
}

ModelResponse AnthropicReader::take() {
  ModelResponse response;
  response.message.role = Role::Assistant;
  for (auto &[index, part] : parts) {
    json::Value object = part.object;
    json::Cursor block(object, "stream");
    std::string type = block.getString("type").value_or("text");
    if (type == "text") {
      response.message.blocks.push_back(Block::makeText(std::move(part.text)));
    } else if (type == "tool_use") {
      response.message.blocks.push_back(
          Block::makeToolCall(block.getString("id").value_or(""),
                              block.getString("name").value_or(""),
                              // A call without arguments has no piece at all.
                              part.text.empty() ? "{}" : std::move(part.text)));
    } else {
      for (const auto &[name, piece] : part.pieces)
        part.object.set(name, piece);
      response.message.blocks.push_back(
          Block::makeOpaque(std::move(part.object)));
    }
  }
  response.usage = usage.getBounded();
  response.stop = stop;
  response.model = model;
  return response;
}

namespace d2k::agent {
Provider makeAnthropic() {
  return {"anthropic",
          {"claude-"},
          "https://api.anthropic.com",
          "ANTHROPIC_API_KEY",
          "ANTHROPIC_BASE_URL",
          "/v1/messages",
          makeHeaders,
          makeBody,
          []() -> std::unique_ptr<AnswerReader> {
            return std::make_unique<AnthropicReader>();
          }};
}
} // namespace d2k::agent
