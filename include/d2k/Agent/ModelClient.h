// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Talks to a language model. A client hides the provider's form, streaming,
// retries and time-outs; a response that comes out of it is whole.
//
// Keys come from the environment only. They are removed from it when a client
// is made, so that no compiler and no submission inherits them.

#ifndef D2K_AGENT_MODELCLIENT_H
#define D2K_AGENT_MODELCLIENT_H

#include "d2k/Agent/Message.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

struct ModelRequest {
  std::string system;
  std::vector<Message> messages;
  std::vector<ToolDefinition> tools;
  /// The tool that the model has to call; empty: as it likes.
  std::string forcedTool;
};

struct ModelResponse {
  Message message;
  Usage usage;
  StopReason stop = StopReason::Other;
  /// What the provider says it was.
  std::string model;
  /// Requests that were sent for it.
  unsigned attempts = 1;
};

struct ModelOptions {
  /// "anthropic", "openai" or "scripted".
  std::string provider;
  /// The provider's name of the model; of a scripted one, a file.
  std::string model;
  /// Instead of the provider's own address; empty: the variable
  /// ANTHROPIC_BASE_URL or OPENAI_BASE_URL, else the provider's.
  std::string baseUrl;
  int64_t maxOutputTokens = 32000;
  /// Members added to each request, such as {"temperature": 0}.
  json::Object parameters;
  /// Requests for a response before giving up.
  unsigned attempts = 8;
  /// The first wait between two of them; it doubles up to a minute.
  double retrySeconds = 1;
  /// Longest silence of the server, and longest time for a response.
  double idleSeconds = 300;
  double responseSeconds = 3600;

  /// Takes "provider:model". A name without a provider that begins like those
  /// of a known one ("claude-", "gpt-") gets it. Fails with kind Usage.
  static Result<ModelOptions> parse(const std::string &text);
  /// "provider:model", without the folder of a script.
  std::string getName() const;
};

/// What somebody may want to see while a response is made.
struct ModelEvents {
  /// Text as it arrives.
  std::function<void(std::string_view)> text;
  /// An attempt failed; what is wrong and when the next one is.
  std::function<void(const std::string &)> problem;
};

class ModelClient {
public:
  virtual ~ModelClient() = default;

  /// The response number \p turn of a conversation. Fails with kind
  /// Environment when the provider cannot be reached or refuses, and with kind
  /// Input when it does not accept the request.
  virtual Result<ModelResponse> complete(const ModelRequest &request,
                                         unsigned turn,
                                         const ModelEvents &events) = 0;

  /// What must never be written anywhere.
  virtual std::vector<std::string> getSecrets() const { return {}; }
};

/// Fails with kind Environment when the provider's key is not set or this
/// program was built without libcurl.
Result<std::unique_ptr<ModelClient>>
createModelClient(const ModelOptions &options);

/// Takes the keys of all providers out of the environment, where the programs
/// that this one starts would find them. createModelClient() does so itself.
void forgetKeys();

/// \p text without the names and passwords of the addresses in it.
std::string hideUsers(std::string text);

/// "[redacted]" in place of each of \p secrets.
std::string redact(std::string text, const std::vector<std::string> &secrets);

} // namespace d2k::agent

#endif // D2K_AGENT_MODELCLIENT_H
