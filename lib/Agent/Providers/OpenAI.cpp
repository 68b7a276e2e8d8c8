// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenAI's Chat Completions API, streamed, which vLLM, llama.cpp and gateways
// serve too (platform.openai.com/docs/api-reference/chat).

#include "Providers/Provider.h"

#include <algorithm>
#include <map>

using namespace d2k;
using namespace d2k::agent;

static std::vector<std::pair<std::string, std::string>>
makeHeaders(const std::string &key) {
  if (key.empty())
    return {};
  return {{"Authorization", "Bearer " + key}};
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static void addAssistant(const Message &message, json::Array &messages) {
  json::Object out = {{"role", "assistant"}};
  json::Array calls;
  for (const Block *call : message.getToolCalls())
    calls.emplace_back(json::Object{
        {"id", call->callId},
        {"type", "function"},
        {"function", json::Object{{"name", makeToolName(call->name)},
                                  {"arguments", call->text}}}});
  std::string text = message.getText();
  // Content may be missing only beside calls.
  if (!text.empty() || calls.empty())
    out.set("content", text);
  if (!calls.empty())
    out.set("tool_calls", std::move(calls));
  messages.emplace_back(std::move(out));
}

static void addUser(const Message &message, json::Array &messages) {
  // Results have messages of their own, directly after the calls.
  for (const Block &block : message.blocks)
    if (block.kind == Block::Kind::ToolResult)
      messages.emplace_back(json::Object{{"role", "tool"},
                                         {"tool_call_id", block.callId},
                                         {"content", block.text}});
  if (std::string text = message.getText(); !text.empty())
    messages.emplace_back(json::Object{{"role", "user"}, {"content", text}});
}

static json::Object makeBody(const ModelRequest &request,
                             const ModelOptions &options, bool isOwnServer) {
  json::Array messages;
  messages.emplace_back(
      json::Object{{"role", "system"}, {"content", request.system}});
  for (const Message &message : request.messages)
    (message.role == Role::User ? addUser : addAssistant)(message, messages);
  json::Array tools;
  for (const ToolDefinition &tool : request.tools)
    tools.emplace_back(json::Object{
        {"type", "function"},
        {"function", json::Object{{"name", tool.name},
                                  {"description", tool.description},
                                  {"parameters", tool.schema}}}});
  json::Object body = {
      {"model", options.model},
      // Other servers know the older name only.
      {isOwnServer ? "max_tokens" : "max_completion_tokens",
       options.maxOutputTokens},
      {"stream", true},
      {"stream_options", json::Object{{"include_usage", true}}},
      {"messages", std::move(messages)}};
  if (!tools.empty())
    body.set("tools", std::move(tools));
  if (!request.forcedTool.empty())
    body.set(
        "tool_choice",
        json::Object{{"type", "function"},
                     {"function", json::Object{{"name", request.forcedTool}}}});
  return body;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

static StopReason parseStop(const std::string &reason) {
  if (reason == "stop")
    return StopReason::EndTurn;
  if (reason == "tool_calls" || reason == "function_call")
    return StopReason::ToolUse;
  if (reason == "length")
    return StopReason::MaxTokens;
  if (reason == "content_filter")
    return StopReason::Refusal;
  return StopReason::Other;
}

namespace {

class OpenAIReader : public AnswerReader {
public:
  Result<void> onEvent(const std::string &data) override;
  Result<void> onWhole(const json::Cursor &answer) override;
  bool isComplete() const override { return complete; }
  ModelResponse take() override;

private:
  struct Call {
    std::string id, name, arguments;
  };
  Result<void> takeAnswer(const json::Cursor &answer, const char *part);
  void takeCalls(const json::Cursor &message);

  std::string text, model;
  std::map<int64_t, Call> calls;
  Usage usage;
  StopReason stop = StopReason::Other;
  bool complete = false;
};

} // namespace

void OpenAIReader::takeCalls(const json::Cursor &message) {
  Result<std::vector<json::Cursor>> list = message.getArray("tool_calls");
  if (!list)
    return;
  for (const json::Cursor &piece : *list) {
    std::string id = piece.getString("id").value_or("");
    // Some servers leave the index out and send each call at once.
    int64_t next = calls.empty() ? 0 : calls.rbegin()->first + 1;
    int64_t last = calls.empty() ? 0 : calls.rbegin()->first;
    Call &call =
        calls[piece.getInteger("index").value_or(!id.empty() ? next : last)];
    if (!id.empty())
      call.id = id;
    Result<json::Cursor> function = piece.get("function");
    if (!function)
      continue;
    call.name += function->getString("name").value_or("");
    call.arguments += function->getString("arguments").value_or("");
  }
}

Result<void> OpenAIReader::takeAnswer(const json::Cursor &answer,
                                      const char *part) {
  if (Result<json::Cursor> error = answer.get("error");
      error && !error->getValue().isNull())
    return fail(FailureKind::Environment,
                error->getString("message").value_or(
                    json::dump(error->getValue(), false)));
  if (std::string name = answer.getString("model").value_or(""); !name.empty())
    model = name;
  if (Result<json::Cursor> counts = answer.get("usage");
      counts && counts->getValue().getAsObject()) {
    usage.output = counts->getInteger("completion_tokens").value_or(0);
    usage.input = counts->getInteger("prompt_tokens").value_or(0);
    usage.cached = 0;
    if (Result<json::Cursor> details = counts->get("prompt_tokens_details"))
      usage.cached = details->getInteger("cached_tokens").value_or(0);
  }
  Result<std::vector<json::Cursor>> list = answer.getArray("choices");
  if (!list || list->empty())
    return {};
  const json::Cursor &choice = list->front();
  if (Result<json::Cursor> message = choice.get(part)) {
    std::string piece = message->getString("content").value_or("");
    text += piece;
    if (onText && !piece.empty())
      onText(piece);
    takeCalls(*message);
  }
  if (Result<std::string> reason = choice.getString("finish_reason")) {
    stop = parseStop(*reason);
    complete = true;
  }
  return {};
}

Result<void> OpenAIReader::onEvent(const std::string &data) {
  if (data == "[DONE]")
    return {};
  Result<json::Document> document = json::Document::parse(data, "stream");
  if (!document)
    return fail(FailureKind::Environment, document.error().message);
  return takeAnswer(document->getRoot(), "delta");
}

Result<void> OpenAIReader::onWhole(const json::Cursor &answer) {
  return takeAnswer(answer, "message");
}

ModelResponse OpenAIReader::take() {
  ModelResponse response;
  response.message.role = Role::Assistant;
  if (!text.empty() || calls.empty())
    response.message.blocks.push_back(Block::makeText(std::move(text)));
  for (auto &[index, call] : calls)
    response.message.blocks.push_back(Block::makeToolCall(
        call.id, call.name, call.arguments.empty() ? "{}" : call.arguments));
  response.usage = usage.getBounded();
  // The provider counts them among those of the prompt.
  response.usage.input =
      std::max<int64_t>(0, response.usage.input - response.usage.cached);
  // Some servers say "stop" although they call tools.
  response.stop = !calls.empty() && stop == StopReason::EndTurn
                      ? StopReason::ToolUse
                      : stop;
  response.model = model;
  return response;
}

namespace d2k::agent {
Provider makeOpenAI() {
  return {"openai",
          {"gpt-", "o1", "o3", "o4"},
          "https://api.openai.com/v1",
          "OPENAI_API_KEY",
          "OPENAI_BASE_URL",
          "/chat/completions",
          makeHeaders,
          makeBody,
          []() -> std::unique_ptr<AnswerReader> {
            return std::make_unique<OpenAIReader>();
          }};
}
} // namespace d2k::agent
