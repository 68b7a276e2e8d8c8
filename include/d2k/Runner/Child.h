// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process of ours (oracle or worker) as the parent sees it: requests and
// replies, what it printed, and how it ended. A thread watches its memory, its
// threads and its output all the time, also while nobody talks to it.

#ifndef D2K_RUNNER_CHILD_H
#define D2K_RUNNER_CHILD_H

#include "d2k/Runner/Channel.h"
#include "d2k/Support/Json.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d2k::runner {

/// What to start and how far it may go.
struct ChildConfig {
  /// Program and arguments; `--channel N` is appended.
  std::vector<std::string> argv;
  /// Variables set on top of the inherited ones, or removed.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  /// Host memory of the process and its descendants together.
  uint64_t maxMemoryBytes = uint64_t(16) << 30;
  /// Threads of the process and its descendants together.
  uint64_t maxThreads = 512;
  /// Bytes that it may print; the first 64 KiB are kept.
  uint64_t maxOutputBytes = uint64_t(16) << 20;
};

/// Why a child is no longer there.
enum class EndCause : uint8_t {
  /// It still runs.
  Running,
  /// It ended by itself; the code is in ChildEnd.
  Exited,
  Signalled,
  /// Killed here: no reply in time.
  TimedOut,
  /// Killed here: over a limit.
  Memory,
  Threads,
  Output,
  /// Killed here: what it sent was no answer to what was asked.
  Protocol,
  /// Killed here on request.
  Stopped,
};

struct ChildEnd {
  EndCause cause = EndCause::Running;
  /// Exit code or signal number.
  int code = 0;
  /// One sentence: "was killed by signal 11 (Segmentation fault)".
  std::string text;
};

/// An answer, or why there is none.
struct Reply {
  enum class Status : uint8_t {
    Ok,
    /// The child answered that it could not; `message` says why.
    Refused,
    /// The child is gone; ask for its end.
    Gone,
  };
  Status status = Status::Gone;
  /// With Ok: the whole reply.
  json::Value value;
  /// With Refused: who is to act on it.
  FailureKind kind = FailureKind::Internal;
  std::string message;
  /// Between sending the request and having the reply, by the clock of this
  /// process.
  double seconds = 0;

  bool isOk() const { return status == Status::Ok; }
};

/// A started process. The destructor kills it.
class Child {
public:
  /// Fails with kind Environment when the program cannot be started.
  static Result<std::unique_ptr<Child>> start(const ChildConfig &config);
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// Sends {"op": \p operation, "id": random, \p arguments...} and waits for
  /// the reply with the same id. A child that sends anything else, or anything
  /// unasked, is killed with the cause Protocol.
  Reply request(std::string_view operation, json::Object arguments,
                std::chrono::milliseconds timeout);

  /// Kills it and all it started, unless it ended before.
  void stop(EndCause cause = EndCause::Stopped);

  /// How it ended. Waits a moment for the kernel when the socket has just
  /// closed.
  ChildEnd getEnd();
  bool isRunning() { return getEnd().cause == EndCause::Running; }

  /// What it printed so far on standard output and error together.
  std::string getOutput();

  /// Its process id, for tests that kill it.
  int getProcessId() const;

private:
  struct Impl;
  explicit Child(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl;
};

/// 128 random bits from the kernel as 32 hexadecimal digits.
std::string makeRandomId();

/// A random number from the kernel.
uint64_t makeRandomSeed();

} // namespace d2k::runner

#endif // D2K_RUNNER_CHILD_H
