// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads /proc.

#include "ProcessTree.h"

#include "d2k/Support/Files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>

using namespace d2k;
using namespace d2k::runner;

using Clock = std::chrono::steady_clock;

static constexpr std::chrono::milliseconds kLongestPause{2000};

/// The number after \p name in the text of a status file; 0 when there is none.
static uint64_t getField(std::string_view text, std::string_view name) {
  size_t at = text.find(name);
  if (at == std::string_view::npos)
    return 0;
  at = text.find_first_of("0123456789", at);
  uint64_t value = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

static std::string readStatus(pid_t pid) {
  return readFile("/proc/" + std::to_string(pid) + "/status", 1 << 16)
      .value_or("");
}

void ProcessTree::findMembers() {
  members = {root};
  Result<std::vector<std::string>> names = listDirectory("/proc");
  if (!names)
    return;
  std::multimap<pid_t, pid_t> children;
  for (const std::string &name : *names) {
    pid_t pid = 0;
    auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size())
      continue;
    children.emplace(pid_t(getField(readStatus(pid), "\nPPid:")), pid);
  }
  for (size_t at = 0; at < members.size(); ++at) {
    auto [begin, end] = children.equal_range(members[at]);
    for (auto child = begin; child != end; ++child)
      members.push_back(child->second);
  }
}

ProcessTree::Usage ProcessTree::measure() {
  Clock::time_point now = Clock::now();
  if (now >= nextLookUp) {
    findMembers();
    // A process starts its supervisors and itself at once, and then none.
    nextLookUp = now + pause;
    pause = std::min(2 * pause, kLongestPause);
  }
  Usage usage;
  for (pid_t pid : members) {
    std::string status = readStatus(pid);
    usage.memoryBytes += getField(status, "\nVmRSS:") << 10;
    usage.threads += getField(status, "\nThreads:");
  }
  return usage;
}
