// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and threads of a process and everything below it, from /proc: what
// limits of the kernel (setrlimit) cannot bound for a process with a CUDA
// context, which reserves terabytes of address space.

#ifndef D2K_LIB_RUNNER_PROCESSTREE_H
#define D2K_LIB_RUNNER_PROCESSTREE_H

#include <chrono>
#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace d2k::runner {

class ProcessTree {
public:
  explicit ProcessTree(pid_t root) : root(root) {}

  struct Usage {
    /// Resident memory, shared pages counted in each process.
    uint64_t memoryBytes = 0;
    uint64_t threads = 0;
  };
  /// Adds up the tree. Which processes belong to it is looked up less and
  /// less often, at last every 2 s, because that reads all of /proc.
  Usage measure();

private:
  void findMembers();

  pid_t root;
  std::vector<pid_t> members;
  std::chrono::steady_clock::time_point nextLookUp;
  std::chrono::milliseconds pause{50};
};

} // namespace d2k::runner

#endif // D2K_LIB_RUNNER_PROCESSTREE_H
