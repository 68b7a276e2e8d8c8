// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ran on the GPU and when: CUPTI's activity records of kernels, copies
// and memsets of this process. The timestamps are the GPU's own, in
// nanoseconds, and step by 32 on an H200.
//
// CUPTI's callbacks have no user data, so there is one collector in a process.

#ifndef D2K_RUNNER_CUDA_ACTIVITY_H
#define D2K_RUNNER_CUDA_ACTIVITY_H

#include "Cupti.h"

#include <cstdint>
#include <string>
#include <vector>

namespace d2k::runner {

enum class ActivityKind : uint8_t { Kernel, Copy, Set };

/// How a kernel was launched.
struct LaunchShape {
  int grid[3] = {1, 1, 1};
  int block[3] = {1, 1, 1};
  /// 0, 0, 0 without clusters.
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t registers = 0;
  int staticSharedBytes = 0;
  int dynamicSharedBytes = 0;
  uint32_t localBytesPerThread = 0;

  friend bool operator==(const LaunchShape &, const LaunchShape &) = default;
};

struct Activity {
  ActivityKind kind = ActivityKind::Kernel;
  /// GPU time in nanoseconds.
  uint64_t start = 0;
  uint64_t end = 0;
  /// Numbers calls of the API in the order in which they were made.
  uint32_t correlation = 0;
  uint32_t device = 0;
  /// Mangled, of kernels.
  std::string name;
  /// Of copies and memsets.
  uint64_t bytes = 0;
  LaunchShape shape;
};

/// The order of calls of the API; the nodes of a graph, which one call
/// launches, by their start.
bool isCalledBefore(const Activity &a, const Activity &b);

class ActivityCollector {
public:
  /// Starts recording, once in a process. To be called after cuInit and before
  /// contexts are made. Fails with kind Environment.
  static Result<ActivityCollector *> start(const Cupti &cupti);

  /// The records of everything that has ended, in the order of the calls; they
  /// are forgotten. The caller has waited for the contexts.
  Result<std::vector<Activity>> take();

  /// Stops and restarts recording, for what cannot run beside it.
  Result<void> pause();
  Result<void> resume();

  /// Records that CUPTI had no room for, since the start.
  uint64_t getDroppedRecords() const;
  /// Sum of the durations of all that was taken so far.
  double getBusySeconds() const;

private:
  explicit ActivityCollector(const Cupti &cupti) : cupti(cupti) {}

  const Cupti &cupti;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_ACTIVITY_H
