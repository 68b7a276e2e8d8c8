// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range profiler (CUPTI user's guide, "Range Profiling API"): the host
// side turns metrics into a configuration and counter data into values, the
// target side collects. Every structure starts with its own size.

#include "RangeProfiler.h"

#include <cmath>
#include <iterator>
#include <map>

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
  Result<const Host *> host = getHost(cupti, context, device);
  if (!host)
    return forwardFailure(std::move(host));
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler(cupti, **host));
  if (Result<void> done = profiler->enable(context); !done)
    return forwardFailure(std::move(done));
  return profiler;
}

RangeProfiler::~RangeProfiler() {
  if (!target)
    return;
  auto disable = D2K_PARAMETERS(CUpti_RangeProfiler_Disable_Params);
  disable.pRangeProfilerObject = target;
  cupti.cuptiRangeProfilerDisable(&disable);
}

Result<const RangeProfiler::Host *>
RangeProfiler::getHost(const Cupti &cupti, CUcontext context, unsigned device) {
  // Kept until the process ends, as CUPTI's own tables are.
  static auto *hosts = new std::map<unsigned, Result<Host>>;
  auto at = hosts->find(device);
  if (at == hosts->end())
    at = hosts->emplace(device, makeHost(cupti, context, device)).first;
  if (!at->second)
    return tl::unexpected<Failure>(at->second.error());
  return &*at->second;
}

Result<RangeProfiler::Host> RangeProfiler::makeHost(const Cupti &cupti,
                                                    CUcontext context,
                                                    unsigned device) {
  auto initialize = D2K_PARAMETERS(CUpti_Profiler_Initialize_Params);
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerInitialize(&initialize), "start the profiler");
      !done)
    return forwardFailure(std::move(done));
  auto chip = D2K_PARAMETERS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = device;
  if (Result<void> done = cupti.check(cupti.cuptiDeviceGetChipName(&chip),
                                      "find the name of the chip");
      !done)
    return forwardFailure(std::move(done));

  // Which counters this machine lets us have; empty is taken as all.
  std::vector<uint8_t> availability;
  auto available = D2K_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params);
  available.ctx = context;
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerGetCounterAvailability(&available),
                      "ask which counters there are");
      !done)
    return forwardFailure(std::move(done));
  availability.resize(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = availability.data();
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerGetCounterAvailability(&available),
                      "ask which counters there are");
      !done)
    return forwardFailure(std::move(done));

  auto open = D2K_PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
  open.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  open.pChipName = chip.pChipName;
  open.pCounterAvailabilityImage = availability.data();
  if (Result<void> done = cupti.check(cupti.cuptiProfilerHostInitialize(&open),
                                      "prepare counters for this chip");
      !done)
    return forwardFailure(std::move(done));
  Host host;
  host.object = open.pHostObject;

  // One by one, so that a counter that a chip lacks costs only itself.
  for (size_t i = 0; i != std::size(kCounters); ++i) {
    const char *metric = kCounters[i].metric;
    auto add = D2K_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host.object;
    add.ppMetricNames = &metric;
    add.numMetrics = 1;
    if (cupti.cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS)
      continue;
    host.counters.push_back(i);
    host.metrics.push_back(metric);
  }
  if (host.counters.empty())
    return fail(FailureKind::Environment,
                "CUPTI has none of the counters for the chip " +
                    std::string(chip.pChipName));

  auto size = D2K_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host.object;
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerHostGetConfigImageSize(&size),
                      "configure counters");
      !done)
    return forwardFailure(std::move(done));
  host.config.resize(size.configImageSize);
  auto image = D2K_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host.object;
  image.configImageSize = host.config.size();
  image.pConfigImage = host.config.data();
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerHostGetConfigImage(&image), "configure counters");
      !done)
    return forwardFailure(std::move(done));
  auto count = D2K_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  count.configImageSize = host.config.size();
  count.pConfigImage = host.config.data();
  if (Result<void> done = cupti.check(
          cupti.cuptiProfilerHostGetNumOfPasses(&count), "count the passes");
      !done)
    return forwardFailure(std::move(done));
  host.passes = unsigned(count.numOfPasses);
  return host;
}

Result<void> RangeProfiler::enable(CUcontext context) {
  auto enable = D2K_PARAMETERS(CUpti_RangeProfiler_Enable_Params);
  enable.ctx = context;
  if (Result<void> done = cupti.check(cupti.cuptiRangeProfilerEnable(&enable),
                                      "use the GPU's counters");
      !done)
    return done;
  target = enable.pRangeProfilerObject;

  auto data = D2K_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  data.pRangeProfilerObject = target;
  data.pMetricNames = const_cast<const char **>(host.metrics.data());
  data.numMetrics = host.metrics.size();
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
  set.configSize = host.config.size();
  set.pConfig = host.config.data();
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
    if (pass > host.passes + 1)
      return fail(FailureKind::Environment,
                  "the counters are not complete after " +
                      std::to_string(pass) + " passes; " +
                      std::to_string(host.passes) + " were announced");
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

  std::vector<double> values(host.metrics.size(), std::nan(""));
  auto evaluate =
      D2K_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  evaluate.pHostObject = host.object;
  evaluate.pCounterDataImage = counterData.data();
  evaluate.counterDataImageSize = counterData.size();
  evaluate.rangeIndex = 0;
  evaluate.ppMetricNames = const_cast<const char **>(host.metrics.data());
  evaluate.numMetrics = host.metrics.size();
  evaluate.pMetricValues = values.data();
  if (Result<void> done =
          cupti.check(cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate),
                      "evaluate the counters");
      !done)
    return forwardFailure(std::move(done));
  CounterValues result;
  for (size_t i = 0; i != host.counters.size(); ++i)
    if (std::isfinite(values[i]))
      result.emplace_back(kCounters[host.counters[i]].name, values[i]);
  return result;
}
