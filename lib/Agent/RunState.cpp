// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds the events of a transcript.

#include "RunState.h"

using namespace d2k;
using namespace d2k::agent;

static size_t getBytes(const Block &block) {
  return block.text.size() + block.name.size() +
         (block.kind == Block::Kind::Opaque
              ? json::dump(block.value, /*pretty=*/false).size()
              : 0);
}

static size_t getBytes(const Message &message) {
  size_t bytes = 0;
  for (const Block &block : message.blocks)
    bytes += getBytes(block);
  return bytes;
}

json::Object agent::makeResponseData(int64_t turn, const Message &message,
                                     const Usage &usage, double cost,
                                     const std::string &stop,
                                     const std::string &model,
                                     unsigned attempts) {
  return {{"turn", turn},
          {"message", message.toJson()},
          {"usage", usage.toJson()},
          {"cost", cost},
          {"stop", stop},
          {"model", model},
          {"attempts", int64_t(attempts)}};
}

Result<void> RunState::applyStart(const json::Cursor &data) {
  Result<std::string> text = data.getString("system");
  Result<std::string> first = data.getString("first_message");
  if (!text)
    return forwardFailure(std::move(text));
  if (!first)
    return forwardFailure(std::move(first));
  system = std::move(*text);
  firstMessage = std::move(*first);
  return {};
}

Result<void> RunState::applyResponse(const json::Cursor &data) {
  Result<json::Cursor> content = data.get("message");
  if (!content)
    return forwardFailure(std::move(content));
  Result<Message> message = Message::fromJson(*content);
  if (!message)
    return forwardFailure(std::move(message));
  Result<json::Cursor> counts = data.get("usage");
  Result<Usage> used =
      counts ? Usage::fromJson(*counts)
             : Result<Usage>(tl::unexpected<Failure>(counts.error()));
  Result<double> dollars = data.getNumber("cost");
  if (!used)
    return forwardFailure(std::move(used));
  if (!dollars)
    return forwardFailure(std::move(dollars));
  ++turn;
  usage += *used;
  cost += *dollars;
  lastUsage = *used;
  bytesSince = 0;
  silentTurns = message->getToolCalls().empty() ? silentTurns + 1 : 0;
  messages.push_back(std::move(*message));
  results.clear();
  return {};
}

Result<void> RunState::applyTool(const json::Cursor &data) {
  Result<std::string> id = data.getString("id");
  Result<std::string> text = data.getString("text");
  Result<bool> isError = data.getBoolean("is_error");
  if (!id)
    return forwardFailure(std::move(id));
  if (!text)
    return forwardFailure(std::move(text));
  if (!isError)
    return forwardFailure(std::move(isError));
  if (std::optional<json::Cursor> submission = data.find("submission")) {
    Result<SubmissionRecord> record = SubmissionRecord::fromJson(*submission);
    if (!record)
      return forwardFailure(std::move(record));
    // Others are found by these numbers.
    if (record->number != submissions.size() + 1 ||
        record->sameAs >= record->number)
      return data.fail("no such submission");
    submissions.push_back(std::move(*record));
  }
  bytesSince += text->size();
  results.push_back(
      Block::makeToolResult(std::move(*id), std::move(*text), *isError));
  return {};
}

Result<void> RunState::apply(const Event &event) {
  json::Cursor data(event.data, "transcript: " + event.type);
  if (event.type == "start")
    return applyStart(data);
  if (event.type == "response")
    return applyResponse(data);
  if (event.type == "tool")
    return applyTool(data);
  if (event.type == "message") {
    // What the harness says after the results, or to a silent model.
    Result<std::string> text = data.getString("text");
    if (!text)
      return forwardFailure(std::move(text));
    Message message;
    message.blocks = std::move(results);
    results.clear();
    message.blocks.push_back(Block::makeText(std::move(*text)));
    messages.push_back(std::move(message));
    return {};
  }
  if (event.type == "compaction") {
    Result<int64_t> first = data.getInteger("first_message_kept");
    Result<std::string> note = data.getString("note");
    if (!first)
      return forwardFailure(std::move(first));
    if (!note)
      return forwardFailure(std::move(note));
    if (*first < 0 || size_t(*first) > messages.size())
      return data.fail("no such message");
    contextStart = size_t(*first);
    compactionNote = std::move(*note);
    lastUsage = {};
    return {};
  }
  if (event.type == "end") {
    Result<std::string> reason = data.getString("reason");
    if (!reason)
      return forwardFailure(std::move(reason));
    ended = std::move(*reason);
    return {};
  }
  // Things that happened and change nothing.
  if (event.type == "problem" || event.type == "resume")
    return {};
  return data.fail("unknown event; a newer d2k-run wrote this transcript");
}

std::vector<Message> RunState::getContext() const {
  Message first;
  first.blocks.push_back(Block::makeText(firstMessage));
  if (!compactionNote.empty())
    first.blocks.push_back(Block::makeText(compactionNote));
  std::vector<Message> context = {std::move(first)};
  context.insert(context.end(), messages.begin() + ptrdiff_t(contextStart),
                 messages.end());
  return context;
}

std::optional<RunState::PendingCall> RunState::getPendingCall() const {
  if (messages.empty() || messages.back().role != Role::Assistant)
    return std::nullopt;
  std::vector<const Block *> calls = messages.back().getToolCalls();
  if (results.size() >= calls.size())
    return std::nullopt;
  return PendingCall{results.size(), calls[results.size()]};
}

int64_t RunState::estimatePromptTokens() const {
  size_t bytes = bytesSince;
  if (lastUsage.getTotal() == 0) {
    // The provider counts nothing, or counted something longer: by size alone.
    bytes = 0;
    for (const Message &message : getContext())
      bytes += getBytes(message);
  }
  return lastUsage.getTotal() + int64_t(bytes) / kCharactersPerToken;
}

size_t RunState::getMessageBytes() const {
  size_t bytes = 0;
  for (size_t i = contextStart; i < messages.size(); ++i)
    bytes += getBytes(messages[i]);
  return bytes;
}

size_t RunState::findCompactionStart(size_t most) const {
  size_t start = messages.size(), bytes = 0;
  for (size_t i = messages.size(); i-- > contextStart;) {
    bytes += getBytes(messages[i]);
    if (bytes > most)
      break;
    if (messages[i].role == Role::Assistant)
      start = i;
  }
  if (start == messages.size()) {
    // Not even the last exchange fits: it stays, it is what is being done.
    while (start > contextStart && (start == messages.size() ||
                                    messages[start].role != Role::Assistant))
      --start;
  }
  return start > contextStart ? start : 0;
}

const SubmissionRecord *RunState::getBest() const {
  const SubmissionRecord *best = nullptr;
  for (const SubmissionRecord &record : submissions)
    if (record.isEligible() && (!best || *record.speedup > *best->speedup))
      best = &record;
  return best;
}
