// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An MCP server over two descriptors.

#include "d2k/Agent/Mcp.h"

#include "RunSession.h"

#include "d2k/Support/Version.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

using namespace d2k;
using namespace d2k::agent;

/// JSON-RPC 2.0, section 5.1.
static constexpr int64_t kParseError = -32700;
static constexpr int64_t kInvalidRequest = -32600;
static constexpr int64_t kNoSuchMethod = -32601;
static constexpr int64_t kInvalidParams = -32602;

/// The versions of the protocol that are spoken, the newest first.
static constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18",
                                                 "2025-03-26", "2024-11-05"};
/// A file of 4 MiB, escaped, and what is around it.
static constexpr size_t kMaxLineBytes = size_t(32) << 20;

/// What stands for a model in the transcript.
static constexpr const char *kModelName = "mcp";

namespace {

class McpServer {
public:
  McpServer(RunSession &session, int input, int output)
      : session(session), input(input), output(output) {}

  Result<void> serve();

private:
  Result<void> takeLine(const std::string &line);
  Result<void> takeMessage(const json::Cursor &request);
  Result<void> takeRequest(const json::Cursor &request, const json::Value &id);
  Result<void> callTool(const json::Cursor &params, const json::Value &id);
  Result<void> send(json::Object message);
  Result<void> write(const json::Value &value);
  Result<void> reply(const json::Value &id, json::Value result);
  Result<void> refuse(const json::Value &id, int64_t code,
                      const std::string &message);

  RunSession &session;
  int input, output;
  /// While the requests of a batch are taken: its answers.
  json::Array *batch = nullptr;
};

} // namespace

Result<void> McpServer::send(json::Object message) {
  message.set("jsonrpc", "2.0");
  if (!batch)
    return write(std::move(message));
  batch->emplace_back(std::move(message));
  return {};
}

Result<void> McpServer::write(const json::Value &value) {
  std::string text = json::dump(value, /*pretty=*/false) + "\n";
  for (size_t at = 0; at < text.size();) {
    ssize_t count = ::write(output, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail(FailureKind::Environment,
                  std::string("the client is gone: ") + std::strerror(errno));
    at += size_t(count);
  }
  return {};
}

Result<void> McpServer::reply(const json::Value &id, json::Value result) {
  return send({{"id", id}, {"result", std::move(result)}});
}

Result<void> McpServer::refuse(const json::Value &id, int64_t code,
                               const std::string &message) {
  return send({{"id", id},
               {"error", json::Object{{"code", code}, {"message", message}}}});
}

Result<void> McpServer::callTool(const json::Cursor &params,
                                 const json::Value &id) {
  Result<std::string> name = params.getString("name");
  if (!name)
    return refuse(id, kInvalidParams, name.error().message);
  std::string arguments = "{}";
  // Some clients say null when there are none.
  if (std::optional<json::Cursor> given = params.find("arguments");
      given && !given->getValue().isNull())
    arguments = json::dump(given->getValue(), /*pretty=*/false);
  auto say = [&](const std::string &text, bool isError) {
    return reply(
        id, json::Object{{"content", json::Array{json::Object{{"type", "text"},
                                                              {"text", text}}}},
                         {"isError", isError}});
  };
  const RunState &state = session.getState();
  if (state.ended || session.getBudgetEnd())
    return say("The budget is used up; no more tools are run. You are done.",
               true);
  Message message;
  message.role = Role::Assistant;
  message.blocks.push_back(Block::makeToolCall(
      "mcp_" + std::to_string(state.turn + 1), *name, arguments));
  if (Result<void> done =
          session.addResponse(message, {}, "tool_use", kModelName, 0, 1);
      !done)
    return done;
  if (Result<void> done = session.runPendingCalls(); !done)
    return done;
  Block result = state.results.front();
  if (Result<void> done = session.closeTurn(); !done)
    return done;
  return say(result.text + "\n" + state.messages.back().getText(),
             result.isError);
}

Result<void> McpServer::takeRequest(const json::Cursor &request,
                                    const json::Value &id) {
  std::string method = request.getString("method").value_or("");
  json::Value none = json::Object();
  json::Cursor params =
      request.find("params").value_or(json::Cursor(none, "params"));
  if (method == "initialize") {
    std::string version = params.getString("protocolVersion").value_or("");
    bool isKnown = std::find(std::begin(kVersions), std::end(kVersions),
                             version) != std::end(kVersions);
    return reply(
        id,
        json::Object{
            {"protocolVersion", isKnown ? version : std::string(kVersions[0])},
            {"capabilities", json::Object{{"tools", json::Object()},
                                          {"prompts", json::Object()}}},
            {"serverInfo",
             json::Object{{"name", "d2k-run"},
                          {"version", std::string(getVersion())}}},
            {"instructions", session.getState().system + "\n" +
                                 session.getState().firstMessage}});
  }
  if (method == "ping")
    return reply(id, json::Object());
  if (method == "tools/list") {
    json::Array tools;
    for (const ToolDefinition &tool : getToolDefinitions())
      tools.emplace_back(json::Object{{"name", tool.name},
                                      {"description", tool.description},
                                      {"inputSchema", tool.schema}});
    return reply(id, json::Object{{"tools", std::move(tools)}});
  }
  if (method == "tools/call")
    return callTool(params, id);
  if (method == "prompts/list")
    return reply(id,
                 json::Object{{"prompts",
                               json::Array{json::Object{
                                   {"name", "task"},
                                   {"description",
                                    "What to do: the task and its rules."}}}}});
  if (method == "prompts/get") {
    if (params.getString("name").value_or("") != "task")
      return refuse(id, kInvalidParams, "there is one prompt, task");
    return reply(
        id, json::Object{
                {"messages",
                 json::Array{json::Object{
                     {"role", "user"},
                     {"content",
                      json::Object{
                          {"type", "text"},
                          {"text", session.getState().system + "\n" +
                                       session.getState().firstMessage}}}}}}});
  }
  return refuse(id, kNoSuchMethod, "no method \"" + method + "\"");
}

Result<void> McpServer::takeLine(const std::string &line) {
  Result<json::Document> document = json::Document::parse(line, "request");
  if (!document)
    return refuse(nullptr, kParseError, document.error().message);
  json::Cursor root = document->getRoot();
  const json::Array *elements = root.getValue().getAsArray();
  if (!elements || elements->empty())
    return takeMessage(root);
  // JSON-RPC 2.0, section 6; the protocol of 2025-03-26 has such batches.
  json::Array answers;
  batch = &answers;
  Result<void> done;
  for (size_t i = 0; i < elements->size() && done; ++i)
    done = takeMessage(root.at(i));
  batch = nullptr;
  return !done || answers.empty() ? done : write(std::move(answers));
}

Result<void> McpServer::takeMessage(const json::Cursor &request) {
  std::optional<json::Cursor> id = request.find("id");
  bool isRequest = request.find("method").has_value();
  if (!isRequest)
    // An answer to something that nobody asked is no reason to answer.
    return id && request.getValue().getAsObject()
               ? Result<void>()
               : refuse(nullptr, kInvalidRequest, "expected one request");
  // Notifications have no id and get no answer.
  if (!id)
    return {};
  return takeRequest(request, id->getValue());
}

Result<void> McpServer::serve() {
  // A client that goes away is an error with words, not a death by a signal.
  ::signal(SIGPIPE, SIG_IGN);
  // What a kill interrupted is done first; nobody waits for its answer.
  if (Result<void> done = session.runPendingCalls(); !done)
    return done;
  const std::vector<Message> &messages = session.getState().messages;
  if (!messages.empty() && messages.back().role == Role::Assistant)
    if (Result<void> done = session.closeTurn(); !done)
      return done;
  std::string pending;
  char buffer[1 << 16];
  for (;;) {
    ssize_t count = ::read(input, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return {};
    pending.append(buffer, size_t(count));
    size_t start = 0;
    for (size_t end; (end = pending.find('\n', start)) != std::string::npos;
         start = end + 1) {
      std::string line = pending.substr(start, end - start);
      if (line.find_first_not_of(" \t\r") == std::string::npos)
        continue;
      if (Result<void> done = takeLine(line); !done)
        return done;
    }
    pending.erase(0, start);
    if (pending.size() > kMaxLineBytes)
      return fail(FailureKind::Input,
                  "the client sends a message of more than 32 MiB");
  }
}

Result<void> agent::serveMcp(const RunOptions &options,
                             const RunObserver &observer, int input,
                             int output) {
  Result<std::unique_ptr<RunSession>> session =
      RunSession::open(options, kModelName, {}, observer);
  if (!session)
    return forwardFailure(std::move(session));
  return McpServer(**session, input, output).serve();
}

Result<RunResult> agent::finishServedRun(const RunOptions &options,
                                         const RunObserver &observer) {
  Result<std::unique_ptr<RunSession>> session =
      RunSession::open(options, kModelName, {}, observer);
  if (!session)
    return forwardFailure(std::move(session));
  const RunState &state = (*session)->getState();
  if (!state.ended)
    if (Result<void> done =
            (*session)->end((*session)->getBudgetEnd().value_or("finished"));
        !done)
      return forwardFailure(std::move(done));
  return (*session)->finish();
}
