// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happened in a run, one JSON object a line, only ever appended to. Each
// line carries the hash of the one before it and of itself, so that a line
// that was changed, lost or moved shows. A run that was killed reads its
// transcript and goes on; docs/Agents.md describes the events.

#ifndef D2K_AGENT_TRANSCRIPT_H
#define D2K_AGENT_TRANSCRIPT_H

#include "d2k/Support/Json.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

struct Event {
  /// "start", "response", "tool", ...
  std::string type;
  json::Value data;
  /// Seconds that the run had worked until then, pauses left out.
  double elapsed = 0;
};

/// The events of the file \p path. Fails with kind Input and the line where
/// the chain of hashes breaks. A last line without its end, which a kill leaves
/// behind, is no event; \p wholeBytes receives the size without it.
Result<std::vector<Event>> readTranscript(const std::string &path,
                                          uint64_t *wholeBytes = nullptr);

class Transcript {
public:
  /// Opens or makes the file \p path, and cuts an unfinished last line off. No
  /// other process may have it open: fails with kind Usage.
  static Result<Transcript> open(const std::string &path);
  Transcript(Transcript &&other) noexcept;
  Transcript &operator=(Transcript &&other) noexcept;
  ~Transcript();

  const std::vector<Event> &getEvents() const { return events; }

  /// Appends an event and waits until it is on the disk. \p secrets are
  /// replaced in it.
  Result<void> append(std::string type, json::Object data);
  void setSecrets(std::vector<std::string> strings) {
    secrets = std::move(strings);
  }

  /// Seconds that the run has worked, by a clock that nobody can set.
  double getElapsed() const;

private:
  Transcript() = default;

  std::string path;
  int fd = -1;
  std::vector<Event> events;
  std::vector<std::string> secrets;
  std::string lastHash;
  double elapsedBefore = 0;
  std::chrono::steady_clock::time_point start;
};

} // namespace d2k::agent

#endif // D2K_AGENT_TRANSCRIPT_H
