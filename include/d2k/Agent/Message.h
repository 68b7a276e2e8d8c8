// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conversation with a model, in no provider's form: what is kept in
// transcripts, and what the clients translate.

#ifndef D2K_AGENT_MESSAGE_H
#define D2K_AGENT_MESSAGE_H

#include "d2k/Support/Json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace d2k::agent {

/// A part of a message.
struct Block {
  enum class Kind : uint8_t {
    Text,
    /// The model asks for a tool.
    ToolCall,
    /// What the tool said.
    ToolResult,
    /// Something that only its provider understands, such as signed reasoning;
    /// it is sent back unchanged.
    Opaque,
  };
  Kind kind = Kind::Text;
  /// Text and ToolResult: the text. ToolCall: the arguments as the model wrote
  /// them, which need not be JSON.
  std::string text;
  /// ToolCall and ToolResult: the call's identity.
  std::string callId;
  /// ToolCall: the tool's name.
  std::string name;
  /// ToolResult: the tool refused.
  bool isError = false;
  /// Opaque.
  json::Value value;

  static Block makeText(std::string text);
  static Block makeToolCall(std::string id, std::string name,
                            std::string arguments);
  static Block makeToolResult(std::string id, std::string text, bool isError);
  static Block makeOpaque(json::Value value);
};

enum class Role : uint8_t { User, Assistant };

struct Message {
  Role role = Role::User;
  std::vector<Block> blocks;

  /// The text of all text blocks, one after the other.
  std::string getText() const;
  /// The blocks that ask for tools.
  std::vector<const Block *> getToolCalls() const;

  json::Value toJson() const;
  static Result<Message> fromJson(const json::Cursor &cursor);
};

/// A tool as a model is told of it.
struct ToolDefinition {
  std::string name;
  std::string description;
  /// JSON Schema of the arguments, an object.
  json::Value schema;

  json::Value toJson() const;
};

/// Tokens, as the provider counts them.
struct Usage {
  /// Read in full, read from the provider's cache, and written to it.
  int64_t input = 0;
  int64_t cached = 0;
  int64_t cacheWritten = 0;
  int64_t output = 0;

  /// All that the model was sent.
  int64_t getPromptTokens() const { return input + cached + cacheWritten; }
  int64_t getTotal() const { return getPromptTokens() + output; }
  Usage &operator+=(const Usage &other);
  /// Each count from 0 to 10^12: what a server reports wrongly must not give
  /// tokens back, and sums must not overflow.
  Usage getBounded() const;
  json::Value toJson() const;
  static Result<Usage> fromJson(const json::Cursor &cursor);
};

/// US dollars for a million tokens of each kind. Prices change, so none are
/// built in.
struct Prices {
  double input = 0;
  double output = 0;
  double cached = 0;
  double cacheWritten = 0;

  double getCost(const Usage &usage) const;
};

/// Why a model stopped.
enum class StopReason : uint8_t { EndTurn, ToolUse, MaxTokens, Refusal, Other };

/// "end_turn", "tool_use", "max_tokens", "refusal", "other".
std::string_view getStopReasonName(StopReason reason);

} // namespace d2k::agent

#endif // D2K_AGENT_MESSAGE_H
