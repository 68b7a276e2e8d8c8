// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests and replies.

#include "Server/Server.h"

#include <charconv>
#include <chrono>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

static const char *getKindText(FailureKind kind) {
  switch (kind) {
  case FailureKind::Environment:
    return "environment";
  case FailureKind::Input:
    return "input";
  case FailureKind::Finding:
    return "finding";
  case FailureKind::Usage:
  case FailureKind::Internal:
    break;
  }
  return "internal";
}

int runner::serve(Channel &channel,
                  const std::map<std::string, Handler> &handlers) {
  for (;;) {
    // The parent takes its time between requests, and its end closes the
    // channel.
    Received received = channel.receive(24h);
    if (received.status != Received::Status::Message)
      return received.status == Received::Status::Closed ? 0 : 1;
    json::Cursor request(received.value, "request");
    Result<std::string> id = request.getString("id");
    Result<std::string> operation = request.getString("op");
    if (!id || !operation)
      return 1;
    auto handler = handlers.find(*operation);
    Result<json::Object> answer =
        handler == handlers.end()
            ? fail(FailureKind::Internal, "unknown operation " + *operation)
            : handler->second(request);
    json::Object reply = {{"id", *id}, {"ok", answer.has_value()}};
    if (answer) {
      for (const json::Member &member : *answer)
        reply.append(member.name, member.value);
    } else {
      reply.append("kind", getKindText(answer.error().kind));
      reply.append("message", answer.error().message);
    }
    if (!channel.send(std::move(reply), 60s))
      return 1;
    if (*operation == "close")
      return 0;
  }
}

std::string runner::toHex(const void *bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = static_cast<const unsigned char *>(bytes)[i];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool runner::fromHex(const std::string &text, void *bytes, size_t size) {
  if (text.size() != 2 * size)
    return false;
  for (size_t i = 0; i < size; ++i) {
    const char *at = text.data() + 2 * i;
    unsigned value = 0;
    auto [end, error] = std::from_chars(at, at + 2, value, 16);
    if (error != std::errc() || end != at + 2)
      return false;
    static_cast<unsigned char *>(bytes)[i] = static_cast<unsigned char>(value);
  }
  return true;
}

Result<uint64_t> runner::getUnsigned(const json::Cursor &cursor,
                                     std::string_view name) {
  Result<json::Cursor> member = cursor.get(name);
  if (!member)
    return forwardFailure(std::move(member));
  if (const std::string *digits = member->getValue().getAsString()) {
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (error == std::errc() && end == digits->data() + digits->size())
      return value;
    return member->fail("expected digits");
  }
  Result<int64_t> value = member->asInteger();
  if (!value)
    return forwardFailure(std::move(value));
  if (*value < 0)
    return member->fail("expected a number that is not negative");
  return uint64_t(*value);
}

Result<std::vector<unsigned>> runner::getNumbers(const json::Cursor &request,
                                                 std::string_view name) {
  Result<json::Cursor> list = request.get(name);
  if (!list)
    return forwardFailure(std::move(list));
  Result<std::vector<json::Cursor>> items = list->asArray();
  if (!items)
    return forwardFailure(std::move(items));
  std::vector<unsigned> numbers;
  for (const json::Cursor &item : *items) {
    Result<int64_t> number = item.asInteger();
    if (!number)
      return forwardFailure(std::move(number));
    if (*number < 0 || *number > INT32_MAX)
      return item.fail("expected a small number that is not negative");
    numbers.push_back(unsigned(*number));
  }
  return numbers;
}
