// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plays a script.

#include "ScriptedClient.h"

#include "d2k/Support/Files.h"

#include <chrono>
#include <thread>

using namespace d2k;
using namespace d2k::agent;

namespace {

class ScriptedClient : public ModelClient {
public:
  explicit ScriptedClient(std::vector<ModelResponse> responses,
                          std::vector<double> seconds)
      : responses(std::move(responses)), seconds(std::move(seconds)) {}

  Result<ModelResponse> complete(const ModelRequest &, unsigned turn,
                                 const ModelEvents &events) override;

private:
  std::vector<ModelResponse> responses;
  std::vector<double> seconds;
};

} // namespace

Result<ModelResponse> ScriptedClient::complete(const ModelRequest &,
                                               unsigned turn,
                                               const ModelEvents &events) {
  if (turn == 0 || turn > responses.size()) {
    ModelResponse silent;
    silent.message.role = Role::Assistant;
    silent.message.blocks.push_back(Block::makeText("The script is over."));
    silent.stop = StopReason::EndTurn;
    silent.model = "script";
    return silent;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds[turn - 1]));
  const ModelResponse &response = responses[turn - 1];
  if (events.text)
    events.text(response.message.getText());
  return response;
}

/// Replaces {"$file": NAME} in \p value.
static Result<void> insertFiles(json::Value &value, const std::string &folder) {
  json::Object *object = value.getAsObject();
  if (!object)
    return {};
  const json::Value *name =
      object->size() == 1 ? object->find("$file") : nullptr;
  if (name && name->getAsString()) {
    Result<std::string> text = readFile(joinPath(folder, *name->getAsString()));
    if (!text)
      return forwardFailure(std::move(text));
    value = std::move(*text);
    return {};
  }
  json::Object replaced;
  for (const json::Member &member : *object) {
    json::Value inner = member.value;
    if (Result<void> done = insertFiles(inner, folder); !done)
      return done;
    replaced.append(member.name, std::move(inner));
  }
  value = std::move(replaced);
  return {};
}

static Result<ModelResponse> parseResponse(const json::Cursor &cursor,
                                           const std::string &folder,
                                           size_t number) {
  ModelResponse response;
  response.message.role = Role::Assistant;
  response.model = "script";
  response.stop = StopReason::EndTurn;
  if (Result<std::string> text = cursor.getString("text"))
    response.message.blocks.push_back(Block::makeText(std::move(*text)));
  if (std::optional<json::Cursor> calls = cursor.find("calls")) {
    Result<std::vector<json::Cursor>> list = calls->asArray();
    if (!list)
      return forwardFailure(std::move(list));
    for (size_t i = 0; i < list->size(); ++i) {
      Result<std::string> name = (*list)[i].getString("name");
      Result<json::Cursor> arguments = (*list)[i].get("arguments");
      if (!name)
        return forwardFailure(std::move(name));
      if (!arguments)
        return forwardFailure(std::move(arguments));
      // A string stands as it is: models write ill-formed JSON too.
      json::Value value = arguments->getValue();
      if (Result<void> done = insertFiles(value, folder); !done)
        return forwardFailure(std::move(done));
      response.message.blocks.push_back(Block::makeToolCall(
          "call_" + std::to_string(number) + "_" + std::to_string(i), *name,
          value.getAsString() ? *value.getAsString()
                              : json::dump(value, /*pretty=*/false)));
    }
    response.stop = StopReason::ToolUse;
  }
  if (std::optional<json::Cursor> usage = cursor.find("usage")) {
    response.usage.input = usage->getInteger("input").value_or(0);
    response.usage.output = usage->getInteger("output").value_or(0);
  }
  return response;
}

Result<std::unique_ptr<ModelClient>>
agent::makeScriptedClient(const std::string &path) {
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  Result<std::vector<json::Cursor>> elements =
      document->getRoot().getArray("responses");
  if (!elements)
    return forwardFailure(std::move(elements));
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  std::vector<ModelResponse> responses;
  std::vector<double> seconds;
  for (const json::Cursor &element : *elements) {
    Result<ModelResponse> response =
        parseResponse(element, folder, responses.size() + 1);
    if (!response)
      return forwardFailure(std::move(response));
    responses.push_back(std::move(*response));
    seconds.push_back(element.getNumber("seconds").value_or(0));
  }
  return std::make_unique<ScriptedClient>(std::move(responses),
                                          std::move(seconds));
}
