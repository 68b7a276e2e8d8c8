// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines over a socket, with deadlines.

#include "d2k/Runner/Channel.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

using Clock = std::chrono::steady_clock;

Channel::Channel(Channel &&other) noexcept
    : fd(std::exchange(other.fd, -1)), buffer(std::move(other.buffer)) {}

Channel &Channel::operator=(Channel &&other) noexcept {
  std::swap(fd, other.fd);
  std::swap(buffer, other.buffer);
  return *this;
}

Channel::~Channel() {
  if (fd >= 0)
    ::close(fd);
}

/// Milliseconds until \p deadline as poll takes them, rounded up.
static int getRemaining(Clock::time_point deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

bool Channel::send(const json::Value &message,
                   std::chrono::milliseconds timeout) {
  // dump escapes line feeds, so that the one at the end is the only one.
  std::string line = json::dump(message, /*pretty=*/false);
  while (!line.empty() && line.back() == '\n')
    line.pop_back();
  line += '\n';
  Clock::time_point deadline = Clock::now() + timeout;
  for (size_t sent = 0; sent < line.size();) {
    ssize_t count = ::send(fd, line.data() + sent, line.size() - sent,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent += size_t(count);
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return false;
    pollfd polled = {fd, POLLOUT, 0};
    if (::poll(&polled, 1, getRemaining(deadline)) == 0)
      return false;
  }
  return true;
}

bool Channel::hasInput() const {
  if (!buffer.empty())
    return true;
  char byte;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

Received Channel::receive(std::chrono::milliseconds timeout) {
  Received received;
  Clock::time_point deadline = Clock::now() + timeout;
  // Where the search for the end of the line goes on.
  size_t searched = 0;
  for (;;) {
    size_t end = buffer.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      Result<json::Value> value = json::parse(line, "message");
      if (value && value->getAsObject()) {
        received.status = Received::Status::Message;
        received.value = std::move(*value);
      } else {
        received.status = Received::Status::Malformed;
        received.problem =
            value ? "message: expected object, found " + json::describe(*value)
                  : value.error().message;
      }
      return received;
    }
    searched = buffer.size();
    if (buffer.size() > kMaxMessageBytes) {
      received.status = Received::Status::Malformed;
      received.problem =
          "message: longer than " + std::to_string(kMaxMessageBytes) + " bytes";
      return received;
    }
    pollfd polled = {fd, POLLIN, 0};
    int ready = ::poll(&polled, 1, getRemaining(deadline));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0) {
      received.status = Received::Status::TimedOut;
      return received;
    }
    char chunk[1 << 16];
    ssize_t count = ::recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count <= 0) {
      received.status = Received::Status::Closed;
      return received;
    }
    buffer.append(chunk, size_t(count));
  }
}
