// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUPTI's activity interface over what the fake driver ran. Records are kept
// until somebody flushes, as CUPTI does with buffers that are not full.

#include "FakeState.h"

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstring>
#include <deque>
#include <set>
#include <string>

using namespace d2k::fake;

namespace {

struct Activity {
  ActivityKind kind;
  const char *name;
  uint32_t device;
  uint32_t stream;
  uint64_t start, end, bytes;
  uint32_t correlation;
};

struct Tracing {
  std::mutex mutex;
  std::set<CUpti_ActivityKind> enabled;
  std::deque<Activity> pending;
  std::set<std::string> names;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  void *callbackData = nullptr;
  uint32_t correlation = 0;
};

} // namespace

static Tracing &getTracing() {
  static Tracing *tracing = new Tracing;
  return *tracing;
}

static bool isEnabled(const Tracing &tracing, ActivityKind kind) {
  switch (kind) {
  case ActivityKind::Kernel:
    return tracing.enabled.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
           tracing.enabled.count(CUPTI_ACTIVITY_KIND_KERNEL);
  case ActivityKind::Memcpy:
    return tracing.enabled.count(CUPTI_ACTIVITY_KIND_MEMCPY);
  case ActivityKind::Memset:
    return tracing.enabled.count(CUPTI_ACTIVITY_KIND_MEMSET);
  }
  return false;
}

void d2k::fake::recordActivity(ActivityKind kind, const char *name,
                               CUstream stream, uint64_t start, uint64_t end,
                               uint64_t bytes) {
  Tracing &tracing = getTracing();
  std::lock_guard<std::mutex> lock(tracing.mutex);
  if (!isEnabled(tracing, kind))
    return;
  const char *kept = name ? tracing.names.insert(name).first->c_str() : nullptr;
  tracing.pending.push_back({kind, kept, uint32_t(getCurrentDevice()),
                             uint32_t(reinterpret_cast<uintptr_t>(stream)),
                             start, end, bytes, ++tracing.correlation});
}

void d2k::fake::announceModule(const void *image, size_t bytes) {
  Tracing &tracing = getTracing();
  if (!tracing.callback)
    return;
  CUpti_ModuleResourceData module = {};
  module.cubinSize = bytes;
  module.pCubin = static_cast<const char *>(image);
  CUpti_ResourceData resource = {};
  resource.resourceDescriptor = &module;
  tracing.callback(tracing.callbackData, CUPTI_CB_DOMAIN_RESOURCE,
                   CUPTI_CBID_RESOURCE_MODULE_LOADED, &resource);
}

/// Appends \p record to the buffer that begins at \p at; false when it is full.
template <typename Record>
static bool put(uint8_t *buffer, size_t size, size_t &used,
                const Record &record) {
  if (used + sizeof(Record) > size)
    return false;
  std::memcpy(buffer + used, &record, sizeof(Record));
  used += sizeof(Record);
  return true;
}

static bool put(const Activity &activity, uint8_t *buffer, size_t size,
                size_t &used) {
  auto fill = [&](auto record, CUpti_ActivityKind kind) {
    record.kind = kind;
    record.start = activity.start;
    record.end = activity.end;
    record.deviceId = activity.device;
    record.contextId = activity.device + 1;
    record.streamId = activity.stream;
    record.correlationId = activity.correlation;
    return record;
  };
  switch (activity.kind) {
  case ActivityKind::Kernel: {
    CUpti_ActivityKernel10 record = {};
    record = fill(record, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    record.name = activity.name;
    return put(buffer, size, used, record);
  }
  case ActivityKind::Memcpy: {
    CUpti_ActivityMemcpy6 record = {};
    record = fill(record, CUPTI_ACTIVITY_KIND_MEMCPY);
    record.bytes = activity.bytes;
    return put(buffer, size, used, record);
  }
  case ActivityKind::Memset: {
    CUpti_ActivityMemset4 record = {};
    record = fill(record, CUPTI_ACTIVITY_KIND_MEMSET);
    record.bytes = activity.bytes;
    return put(buffer, size, used, record);
  }
  }
  return false;
}

extern "C" {

CUptiResult cuptiGetVersion(uint32_t *version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp) {
  *timestamp = getNanoseconds();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS"
          : result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
              ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
              : "CUPTI_ERROR";
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete) {
  getTracing().request = request;
  getTracing().complete = complete;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (hasOption("no-cupti"))
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  Tracing &tracing = getTracing();
  std::lock_guard<std::mutex> lock(tracing.mutex);
  tracing.enabled.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  Tracing &tracing = getTracing();
  std::lock_guard<std::mutex> lock(tracing.mutex);
  tracing.enabled.erase(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  Tracing &tracing = getTracing();
  for (;;) {
    std::unique_lock<std::mutex> lock(tracing.mutex);
    if (tracing.pending.empty() || !tracing.request)
      return CUPTI_SUCCESS;
    uint8_t *buffer = nullptr;
    size_t size = 0, mostRecords = 0, used = 0, records = 0;
    tracing.request(&buffer, &size, &mostRecords);
    while (!tracing.pending.empty() &&
           (mostRecords == 0 || records < mostRecords) &&
           put(tracing.pending.front(), buffer, size, used)) {
      tracing.pending.pop_front();
      ++records;
    }
    lock.unlock();
    tracing.complete(nullptr, 0, buffer, size, used);
    if (records == 0)
      return CUPTI_ERROR_OUT_OF_MEMORY;
  }
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBytes,
                                       CUpti_Activity **record) {
  uint8_t *next = buffer;
  if (*record) {
    next = reinterpret_cast<uint8_t *>(*record);
    switch ((*record)->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      next += sizeof(CUpti_ActivityMemcpy6);
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      next += sizeof(CUpti_ActivityMemset4);
      break;
    default:
      next += sizeof(CUpti_ActivityKernel10);
      break;
    }
  }
  if (next >= buffer + validBytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity *>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t,
                                              size_t *dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                           CUpti_CallbackFunc callback, void *data) {
  Tracing &tracing = getTracing();
  std::lock_guard<std::mutex> lock(tracing.mutex);
  tracing.callback = callback;
  tracing.callbackData = data;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(uintptr_t(1));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  getTracing().callback = nullptr;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t, CUpti_SubscriberHandle,
                              CUpti_CallbackDomain) {
  return CUPTI_SUCCESS;
}

// There are no counters: every way to them is closed as it is in a container
// without the permission.
#define D2K_FAKE_NO_COUNTERS(name, parameters)                                 \
  CUptiResult name(parameters *) { return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES; }

D2K_FAKE_NO_COUNTERS(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params)
D2K_FAKE_NO_COUNTERS(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerGetCounterAvailability,
                     CUpti_Profiler_GetCounterAvailability_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerEnable,
                     CUpti_RangeProfiler_Enable_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerDisable,
                     CUpti_RangeProfiler_Disable_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerSetConfig,
                     CUpti_RangeProfiler_SetConfig_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerPushRange,
                     CUpti_RangeProfiler_PushRange_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerPopRange,
                     CUpti_RangeProfiler_PopRange_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerDecodeData,
                     CUpti_RangeProfiler_DecodeData_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerGetCounterDataSize,
                     CUpti_RangeProfiler_GetCounterDataSize_Params)
D2K_FAKE_NO_COUNTERS(cuptiRangeProfilerCounterDataImageInitialize,
                     CUpti_RangeProfiler_CounterDataImage_Initialize_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostInitialize,
                     CUpti_Profiler_Host_Initialize_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostConfigAddMetrics,
                     CUpti_Profiler_Host_ConfigAddMetrics_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostGetConfigImageSize,
                     CUpti_Profiler_Host_GetConfigImageSize_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostGetConfigImage,
                     CUpti_Profiler_Host_GetConfigImage_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostGetNumOfPasses,
                     CUpti_Profiler_Host_GetNumOfPasses_Params)
D2K_FAKE_NO_COUNTERS(cuptiProfilerHostEvaluateToGpuValues,
                     CUpti_Profiler_Host_EvaluateToGpuValues_Params)

} // extern "C"
