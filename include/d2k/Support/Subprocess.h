// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs another program: no shell, bounded time, memory and output, and nothing
// of it left behind. Used for compilers and disassemblers, and later for
// kernels that may hang or fill the disk.

#ifndef D2K_SUPPORT_SUBPROCESS_H
#define D2K_SUPPORT_SUBPROCESS_H

#include "d2k/Support/Failure.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace d2k {

/// What to run and how far it may go.
struct Command {
  /// Program and arguments. A program without a slash is looked up in PATH.
  std::vector<std::string> argv;
  /// Working directory; empty is that of the caller.
  std::string directory;
  /// Environment variables that are set on top of the inherited ones; a
  /// variable without value is removed.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  /// Start from an empty environment instead of the caller's.
  bool clearEnvironment = false;
  /// What it reads from its standard input, which is empty otherwise.
  std::string input;
  /// Wall-clock limit; then the whole process group gets SIGTERM and, after
  /// killGrace, SIGKILL.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  std::chrono::milliseconds killGrace = std::chrono::milliseconds(500);
  /// Bytes kept of standard output and of standard error each; the rest is
  /// read and thrown away, so that the program does not block.
  uint64_t maxOutputBytes = uint64_t(256) << 20;
  /// Limits of the process (setrlimit), where set: address space, processor
  /// time and the size of a file it writes.
  std::optional<uint64_t> maxMemoryBytes;
  std::optional<uint64_t> maxCpuSeconds;
  std::optional<uint64_t> maxFileBytes;
};

/// How a program ended.
struct CommandResult {
  /// Exit status when it ended by itself.
  std::optional<int> exitCode;
  /// The signal that ended it otherwise.
  std::optional<int> signal;
  /// The limit of time was hit; `signal` is set too.
  bool timedOut = false;
  std::string output;
  std::string error;
  /// Something of `output` or `error` was thrown away.
  bool truncated = false;
  double seconds = 0;

  bool succeeded() const { return exitCode == 0; }
  /// "exit code 1", "signal 11 (Segmentation fault)", "no end within 600 s".
  std::string describeEnd() const;
};

/// Runs \p command in its own process group and waits for its end. A program
/// that fails is a result; a Failure (kind Environment) means that it could
/// not be started. Processes that it leaves behind in its group are killed.
Result<CommandResult> runCommand(const Command &command);

/// The path of the executable \p name in PATH, or as given when it has a
/// slash; empty when there is none.
std::string findProgram(const std::string &name);

} // namespace d2k

#endif // D2K_SUPPORT_SUBPROCESS_H
