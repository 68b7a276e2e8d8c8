// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the sources of the sampler share.

#ifndef D2K_RUNNER_CUDA_SAMPLERRANK_H
#define D2K_RUNNER_CUDA_SAMPLERRANK_H

#include "Sampler.h"
#include "Spans.h"

#include "Device/DeviceOps.h"

#include <chrono>

namespace d2k::runner {

using HostClock = std::chrono::steady_clock;

struct Sampler::Rank {
  RankContext target;
  std::unique_ptr<DeviceOps> operations;
  CUdeviceptr flush = 0;
  uint64_t flushBytes = 0;
  CUdeviceptr clocks = 0;
  CUevent begin = nullptr, end = nullptr;
  std::optional<NvmlDevice> nvml;
  HostClock::time_point nvmlTime;
  uint64_t clockReasons = 0;
  double maxClockMHz = 0;
  /// Host clock around the calls of the last sample, and around enqueueing its
  /// discarded call.
  double hostNs = 0;
  double enqueueNs = 0;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_SAMPLERRANK_H
