// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples and batches.

#include "Sampler.h"

#include "SamplerRank.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <thread>

using namespace d2k;
using namespace d2k::runner;

/// The flush buffer has at least this size, and twice the L2.
static constexpr uint64_t kLeastFlushBytes = uint64_t(128) << 20;
/// The GPU spins while the host enqueues: this, and twice what the discarded
/// call took for each call; a call that waits for the GPU does not stop it
/// for longer than the last.
static constexpr double kEnqueueNs = 15000;
static constexpr double kEnqueueNsPerCall = 6000;
static constexpr double kMostEnqueueNs = 3e6;
/// Two pairs of words for readClocks.
static constexpr uint64_t kClockBytes = 32;
/// NVML is asked again after this: asking takes longer than a short call.
static constexpr auto kNvmlPeriod = std::chrono::milliseconds(20);

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

Result<void> Sampler::startTracing() {
  Result<const Cupti *> cupti = Cupti::load();
  if (!cupti)
    return forwardFailure(std::move(cupti));
  if (Result<ActivityCollector *> started = ActivityCollector::start(**cupti);
      !started)
    return forwardFailure(std::move(started));
  if (Result<ModuleCollector *> started = ModuleCollector::start(**cupti);
      !started)
    return forwardFailure(std::move(started));
  return {};
}

Sampler::Sampler(const CudaDriver &driver, ActivityCollector &activities,
                 ModuleCollector &modules)
    : driver(driver), activities(activities), modules(modules) {}

Sampler::~Sampler() {
  for (std::unique_ptr<Rank> &rank : ranks) {
    if (driver.cuCtxSetCurrent(rank->target.context) != CUDA_SUCCESS)
      continue;
    rank->operations.reset();
    for (CUdeviceptr memory : {rank->flush, rank->clocks})
      if (memory)
        driver.cuMemFree(memory);
    for (CUevent event : {rank->begin, rank->end})
      if (event)
        driver.cuEventDestroy(event);
  }
  if (signal &&
      driver.cuCtxSetCurrent(ranks.front()->target.context) == CUDA_SUCCESS)
    driver.cuMemFree(signal);
}

Result<std::unique_ptr<Sampler>> Sampler::create(const CudaDriver &driver,
                                                 std::vector<RankContext> ranks,
                                                 bool wantCounters) {
  Result<const Cupti *> cupti = Cupti::load();
  if (!cupti)
    return forwardFailure(std::move(cupti));
  Result<ActivityCollector *> activities = ActivityCollector::start(**cupti);
  if (!activities)
    return forwardFailure(std::move(activities));
  Result<ModuleCollector *> modules = ModuleCollector::start(**cupti);
  if (!modules)
    return forwardFailure(std::move(modules));
  std::unique_ptr<Sampler> sampler(
      new Sampler(driver, **activities, **modules));
  sampler->wantCounters = wantCounters;
  for (RankContext &rank : ranks)
    if (Result<void> done = sampler->addRank(std::move(rank)); !done)
      return forwardFailure(std::move(done));
  return sampler;
}

Result<void> Sampler::setSubmission(const std::string &path) {
  attribution.clear();
  return modules.setSubmission(path);
}

std::vector<ModuleImage> Sampler::takeModuleImages() const {
  return modules.getImages();
}

double Sampler::getBusySeconds() const { return activities.getBusySeconds(); }

Result<void> Sampler::makeCurrent(const Rank &rank) const {
  return driver.check(driver.cuCtxSetCurrent(rank.target.context),
                      "use the device");
}

Result<void> Sampler::addRank(RankContext context) {
  auto rank = std::make_unique<Rank>();
  rank->target = std::move(context);
  Rank &added = *rank;
  // In the list first: the destructor frees what was made when a step fails.
  ranks.push_back(std::move(rank));
  if (Result<void> done = makeCurrent(added); !done)
    return done;
  Result<std::unique_ptr<DeviceOps>> operations =
      DeviceOps::create(driver, added.target.context, added.target.stream);
  if (!operations)
    return forwardFailure(std::move(operations));
  added.operations = std::move(*operations);

  int l2Bytes = 0;
  Result<void> done = driver.check(
      driver.cuDeviceGetAttribute(&l2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                                  added.target.device),
      "ask for the size of the L2");
  added.flushBytes = std::max(kLeastFlushBytes, 2 * uint64_t(l2Bytes));
  if (done)
    done = driver.check(driver.cuMemAlloc(&added.flush, added.flushBytes),
                        "allocate the buffer that flushes the L2");
  if (done)
    done = driver.check(driver.cuMemsetD8Async(added.flush, 0, added.flushBytes,
                                               added.target.stream),
                        "clear the buffer that flushes the L2");
  if (done)
    done = driver.check(driver.cuMemAlloc(&added.clocks, kClockBytes),
                        "allocate room for clocks");
  for (CUevent *event : {&added.begin, &added.end})
    if (done)
      done = driver.check(driver.cuEventCreate(event, CU_EVENT_DEFAULT),
                          "make an event");
  if (done && ranks.size() == 2) {
    // The barrier's counter is on the first GPU; the others reach it.
    done = makeCurrent(*ranks.front());
    if (done)
      done = driver.check(driver.cuMemAlloc(&signal, kClockBytes),
                          "allocate the barrier");
    if (done)
      done = driver.check(driver.cuMemsetD8Async(signal, 0, kClockBytes,
                                                 ranks.front()->target.stream),
                          "clear the barrier");
    if (done)
      done = driver.check(driver.cuCtxSynchronize(), "clear the barrier");
  }
  if (done && ranks.size() >= 2) {
    done = makeCurrent(added);
    CUresult peers =
        driver.cuCtxEnablePeerAccess(ranks.front()->target.context, 0);
    if (done && peers != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
      done = driver.check(peers, "reach the memory of another GPU");
  }
  if (done)
    done = driver.check(driver.cuCtxSynchronize(), "set up the device");
  if (!done)
    return done;

  // Without NVML there are no reasons of throttling, and samples say so.
  char busId[32] = {};
  if (driver.cuDeviceGetPCIBusId(busId, sizeof(busId), added.target.device) ==
      CUDA_SUCCESS) {
    Result<NvmlDevice> nvml = NvmlDevice::open(busId);
    if (nvml) {
      added.nvml = *nvml;
      if (Result<unsigned> clock = nvml->getMaxSmClock())
        added.maxClockMHz = *clock;
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Result<void> Sampler::onRanks(const std::function<Result<void>(Rank &)> &work) {
  auto run = [&](Rank &rank) -> Result<void> {
    if (Result<void> done = makeCurrent(rank); !done)
      return done;
    return work(rank);
  };
  if (ranks.size() == 1)
    return run(*ranks.front());
  std::vector<Result<void>> results(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i != ranks.size(); ++i)
    threads.emplace_back([&, i] { results[i] = run(*ranks[i]); });
  for (std::thread &thread : threads)
    thread.join();
  for (Result<void> &result : results)
    if (!result)
      return std::move(result);
  return {};
}

Result<void> Sampler::call(Rank &rank, unsigned set) {
  int error = rank.target.call(set);
  if (error == 0)
    return {};
  // Values below 1000 are the same for the runtime and the driver.
  return fail(FailureKind::Input, "the entry function returned " +
                                      std::to_string(error) + ": " +
                                      driver.describe(CUresult(error)));
}

Result<void> Sampler::synchronize() {
  CUresult result = driver.cuCtxSynchronize();
  if (result == CUDA_SUCCESS)
    return {};
  return fail(FailureKind::Input, "the work of a call failed on the device: " +
                                      driver.describe(result));
}

Result<void> Sampler::enqueueSample(Rank &rank, const SampleRequest &request) {
  Result<void> done = rank.operations->readClocks(rank.clocks);
  if (done)
    done = rank.operations->spin(uint64_t(std::min(
        kEnqueueNs + double(request.sets.size()) *
                         std::max(kEnqueueNsPerCall, 2 * rank.enqueueNs),
        kMostEnqueueNs)));
  if (done && request.flush)
    done = rank.operations->readFlush(rank.flush, rank.flushBytes);
  if (done && ranks.size() > 1)
    done = rank.operations->barrier(signal, unsigned(ranks.size()), epoch);
  if (done)
    done = driver.check(driver.cuEventRecord(rank.begin, rank.target.stream),
                        "record an event");
  HostClock::time_point start = HostClock::now();
  for (unsigned set : request.sets)
    if (done)
      done = call(rank, set);
  if (done)
    done = driver.check(driver.cuEventRecord(rank.end, rank.target.stream),
                        "record an event");
  if (done)
    done = rank.operations->readClocks(rank.clocks + kClockBytes / 2);
  if (done)
    done = synchronize();
  rank.hostNs =
      std::chrono::duration<double, std::nano>(HostClock::now() - start)
          .count();
  return done;
}

Result<std::vector<Activity>> Sampler::takeActivities(size_t harness) {
  std::vector<Activity> all;
  // The work has ended, so that its records are there; a moment is allowed for
  // CUPTI's own bookkeeping.
  for (unsigned attempt = 0; attempt != 100; ++attempt) {
    Result<std::vector<Activity>> some = activities.take();
    if (!some)
      return forwardFailure(std::move(some));
    all.insert(all.end(), std::make_move_iterator(some->begin()),
               std::make_move_iterator(some->end()));
    size_t found = size_t(std::count_if(all.begin(), all.end(), isHarness));
    if (found >= harness * ranks.size())
      break;
    std::this_thread::sleep_for(std::chrono::microseconds(50 * attempt));
  }
  std::sort(all.begin(), all.end(), isCalledBefore);
  return all;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

const std::string &Sampler::attribute(const std::string &kernel) {
  auto [at, isNew] = attribution.try_emplace(kernel);
  if (isNew)
    at->second = modules.attribute(kernel);
  return at->second;
}

/// MHz between the two readings of a sample; 0 when they make no sense, as
/// they do when the two ran on different SMs.
double Sampler::readSmClock(Rank &rank) {
  uint64_t words[4] = {}; // Timer and clock, before and after.
  static_assert(sizeof(words) == kClockBytes);
  if (driver.cuMemcpyDtoH(words, rank.clocks, sizeof(words)) != CUDA_SUCCESS)
    return 0;
  double nanoseconds = double(words[2] - words[0]);
  double clocks = double(words[3] - words[1]);
  if (words[2] <= words[0] || words[3] <= words[1])
    return 0;
  double mhz = clocks / nanoseconds * 1000;
  double most = rank.maxClockMHz > 0 ? 1.05 * rank.maxClockMHz : 5000;
  return mhz >= 50 && mhz <= most ? mhz : 0;
}

Result<void> Sampler::readRank(Rank &rank,
                               const std::vector<Activity> &activities,
                               const SampleRequest &request,
                               SampleRecord &record) {
  double calls = double(request.sets.size());
  ActivityList own = selectDevice(activities, uint32_t(rank.target.device));
  std::vector<std::string_view> before = {kReadClocks, kSpin};
  if (request.flush)
    before.push_back(kReadFlush);
  if (ranks.size() > 1)
    before.push_back(kBarrier);
  const std::string_view after[] = {kReadClocks};
  if (!stripHarness(own, before, after))
    return fail(FailureKind::Environment,
                "CUPTI lost activity records of a sample: " +
                    std::to_string(own.size()) + " came, " +
                    std::to_string(this->activities.getDroppedRecords()) +
                    " were dropped since the start");
  double span = getSpan(own) / calls;
  record.rankSpanNs.push_back(span);
  record.spanNs = std::max(record.spanNs, span);
  record.hostNs = std::max(record.hostNs, rank.hostNs / calls);
  float milliseconds = 0;
  if (Result<void> done = driver.check(
          driver.cuEventElapsedTime(&milliseconds, rank.begin, rank.end),
          "read events");
      !done)
    return done;
  record.eventNs = std::max(record.eventNs, milliseconds * 1e6 / calls);

  std::map<std::pair<std::string, std::string>, uint64_t> uses;
  for (const Activity *activity : own) {
    bool isKernel = activity->kind == ActivityKind::Kernel;
    std::string name = isKernel                               ? activity->name
                       : activity->kind == ActivityKind::Copy ? "[memcpy]"
                                                              : "[memset]";
    std::string module = isKernel ? attribute(activity->name) : "driver";
    ++uses[{std::move(name), std::move(module)}];
  }
  // Those of all ranks, in one list that is sorted by name.
  for (const KernelUse &use : record.kernels)
    uses[{use.name, use.module}] += use.count;
  record.kernels.clear();
  for (const auto &[key, count] : uses)
    record.kernels.push_back({key.first, key.second, count});

  double clock = readSmClock(rank);
  if (clock > 0)
    record.smClockMHz =
        record.smClockMHz > 0 ? std::min(record.smClockMHz, clock) : clock;
  else
    record.problems.emplace_back("the SM clock could not be read");
  if (!rank.nvml) {
    record.problems.emplace_back("no NVML: throttling is not seen");
    return {};
  }
  HostClock::time_point now = HostClock::now();
  if (now - rank.nvmlTime >= kNvmlPeriod) {
    rank.nvmlTime = now;
    Result<uint64_t> reasons = rank.nvml->getClockReasons();
    rank.clockReasons = reasons ? *reasons : 0;
  }
  record.throttleReasons |= rank.clockReasons;
  return {};
}

Result<SampleRecord> Sampler::sample(const SampleRequest &request) {
  ++epoch;
  // On several GPUs a call may wait for its peers, so that all must be
  // enqueued before any is waited for: a thread each.
  Result<void> done = onRanks([&](Rank &rank) -> Result<void> {
    Result<void> called;
    if (request.discardSet) {
      HostClock::time_point start = HostClock::now();
      called = call(rank, *request.discardSet);
      rank.enqueueNs =
          std::chrono::duration<double, std::nano>(HostClock::now() - start)
              .count();
    }
    if (called)
      called = synchronize();
    // Not to be had everywhere; then nothing persists either.
    driver.cuCtxResetPersistingL2Cache();
    return called;
  });
  if (!done)
    return forwardFailure(std::move(done));
  if (Result<std::vector<Activity>> discarded = activities.take(); !discarded)
    return forwardFailure(std::move(discarded));
  done = onRanks([&](Rank &rank) { return enqueueSample(rank, request); });
  if (!done)
    return forwardFailure(std::move(done));
  size_t harness = 3 + (request.flush ? 1 : 0) + (ranks.size() > 1 ? 1 : 0);
  Result<std::vector<Activity>> ran = takeActivities(harness);
  if (!ran)
    return forwardFailure(std::move(ran));
  SampleRecord record;
  for (std::unique_ptr<Rank> &rank : ranks) {
    if (Result<void> current = makeCurrent(*rank); !current)
      return forwardFailure(std::move(current));
    if (Result<void> read = readRank(*rank, *ran, request, record); !read)
      return forwardFailure(std::move(read));
  }
  if (ranks.size() == 1)
    record.rankSpanNs.clear();
  return record;
}

Result<BatchRecord> Sampler::batch(const BatchRequest &request) {
  // Collecting records takes milliseconds, which the clock outside must not
  // see.
  if (request.rounds == 0)
    return collectBatch();
  if (Result<std::vector<Activity>> discarded = activities.take(); !discarded)
    return forwardFailure(std::move(discarded));
  lastBatch = request;
  ++epoch;
  Result<void> done = onRanks([&](Rank &rank) -> Result<void> {
    if (ranks.size() > 1)
      if (Result<void> met =
              rank.operations->barrier(signal, unsigned(ranks.size()), epoch);
          !met)
        return met;
    size_t next = 0;
    for (unsigned round = 0; round != request.rounds; ++round) {
      Result<void> enqueued;
      if (request.spinNs > 0)
        enqueued = rank.operations->spin(request.spinNs);
      if (enqueued && request.flush)
        enqueued = rank.operations->readFlush(rank.flush, rank.flushBytes);
      for (unsigned i = 0; request.call && i != request.callsPerRound; ++i)
        if (enqueued)
          enqueued = call(rank, request.sets[next++ % request.sets.size()]);
      if (!enqueued)
        return enqueued;
    }
    return synchronize();
  });
  if (!done)
    return forwardFailure(std::move(done));
  return BatchRecord();
}

Result<BatchRecord> Sampler::collectBatch() {
  BatchRecord record;
  size_t harness = (lastBatch.flush ? lastBatch.rounds : 0) +
                   (lastBatch.spinNs > 0 ? lastBatch.rounds : 0) +
                   (ranks.size() > 1 ? 1 : 0);
  Result<std::vector<Activity>> ran = takeActivities(harness);
  if (!ran)
    return forwardFailure(std::move(ran));
  if (!lastBatch.call || lastBatch.rounds == 0 || lastBatch.callsPerRound == 0)
    return record;
  for (std::unique_ptr<Rank> &rank : ranks) {
    ActivityList own = selectDevice(*ran, uint32_t(rank->target.device));
    double span = getRoundSpan(own, lastBatch.rounds, lastBatch.flush);
    record.spanNsPerCall =
        std::max(record.spanNsPerCall, span / lastBatch.callsPerRound);
  }
  return record;
}
