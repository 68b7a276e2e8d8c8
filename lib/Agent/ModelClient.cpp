// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The client of a provider: one request and its retries.

#include "d2k/Agent/ModelClient.h"

#include "Http/EventStream.h"
#include "Http/Http.h"
#include "Providers/Provider.h"
#include "Retry.h"
#include "ScriptedClient.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <thread>

using namespace d2k;
using namespace d2k::agent;

namespace d2k::agent {
#define D2K_PROVIDER(name) Provider make##name();
#include "Providers.inc"
#undef D2K_PROVIDER
} // namespace d2k::agent

const std::vector<Provider> &agent::getProviders() {
  static const std::vector<Provider> providers = {
#define D2K_PROVIDER(name) make##name(),
#include "Providers.inc"
#undef D2K_PROVIDER
  };
  return providers;
}

json::Value agent::makeArgumentObject(const std::string &arguments) {
  Result<json::Value> value = json::parse(arguments, "arguments");
  if (value && value->getAsObject())
    return std::move(*value);
  return json::Object{{"malformed_arguments", arguments}};
}

std::string agent::makeToolName(const std::string &name) {
  std::string plain = name.substr(0, 64);
  for (char &c : plain) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 128 || !(std::isalnum(byte) || c == '_' || c == '-'))
      c = '_';
  }
  return plain.empty() ? "unnamed" : plain;
}

Result<ModelOptions> ModelOptions::parse(const std::string &text) {
  ModelOptions options;
  std::string known = "scripted";
  for (const Provider &provider : getProviders()) {
    known += ", " + std::string(provider.name);
    for (std::string_view prefix : provider.prefixes)
      if (text.compare(0, prefix.size(), prefix) == 0)
        options.provider = std::string(provider.name);
  }
  size_t colon = text.find(':');
  std::string front = text.substr(0, colon);
  bool isNamed = front == "scripted";
  for (const Provider &provider : getProviders())
    isNamed |= front == provider.name;
  if (colon != std::string::npos && isNamed) {
    options.provider = front;
    options.model = text.substr(colon + 1);
  } else {
    options.model = text;
  }
  if (options.provider.empty() || options.model.empty())
    return fail(FailureKind::Usage,
                "--model: expected PROVIDER:MODEL with one of the providers " +
                    known + ", got \"" + text + "\"");
  return options;
}

std::string ModelOptions::getName() const {
  if (provider != "scripted")
    return provider + ":" + model;
  size_t slash = model.rfind('/');
  return provider + ":" +
         (slash == std::string::npos ? model : model.substr(slash + 1));
}

std::string agent::hideUsers(std::string text) {
  for (size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    size_t end = std::min(text.find_first_of(" '\"\n", at), text.size());
    size_t slash = std::min(text.find('/', at), end);
    // After a colon stands a port, or else a password, in which there may be
    // a slash although there should not.
    size_t colon = text.find(':', at);
    bool isPort = colon >= slash ||
                  std::all_of(text.begin() + ptrdiff_t(colon) + 1,
                              text.begin() + ptrdiff_t(slash),
                              [](unsigned char c) { return std::isdigit(c); });
    size_t user = text.rfind('@', (isPort ? slash : end) - 1);
    if (user != std::string::npos && user >= at)
      text.erase(at, user + 1 - at);
  }
  return text;
}

static constexpr std::string_view kRedacted = "[redacted]";

std::string agent::redact(std::string text,
                          const std::vector<std::string> &secrets) {
  for (const std::string &secret : secrets)
    // Shorter ones would occur by chance.
    for (size_t at = 0; secret.size() >= 8 &&
                        (at = text.find(secret, at)) != std::string::npos;
         at += kRedacted.size())
      text.replace(at, secret.size(), kRedacted);
  return text;
}

namespace {

class RemoteClient : public ModelClient {
public:
  RemoteClient(const Provider &provider, ModelOptions options,
               std::string baseUrl, bool isOwnServer, std::string key)
      : provider(provider), options(std::move(options)),
        baseUrl(std::move(baseUrl)), isOwnServer(isOwnServer),
        key(std::move(key)), random(std::random_device()()) {}

  Result<ModelResponse> complete(const ModelRequest &request, unsigned turn,
                                 const ModelEvents &events) override;
  std::vector<std::string> getSecrets() const override {
    return key.empty() ? std::vector<std::string>() : std::vector{key};
  }

private:
  /// One request; `wait` receives what the server asks for.
  Result<ModelResponse> tryOnce(const std::string &body,
                                const ModelEvents &events, bool &mayRetry,
                                std::optional<double> &wait);
  std::string explain(const HttpAnswer &answer) const;

  const Provider &provider;
  ModelOptions options;
  std::string baseUrl;
  bool isOwnServer;
  std::string key;
  std::mt19937_64 random;
};

} // namespace

/// The message in the JSON of an error, or its beginning.
static std::string findMessage(const std::string &body) {
  if (Result<json::Document> document = json::Document::parse(body, "answer"))
    if (Result<json::Cursor> error = document->getRoot().get("error")) {
      if (Result<std::string> message = error->getString("message"))
        return *message;
      if (Result<std::string> message = error->asString())
        return *message;
    }
  return body.substr(0, 500);
}

std::string RemoteClient::explain(const HttpAnswer &answer) const {
  std::string text =
      std::string(provider.name) + " at " + hideUsers(baseUrl) + ": ";
  if (answer.status == 0)
    // It may quote the address of a proxy.
    return text + hideUsers(answer.problem);
  text += "HTTP " + std::to_string(answer.status);
  std::string message = findMessage(answer.errorBody);
  if (!message.empty())
    text += ": " + message;
  if (answer.status == 401 || answer.status == 403)
    text += "; check " + std::string(provider.keyVariable);
  return redact(text, getSecrets());
}

Result<ModelResponse> RemoteClient::tryOnce(const std::string &body,
                                            const ModelEvents &events,
                                            bool &mayRetry,
                                            std::optional<double> &wait) {
  HttpRequest http;
  http.url = baseUrl + std::string(provider.path);
  http.headers = provider.makeHeaders(key);
  http.headers.emplace_back("content-type", "application/json");
  http.headers.emplace_back("accept", "text/event-stream, application/json");
  http.body = body;
  http.idleSeconds = options.idleSeconds;
  http.totalSeconds = options.responseSeconds;
  // A server that ignores the limit of tokens must not fill the memory.
  http.maxBytes =
      (uint64_t(1) << 20) + 1024 * uint64_t(options.maxOutputTokens);

  std::unique_ptr<AnswerReader> reader = provider.makeReader();
  reader->onText = events.text;
  std::optional<Failure> problem;
  std::string whole;
  bool isStream = false, isFirst = true;
  EventStream stream([&](const std::string &data) {
    if (problem)
      return;
    if (Result<void> taken = reader->onEvent(data); !taken)
      problem = taken.error();
  });
  HttpAnswer answer = post(http, [&](std::string_view piece) {
    // A server that does not stream sends an object.
    if (isFirst && !piece.empty()) {
      isStream = piece.front() != '{';
      isFirst = false;
    }
    if (isStream)
      stream.feed(piece);
    else
      whole += piece;
  });
  if (!answer.isSuccess()) {
    mayRetry = isTransient(answer.status);
    wait = parseRetryAfter(answer.headers, int64_t(::time(nullptr)));
    return fail(answer.status == 400 || answer.status == 413 ||
                        answer.status == 422
                    ? FailureKind::Input
                    : FailureKind::Environment,
                explain(answer));
  }
  mayRetry = true;
  if (!isStream && answer.problem.empty() && !answer.isTooLong) {
    Result<json::Document> document = json::Document::parse(whole, "answer");
    Result<void> taken =
        document ? reader->onWhole(document->getRoot())
                 : Result<void>(tl::unexpected<Failure>(document.error()));
    if (!taken)
      problem = taken.error();
  }
  std::string where =
      std::string(provider.name) + " at " + hideUsers(baseUrl) + ": ";
  if (problem)
    return fail(FailureKind::Environment,
                redact(where + problem->message, getSecrets()));
  if (answer.isTooLong) {
    ModelResponse cut = reader->take();
    cut.stop = StopReason::MaxTokens;
    return cut;
  }
  if (!reader->isComplete())
    return fail(
        FailureKind::Environment,
        where + "the answer was cut" +
            (answer.problem.empty() ? "" : ": " + hideUsers(answer.problem)));
  return reader->take();
}

Result<ModelResponse> RemoteClient::complete(const ModelRequest &request,
                                             unsigned turn,
                                             const ModelEvents &events) {
  json::Object object = provider.makeBody(request, options, isOwnServer);
  for (const json::Member &member : options.parameters)
    object.set(member.name, member.value);
  std::string body = json::dump(std::move(object), /*pretty=*/false);
  for (unsigned attempt = 1;; ++attempt) {
    bool mayRetry = false;
    std::optional<double> wait;
    Result<ModelResponse> response = tryOnce(body, events, mayRetry, wait);
    if (response) {
      response->attempts = attempt;
      size_t number = 0;
      for (Block &block : response->message.blocks)
        if (block.kind == Block::Kind::ToolCall && block.callId.empty())
          block.callId =
              "call_" + std::to_string(turn) + "_" + std::to_string(number++);
      return response;
    }
    if (!mayRetry || attempt >= options.attempts)
      return response;
    double part = std::uniform_real_distribution<double>()(random);
    double backoff = getBackoff(attempt, options.retrySeconds, part);
    double seconds = wait ? std::max(*wait, backoff) : backoff;
    if (events.problem) {
      char text[64];
      std::snprintf(text, sizeof(text), "; attempt %u of %u in %.1f s",
                    attempt + 1, options.attempts, seconds);
      events.problem(response.error().message + text);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

/// The variable's value. It leaves the environment and stays here, for a second
/// client of the same provider.
static std::string takeVariable(std::string_view name) {
  static std::map<std::string, std::string, std::less<>> taken;
  std::string variable(name);
  if (const char *value = std::getenv(variable.c_str()))
    taken[variable] = value;
  ::unsetenv(variable.c_str());
  return taken[variable];
}

void agent::forgetKeys() {
  for (const Provider &provider : getProviders())
    takeVariable(provider.keyVariable);
}

Result<std::unique_ptr<ModelClient>>
agent::createModelClient(const ModelOptions &options) {
  // Keys of the other providers are nobody's business either.
  forgetKeys();
  std::string key;
  for (const Provider &provider : getProviders())
    if (provider.name == options.provider)
      key = takeVariable(provider.keyVariable);
  if (options.provider == "scripted")
    return makeScriptedClient(options.model);
  if (Result<void> ready = checkHttp(); !ready)
    return forwardFailure(std::move(ready));
  for (const Provider &provider : getProviders()) {
    if (provider.name != options.provider)
      continue;
    std::string url = options.baseUrl;
    if (const char *named =
            std::getenv(std::string(provider.baseUrlVariable).c_str());
        url.empty() && named)
      url = named;
    bool isOwnServer = !url.empty() && url != provider.baseUrl;
    if (url.empty())
      url = std::string(provider.baseUrl);
    while (!url.empty() && url.back() == '/')
      url.pop_back();
    if (key.empty() && !isOwnServer)
      return fail(FailureKind::Environment,
                  std::string(provider.keyVariable) +
                      " is not set; set it to your key, or name a server of "
                      "your own with --base-url");
    return std::make_unique<RemoteClient>(provider, options, url, isOwnServer,
                                          key);
  }
  return fail(FailureKind::Usage,
              "unknown provider \"" + options.provider + "\"");
}
