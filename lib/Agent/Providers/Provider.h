// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A provider's form of requests and answers. One provider is one file here:
// <Name>.cpp defines make<Name>(), and the build finds it.

#ifndef D2K_LIB_AGENT_PROVIDERS_PROVIDER_H
#define D2K_LIB_AGENT_PROVIDERS_PROVIDER_H

#include "d2k/Agent/ModelClient.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

/// Puts one answer together.
class AnswerReader {
public:
  virtual ~AnswerReader() = default;

  /// An event of a stream. Fails with kind Environment on an error that the
  /// provider reports in it, and on an event that makes no sense.
  virtual Result<void> onEvent(const std::string &data) = 0;
  /// A whole answer, of a server that does not stream.
  virtual Result<void> onWhole(const json::Cursor &answer) = 0;
  /// Whether the answer has its end; a stream without is cut.
  virtual bool isComplete() const = 0;
  /// What came so far.
  virtual ModelResponse take() = 0;

  /// Receives text as it arrives.
  std::function<void(std::string_view)> onText;
};

struct Provider {
  /// "anthropic"
  std::string_view name;
  /// Of its models: "claude-".
  std::vector<std::string_view> prefixes;
  std::string_view baseUrl;
  std::string_view keyVariable, baseUrlVariable;

  /// Appended to the base address.
  std::string_view path;
  /// The headers that carry \p key; an empty one is left out.
  std::vector<std::pair<std::string, std::string>> (*makeHeaders)(
      const std::string &key);
  /// \p isOwnServer: the base address is not the provider's.
  json::Object (*makeBody)(const ModelRequest &request,
                           const ModelOptions &options, bool isOwnServer);
  std::unique_ptr<AnswerReader> (*makeReader)();
};

/// \p name as the providers take it back: they refuse a conversation with a
/// tool's name of other characters than letters, digits, `_` and `-`, or of
/// more than 64, although it was their model that said it.
std::string makeToolName(const std::string &name);

/// All of them.
const std::vector<Provider> &getProviders();

/// The arguments of a tool call as an object. What is none becomes an object
/// with one member, so that the conversation can go on.
json::Value makeArgumentObject(const std::string &arguments);

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_PROVIDERS_PROVIDER_H
