// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range profiler (CUPTI user's guide, "Range Profiling API"): the host
// side turns metrics into a configuration and counter data into values, the
// target side collects. Every structure starts with its own size.

#include "RangeProfiler.h"

#include <cmath>
#include <iterator>

using namespace d2k;
using namespace d2k::runner;

namespace {
struct Counter {
  const char *name;
  const char *metric;
  const char *meaning;
};
} // namespace

static const Counter kCounters[] = {
#define D2K_COUNTER(name, metric, meaning) {name, metric, meaning},
#include "Counters.def"
};

std::string_view runner::getCounterMeaning(std::string_view name) {
  for (const Counter &counter : kCounters)
    if (name == counter.name)
      return counter.meaning;
  return {};
}

/// A parameter structure of CUPTI, zeroed, with its size in place.
template <typename T>
static T makeParameters(size_t size) {
  T parameters = {};
  parameters.structSize = size;
  return parameters;
}
#define D2K_PARAMETERS(type) makeParameters<type>(type##_STRUCT_SIZE)

Result<std::unique_ptr<RangeProfiler>>
RangeProfiler::create(const Cupti &cupti, CUcontext context, unsigned device) {
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler(cupti));
  if (Result<void> done = profiler->configure(context, device); !done)
    return forwardFailure(std::move(done));
  return profiler;
}

RangeProfiler::~RangeProfiler() {
  if (target) {
    auto disable = D2K_PARAMETERS(CUpti_RangeProfiler_Disable_Params);
    disable.pRangeProfilerObject = target;
    cupti.cuptiRangeProfilerDisable(&disable);
  }
  if (host) {
    auto release = D2K_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params);
    release.pHostObject = host;
    cupti.cuptiProfilerHostDeinitialize(&release);
  }
}

Result<void> RangeProfiler::configure(CUcontext context, unsigned device) {
  auto initialize = D2K_PARAMETERS(CUpti_Profiler_Initialize_Params);
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerInitialize(&initialize), "start the profiler");
      !done)
    return done;
  auto chip = D2K_PARAMETERS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = device;
  if (Result<void> done = cupti.check(cupti.cuptiDeviceGetChipName(&chip),
                                      "find the name of the chip");
      !done)
    return done;

  // Which counters this machine lets us have; empty is taken as all.
  std::vector<uint8_t> availability;
  auto available = D2K_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params);
  available.ctx = context;
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerGetCounterAvailability(&available),
                      "ask which counters there are");
      !done)
    return done;
  availability.resize(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = availability.data();
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerGetCounterAvailability(&available),
                      "ask which counters there are");
      !done)
    return done;

  auto open = D2K_PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
  open.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  open.pChipName = chip.pChipName;
  open.pCounterAvailabilityImage = availability.data();
  if (Result<void> done = cupti.check(cupti.cuptiProfilerHostInitialize(&open),
                                      "prepare counters for this chip");
      !done)
    return done;
  host = open.pHostObject;

  // One by one, so that a counter that a chip lacks costs only itself.
  std::vector<const char *> metrics;
  for (size_t i = 0; i != std::size(kCounters); ++i) {
    const char *metric = kCounters[i].metric;
    auto add = D2K_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host;
    add.ppMetricNames = &metric;
    add.numMetrics = 1;
    if (cupti.cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS)
      continue;
    counters.push_back(i);
    metrics.push_back(metric);
  }
  if (counters.empty())
    return fail(FailureKind::Environment,
                "CUPTI has none of the counters for the chip " +
                    std::string(chip.pChipName));

  auto size = D2K_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host;
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerHostGetConfigImageSize(&size),
                      "configure counters");
      !done)
    return done;
  config.resize(size.configImageSize);
  auto image = D2K_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host;
  image.configImageSize = config.size();
  image.pConfigImage = config.data();
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerHostGetConfigImage(&image), "configure counters");
      !done)
    return done;
  auto count = D2K_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  count.configImageSize = config.size();
  count.pConfigImage = config.data();
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerHostGetNumOfPasses(&count), "count the passes");
      !done)
    return done;
  passes = unsigned(count.numOfPasses);

  auto enable = D2K_PARAMETERS(CUpti_RangeProfiler_Enable_Params);
  enable.ctx = context;
  if (Result<void> done = cupti.check(cupti.cuptiRangeProfilerEnable(&enable),
                                      "use the GPU's counters");
      !done)
    return done;
  target = enable.pRangeProfilerObject;

  auto data = D2K_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  data.pRangeProfilerObject = target;
  data.pMetricNames = metrics.data();
  data.numMetrics = metrics.size();
  data.maxNumOfRanges = 1;
  data.maxNumRangeTreeNodes = 1;
  if (Result<void> done =
          cupti.check(cupti.cuptiRangeProfilerGetCounterDataSize(&data),
                      "make room for counters");
      !done)
    return done;
  counterData.resize(data.counterDataSize);
  return {};
}

Result<CounterValues>
RangeProfiler::measure(const std::function<Result<void>()> &prepare,
                       const std::function<Result<void>()> &call) {
  auto clear =
      D2K_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  clear.pRangeProfilerObject = target;
  clear.counterDataSize = counterData.size();
  clear.pCounterData = counterData.data();
  if (Result<void> done = cupti.check(
          cupti.cuptiRangeProfilerCounterDataImageInitialize(&clear),
          "clear the counters");
      !done)
    return forwardFailure(std::move(done));

  auto set = D2K_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params);
  set.pRangeProfilerObject = target;
  set.configSize = config.size();
  set.pConfig = config.data();
  set.counterDataImageSize = counterData.size();
  set.pCounterDataImage = counterData.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 1;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  if (Result<void> done = cupti.check(cupti.cuptiRangeProfilerSetConfig(&set),
                                      "set up the counters");
      !done)
    return forwardFailure(std::move(done));

  bool isDone = false;
  for (unsigned pass = 0; !isDone; ++pass) {
    // One more than CUPTI said is a fault of it, or of what runs beside it.
    if (pass > passes + 1)
      return fail(FailureKind::Environment,
                  "the counters are not complete after " +
                      std::to_string(pass) + " passes; " +
                      std::to_string(passes) + " were announced");
    if (Result<void> done = prepare(); !done)
      return forwardFailure(std::move(done));
    auto start = D2K_PARAMETERS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = target;
    if (Result<void> done = cupti.check(cupti.cuptiRangeProfilerStart(&start),
                                        "start counting");
        !done)
      return forwardFailure(std::move(done));
    auto push = D2K_PARAMETERS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = target;
    push.pRangeName = "call";
    if (Result<void> done = cupti.check(
            cupti.cuptiRangeProfilerPushRange(&push), "start counting");
        !done)
      return forwardFailure(std::move(done));
    Result<void> called = call();
    auto pop = D2K_PARAMETERS(CUpti_RangeProfiler_PopRange_Params);
    pop.pRangeProfilerObject = target;
    Result<void> popped =
        cupti.check(cupti.cuptiRangeProfilerPopRange(&pop), "stop counting");
    auto stop = D2K_PARAMETERS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = target;
    Result<void> stopped =
        cupti.check(cupti.cuptiRangeProfilerStop(&stop), "stop counting");
    for (Result<void> *result : {&called, &popped, &stopped})
      if (!*result)
        return forwardFailure(std::move(*result));
    isDone = stop.isAllPassSubmitted != 0;
  }

  auto decode = D2K_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params);
  decode.pRangeProfilerObject = target;
  if (Result<void> done = cupti.check(
          cupti.cuptiRangeProfilerDecodeData(&decode), "decode the counters");
      !done)
    return forwardFailure(std::move(done));

  std::vector<const char *> metrics;
  for (size_t index : counters)
    metrics.push_back(kCounters[index].metric);
  std::vector<double> values(metrics.size(), std::nan(""));
  auto evaluate =
      D2K_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  evaluate.pHostObject = host;
  evaluate.pCounterDataImage = counterData.data();
  evaluate.counterDataImageSize = counterData.size();
  evaluate.rangeIndex = 0;
  evaluate.ppMetricNames = metrics.data();
  evaluate.numMetrics = metrics.size();
  evaluate.pMetricValues = values.data();
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate),
                      "evaluate the counters");
      !done)
    return forwardFailure(std::move(done));
  CounterValues result;
  for (size_t i = 0; i != counters.size(); ++i)
    if (std::isfinite(values[i]))
      result.emplace_back(kCounters[counters[i]].name, values[i]);
  return result;
}
