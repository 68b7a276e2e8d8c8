// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages between d2k-run and the processes that it starts: one JSON object a
// line over a stream socket. The other end may be hostile: lengths, times and
// form are checked, and nothing that arrives is trusted here.

#ifndef D2K_RUNNER_CHANNEL_H
#define D2K_RUNNER_CHANNEL_H

#include "d2k/Support/Json.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace d2k::runner {

/// Longest line that is received: 8 MiB.
inline constexpr uint64_t kMaxMessageBytes = uint64_t(8) << 20;

/// What came of waiting for a message.
struct Received {
  enum class Status : uint8_t {
    Message,
    /// The other end is closed.
    Closed,
    /// Nothing complete within the time.
    TimedOut,
    /// No JSON object, or longer than kMaxMessageBytes.
    Malformed,
  };
  Status status = Status::Closed;
  /// With Message: an object.
  json::Value value;
  /// With Malformed: what is wrong with it.
  std::string problem;
};

/// One end of the socket.
class Channel {
public:
  /// Takes over the descriptor \p fd.
  explicit Channel(int fd) : fd(fd) {}
  Channel(Channel &&other) noexcept;
  Channel &operator=(Channel &&other) noexcept;
  ~Channel();

  /// Writes \p message within \p timeout; false when the other end is closed
  /// or does not read.
  bool send(const json::Value &message, std::chrono::milliseconds timeout);
  /// Waits for the next line.
  Received receive(std::chrono::milliseconds timeout);
  /// Whether anything has arrived that nobody asked for yet.
  bool hasInput() const;

  int getDescriptor() const { return fd; }

private:
  int fd;
  std::string buffer;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CHANNEL_H
