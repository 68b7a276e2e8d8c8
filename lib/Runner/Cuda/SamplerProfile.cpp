// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profile of a call: what was launched, and the hardware counters.

#include "RangeProfiler.h"
#include "Sampler.h"
#include "SamplerRank.h"

using namespace d2k;
using namespace d2k::runner;

template <typename T>
static json::Array toArray(const T (&values)[3]) {
  return {int64_t(values[0]), int64_t(values[1]), int64_t(values[2])};
}

Result<json::Value> Sampler::measureCounters(unsigned set) {
  if (!wantCounters)
    return fail(FailureKind::Environment, "counters were not asked for");
  if (ranks.size() > 1)
    return fail(FailureKind::Environment, "counters are read on one GPU only");
  Result<const Cupti *> cupti = Cupti::load();
  if (!cupti)
    return forwardFailure(std::move(cupti));
  Rank &rank = *ranks.front();
  Result<std::unique_ptr<RangeProfiler>> profiler = RangeProfiler::create(
      **cupti, rank.target.context, unsigned(rank.target.device));
  if (!profiler)
    return forwardFailure(std::move(profiler));
  Result<CounterValues> values = (*profiler)->measure(
      [&]() -> Result<void> {
        Result<void> done =
            rank.operations->readFlush(rank.flush, rank.flushBytes);
        return done ? synchronize() : done;
      },
      [&]() -> Result<void> {
        Result<void> done = call(rank, set);
        return done ? synchronize() : done;
      });
  if (!values)
    return forwardFailure(std::move(values));
  json::Object counters;
  for (const auto &[name, value] : *values)
    counters.append(name, value);
  return json::Value(std::move(counters));
}

Result<json::Value> Sampler::profile(unsigned set) {
  if (Result<std::vector<Activity>> before = activities.take(); !before)
    return forwardFailure(std::move(before));
  Result<void> done = onRanks([&](Rank &rank) -> Result<void> {
    Result<void> called = call(rank, set);
    // Ends the records of the call: takeActivities waits for it.
    if (called)
      called = rank.operations->readClocks(rank.clocks);
    return called ? synchronize() : called;
  });
  if (!done)
    return forwardFailure(std::move(done));
  Result<std::vector<Activity>> ran = takeActivities(/*harness=*/1);
  if (!ran)
    return forwardFailure(std::move(ran));

  json::Array launches;
  for (const Activity &activity : *ran) {
    if (activity.kind != ActivityKind::Kernel || isHarness(activity))
      continue;
    const LaunchShape &shape = activity.shape;
    launches.push_back(json::Object{
        {"kernel", activity.name},
        {"module", attribute(activity.name)},
        {"device", int64_t(activity.device)},
        {"grid", toArray(shape.grid)},
        {"block", toArray(shape.block)},
        {"cluster", toArray(shape.cluster)},
        {"registers", int64_t(shape.registers)},
        {"static_shared_bytes", int64_t(shape.staticSharedBytes)},
        {"dynamic_shared_bytes", int64_t(shape.dynamicSharedBytes)},
        {"local_bytes_per_thread", int64_t(shape.localBytesPerThread)},
        {"ns", int64_t(activity.end - activity.start)}});
  }
  json::Object result{{"launches", std::move(launches)}};

  // CUPTI's records and counters are not taken at once.
  if (Result<void> paused = activities.pause(); !paused)
    return forwardFailure(std::move(paused));
  Result<json::Value> counters = measureCounters(set);
  if (Result<void> resumed = activities.resume(); !resumed)
    return forwardFailure(std::move(resumed));
  if (counters) {
    result.append("counters", std::move(*counters));
  } else {
    // A call that fails is not a missing permission.
    if (counters.error().kind != FailureKind::Environment)
      return counters;
    result.append("counters_unavailable", counters.error().message);
  }
  return json::Value(std::move(result));
}
