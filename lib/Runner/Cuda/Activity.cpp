// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collection of activity records (CUPTI user's guide, "Activity API").

#include "Activity.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

using namespace d2k;
using namespace d2k::runner;

bool runner::isCalledBefore(const Activity &a, const Activity &b) {
  return std::pair(a.correlation, a.start) < std::pair(b.correlation, b.start);
}

namespace {

/// What the callbacks share with the collector.
struct Shared {
  std::mutex mutex;
  const Cupti *cupti = nullptr;
  std::vector<Activity> activities;
  std::vector<uint8_t *> freeBuffers;
  uint64_t dropped = 0;
  /// Of the activities that were taken.
  uint64_t busyNs = 0;
};

constexpr size_t kBufferBytes = size_t(1) << 20;
constexpr size_t kBufferAlignment = 64; // CUPTI asks for 8.

} // namespace

static Shared &shared() {
  // Never destroyed: CUPTI delivers buffers while the process exits.
  static Shared *shared = new Shared;
  return *shared;
}

static void addKernel(const CUpti_Activity *record,
                      std::vector<Activity> &activities) {
  const auto *kernel = reinterpret_cast<const CUpti_ActivityKernel10 *>(record);
  Activity activity;
  activity.start = kernel->start;
  activity.end = kernel->end;
  activity.correlation = kernel->correlationId;
  activity.device = kernel->deviceId;
  activity.name = kernel->name ? kernel->name : "";
  LaunchShape &shape = activity.shape;
  const int grid[3] = {kernel->gridX, kernel->gridY, kernel->gridZ};
  const int block[3] = {kernel->blockX, kernel->blockY, kernel->blockZ};
  const uint32_t cluster[3] = {kernel->clusterX, kernel->clusterY,
                               kernel->clusterZ};
  std::copy(grid, grid + 3, shape.grid);
  std::copy(block, block + 3, shape.block);
  std::copy(cluster, cluster + 3, shape.cluster);
  shape.registers = kernel->registersPerThread;
  shape.staticSharedBytes = kernel->staticSharedMemory;
  shape.dynamicSharedBytes = kernel->dynamicSharedMemory;
  shape.localBytesPerThread = kernel->localMemoryPerThread;
  activities.push_back(std::move(activity));
}

/// Copies and memsets have these members under the same names.
template <typename T>
static void addTransfer(ActivityKind kind, const CUpti_Activity *record,
                        std::vector<Activity> &activities) {
  const auto *transfer = reinterpret_cast<const T *>(record);
  Activity activity;
  activity.kind = kind;
  activity.start = transfer->start;
  activity.end = transfer->end;
  activity.correlation = transfer->correlationId;
  activity.device = transfer->deviceId;
  activity.bytes = transfer->bytes;
  activities.push_back(std::move(activity));
}

static void CUPTIAPI onBufferRequested(uint8_t **buffer, size_t *size,
                                       size_t *maxRecords) {
  Shared &state = shared();
  std::lock_guard<std::mutex> lock(state.mutex);
  *size = kBufferBytes;
  *maxRecords = 0; // As many as fit.
  if (!state.freeBuffers.empty()) {
    *buffer = state.freeBuffers.back();
    state.freeBuffers.pop_back();
    return;
  }
  *buffer = static_cast<uint8_t *>(
      std::aligned_alloc(kBufferAlignment, kBufferBytes));
  if (!*buffer)
    *size = 0;
}

static void CUPTIAPI onBufferCompleted(CUcontext, uint32_t, uint8_t *buffer,
                                       size_t, size_t validSize) {
  Shared &state = shared();
  std::lock_guard<std::mutex> lock(state.mutex);
  CUpti_Activity *record = nullptr;
  while (validSize > 0 && state.cupti->cuptiActivityGetNextRecord(
                              buffer, validSize, &record) == CUPTI_SUCCESS) {
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      addKernel(record, state.activities);
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      addTransfer<CUpti_ActivityMemcpy6>(ActivityKind::Copy, record,
                                         state.activities);
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      addTransfer<CUpti_ActivityMemcpyPtoP4>(ActivityKind::Copy, record,
                                             state.activities);
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      addTransfer<CUpti_ActivityMemset4>(ActivityKind::Set, record,
                                         state.activities);
      break;
    default:
      break;
    }
  }
  size_t dropped = 0;
  if (state.cupti->cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) ==
      CUPTI_SUCCESS)
    state.dropped += dropped;
  state.freeBuffers.push_back(buffer);
}

static const CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

Result<ActivityCollector *> ActivityCollector::start(const Cupti &cupti) {
  static const Result<ActivityCollector *> kCollector =
      [&]() -> Result<ActivityCollector *> {
    shared().cupti = &cupti;
    if (Result<void> done =
            cupti.check(cupti.cuptiActivityRegisterCallbacks(onBufferRequested,
                                                             onBufferCompleted),
                        "register for activity records");
        !done)
      return forwardFailure(std::move(done));
    auto *collector = new ActivityCollector(cupti);
    if (Result<void> done = collector->resume(); !done)
      return forwardFailure(std::move(done));
    return collector;
  }();
  return kCollector;
}

Result<void> ActivityCollector::resume() {
  for (CUpti_ActivityKind kind : kKinds)
    if (Result<void> done =
            cupti.check(cupti.cuptiActivityEnable(kind), "record GPU activity");
        !done)
      return done;
  return {};
}

Result<void> ActivityCollector::pause() {
  for (CUpti_ActivityKind kind : kKinds)
    if (Result<void> done = cupti.check(cupti.cuptiActivityDisable(kind),
                                        "stop recording GPU activity");
        !done)
      return done;
  return {};
}

Result<std::vector<Activity>> ActivityCollector::take() {
  if (Result<void> done = cupti.check(cupti.cuptiActivityFlushAll(0),
                                      "collect activity records");
      !done)
    return forwardFailure(std::move(done));
  std::vector<Activity> activities;
  {
    std::lock_guard<std::mutex> lock(shared().mutex);
    activities.swap(shared().activities);
    for (const Activity &activity : activities)
      shared().busyNs += activity.end - activity.start;
  }
  std::sort(activities.begin(), activities.end(), isCalledBefore);
  return activities;
}

uint64_t ActivityCollector::getDroppedRecords() const {
  std::lock_guard<std::mutex> lock(shared().mutex);
  return shared().dropped;
}

double ActivityCollector::getBusySeconds() const {
  std::lock_guard<std::mutex> lock(shared().mutex);
  return double(shared().busyNs) * 1e-9;
}
