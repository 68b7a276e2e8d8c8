// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run knows, as a function of its events.

#ifndef D2K_LIB_AGENT_RUNSTATE_H
#define D2K_LIB_AGENT_RUNSTATE_H

#include "Tools/Tools.h"

#include "d2k/Agent/Transcript.h"

#include <optional>
#include <string>
#include <vector>

namespace d2k::agent {

/// A low guess, so that a request is rather taken for too long than sent in
/// vain.
inline constexpr int64_t kCharactersPerToken = 3;

/// The data of an event "response".
json::Object makeResponseData(int64_t turn, const Message &message,
                              const Usage &usage, double cost,
                              const std::string &stop, const std::string &model,
                              unsigned attempts);

class RunState {
public:
  /// Adds an event. Fails with kind Input on one that this version does not
  /// understand.
  Result<void> apply(const Event &event);

  /// The messages of the next request: all of them, or what compaction left.
  std::vector<Message> getContext() const;

  /// Calls of the last response that have no result yet.
  struct PendingCall {
    /// Its place among the calls of the response.
    size_t index = 0;
    const Block *call = nullptr;
  };
  std::optional<PendingCall> getPendingCall() const;

  /// A guess at the tokens of the next request, from what the provider counted
  /// last and three characters a token for what came since.
  int64_t estimatePromptTokens() const;

  /// The number of the message from which on \p most bytes remain after
  /// compaction; an assistant's message. The last exchange always remains. 0
  /// when there is nothing to leave out.
  size_t findCompactionStart(size_t most) const;
  /// Bytes of the messages that are sent, without the first one.
  size_t getMessageBytes() const;

  const SubmissionRecord *getBest() const;

  std::string system, firstMessage;
  unsigned turn = 0;
  /// Responses in a row without a tool call.
  unsigned silentTurns = 0;
  Usage usage;
  double cost = 0;
  std::vector<SubmissionRecord> submissions;
  /// Messages after the first one, in full.
  std::vector<Message> messages;
  /// Results of the last response's calls.
  std::vector<Block> results;
  /// Compaction: the first of `messages` that is still sent, and what is said
  /// in place of those before.
  size_t contextStart = 0;
  std::string compactionNote;
  /// The reason of the event "end"; the run is over.
  std::optional<std::string> ended;

private:
  Result<void> applyStart(const json::Cursor &data);
  Result<void> applyResponse(const json::Cursor &data);
  Result<void> applyTool(const json::Cursor &data);

  Usage lastUsage;
  size_t bytesSince = 0;
};

} // namespace d2k::agent

#endif // D2K_LIB_AGENT_RUNSTATE_H
