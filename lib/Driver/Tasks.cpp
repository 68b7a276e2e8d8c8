// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tasks.h"

#include "llvm/Support/thread.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace d2k;

/// Bytes of a thread's stack. Pages are used only when they are touched.
static constexpr unsigned kStackBytes = 256u << 20;

unsigned d2k::getJobCount(unsigned jobs) {
  return jobs ? jobs : std::max(1u, std::thread::hardware_concurrency());
}

void d2k::runTasks(unsigned jobs,
                   const std::vector<std::function<void()>> &tasks) {
  size_t numThreads = std::min<size_t>(jobs, tasks.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++)
      tasks[i]();
  };
  if (numThreads <= 1)
    return work();
  std::vector<llvm::thread> threads;
  for (size_t i = 0; i < numThreads; ++i)
    threads.emplace_back(std::optional<unsigned>(kStackBytes), work);
  for (llvm::thread &thread : threads)
    thread.join();
}
