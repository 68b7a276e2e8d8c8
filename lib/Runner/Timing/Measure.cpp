// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The measurement of one workload: warm-up, pilot, plan, blocks, extension,
// warm samples, clock D; and then what of it can be believed.

#include "d2k/Runner/Timing.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <random>

using namespace d2k;
using namespace d2k::runner;
using metrics::AbbaBlock;

SampleSource::~SampleSource() = default;

unsigned runner::planSets(uint64_t bytes, uint64_t l2Bytes) {
  unsigned least = bytes > uint64_t(8) << 30 ? 2 : 3;
  uint64_t wanted = 4 * l2Bytes / std::max<uint64_t>(bytes, 1) + 1;
  return unsigned(std::clamp<uint64_t>(wanted, least, 64));
}

std::optional<double> WorkloadTiming::getSpeedOfLight() const {
  if (!floor || cold.median <= 0)
    return std::nullopt;
  return floor->nanoseconds / cold.median;
}

//===----------------------------------------------------------------------===//
// Throttling
//===----------------------------------------------------------------------===//

namespace {
struct ThrottleReason {
  uint64_t mask;
  const char *name;
};
} // namespace

// nvmlClocksEventReasons of nvml.h. The others are idleness (1), clocks set by
// applications (2), the power limit (4), synchronised boost (0x10) and the
// display's clock (0x100): states in which a GPU works as it should.
static const ThrottleReason kThrottleReasons[] = {
    {0x8, "hw_slowdown"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
};

std::vector<std::string> runner::getThrottleNames(uint64_t reasons) {
  std::vector<std::string> names;
  for (const ThrottleReason &reason : kThrottleReasons)
    if (reasons & reason.mask)
      names.emplace_back(reason.name);
  return names;
}

/// The part of the memory's peak rate at which dirty lines are written back
/// beside reads, and the part of the L2 that may be dirty. On an H200, 3.6 of
/// 4.8 TB/s and 29 of 63 MB were seen.
static constexpr double kWriteBackPart = 0.7;
static constexpr double kDirtyPart = 0.5;

/// Batches of each kind for clock D, while it does not agree.
static constexpr unsigned kOutsideAttempts = 6;

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace {
class Measurement {
public:
  Measurement(SampleSource &source, const TimingConfig &config)
      : source(source), config(config), random(config.seed) {}

  Result<WorkloadTiming> run();

private:
  SampleRequest makeRequest(const std::vector<unsigned> &order, unsigned first,
                            bool flush) const;
  std::vector<unsigned> shuffleSets();
  Result<SampleRecord> take(Side side, SampleRequest request);
  Result<SampleRecord> sample(Side side, bool flush);
  std::vector<SampleRequest> planSamples();
  Result<void> measureBlocks(unsigned count);
  Result<void> warmUp();
  Result<void> measureWarm();
  Result<void> measureOutside();
  Result<double> timeBatch(const BatchRequest &request);
  unsigned affordableBlocks() const;

  void judgeSamples();
  void summarize();
  void reject(TimingState state, std::string reason);

  std::vector<SampleRecord> &recordsOf(Side side) {
    return side == Side::Baseline ? baseline : submission;
  }

  SampleSource &source;
  const TimingConfig &config;
  std::mt19937_64 random;
  /// Cold samples in the order in which they were taken.
  std::vector<SampleRecord> baseline, submission;
  std::vector<double> warmBaseline, warmSubmission;
  /// Of the last sample of each side.
  double lastSpanNs[2] = {0, 0};
  WorkloadTiming result;
};
} // namespace

/// The first fault stands: later ones may follow from it.
void Measurement::reject(TimingState state, std::string reason) {
  if (result.state != TimingState::Valid)
    return;
  result.state = state;
  result.reason = std::move(reason);
}

std::vector<unsigned> Measurement::shuffleSets() {
  std::vector<unsigned> order(config.sets);
  for (unsigned set = 0; set != config.sets; ++set)
    order[set] = set;
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// Each call takes a set of its own while there are enough, from place
/// \p first of the random \p order on.
SampleRequest Measurement::makeRequest(const std::vector<unsigned> &order,
                                       unsigned first, bool flush) const {
  SampleRequest request;
  request.flush = flush;
  unsigned calls = result.callsPerSample;
  for (unsigned call = 0; call != calls; ++call)
    request.sets.push_back(order[(first + call) % order.size()]);
  // Not the set of the first call, or the discarded call would warm it.
  request.discardSet = calls < order.size()
                           ? order[(first + calls) % order.size()]
                           : order.back();
  return request;
}

Result<SampleRecord> Measurement::sample(Side side, bool flush) {
  return take(side, makeRequest(shuffleSets(), 0, flush));
}

Result<SampleRecord> Measurement::take(Side side, SampleRequest request) {
  double &lastSpan = lastSpanNs[size_t(side)];
  if (lastSpan >= config.longCallNs)
    request.discardSet.reset();
  Result<SampleRecord> record = source.sample(side, request);
  if (!record)
    return record;
  lastSpan = record->spanNs;
  double calls = result.callsPerSample + (request.discardSet ? 1 : 0);
  result.gpuSeconds += (calls * record->spanNs + config.flushNs) * 1e-9;
  return record;
}

/// The next one, two or four cold samples: as many as there are sets for.
std::vector<SampleRequest> Measurement::planSamples() {
  unsigned each = result.callsPerSample + 1;
  unsigned count = config.sets / each >= 4   ? 4
                   : config.sets / each >= 2 ? 2
                                             : 1;
  std::vector<unsigned> order = shuffleSets();
  std::vector<SampleRequest> requests;
  for (unsigned i = 0; i != count; ++i)
    requests.push_back(makeRequest(order, i * each, /*flush=*/true));
  return requests;
}

Result<void> Measurement::measureBlocks(unsigned count) {
  while (result.blocks.size() < count) {
    AbbaBlock block;
    using Sample = std::pair<Side, double AbbaBlock::*>;
    const Sample abba[] = {{Side::Baseline, &AbbaBlock::baselineFirst},
                           {Side::Submission, &AbbaBlock::candidateFirst},
                           {Side::Submission, &AbbaBlock::candidateSecond},
                           {Side::Baseline, &AbbaBlock::baselineSecond}};
    const Sample baab[] = {{Side::Submission, &AbbaBlock::candidateFirst},
                           {Side::Baseline, &AbbaBlock::baselineFirst},
                           {Side::Baseline, &AbbaBlock::baselineSecond},
                           {Side::Submission, &AbbaBlock::candidateSecond}};
    // Which one comes first is drawn. The machine has periods of its own: on
    // an H200, 20 launches a sample made the inner two samples of every block
    // 1.5% slower, and a kernel slower than itself.
    bool isSwapped = random() % 2 != 0;
    std::vector<SampleRequest> announced;
    size_t next = 0;
    for (auto [side, member] : isSwapped ? baab : abba) {
      if (next == announced.size()) {
        announced = planSamples();
        next = 0;
        if (Result<void> done = source.announce(announced); !done)
          return done;
      }
      Result<SampleRecord> record = take(side, announced[next++]);
      if (!record)
        return forwardFailure(std::move(record));
      block.*member = record->spanNs;
      bool isIdle = record->spanNs <= 0 || record->kernels.empty();
      recordsOf(side).push_back(std::move(*record));
      if (isIdle) {
        reject(TimingState::Invalid, "a call of the " +
                                         std::string(getSideName(side)) +
                                         " did nothing on the GPU");
        return {};
      }
    }
    result.blocks.push_back(block);
    // Not beyond the time for a pilot of slow calls.
    if (result.blocks.size() >= config.leastBlocks &&
        result.gpuSeconds >= config.gpuSeconds)
      return {};
  }
  return {};
}

/// Blocks that fit in the GPU time, those that are done included.
unsigned Measurement::affordableBlocks() const {
  double each = result.gpuSeconds / std::max<double>(1, result.blocks.size());
  return unsigned(
      std::clamp(config.gpuSeconds / each, double(config.leastBlocks), 1e6));
}

/// An idle GPU's clock takes a while to rise: as long as the last samples do
/// not agree on it.
static bool isClockSteady(const std::vector<double> &clocks) {
  constexpr size_t kLast = 4;
  if (clocks.size() < kLast)
    return false;
  auto [least, most] = std::minmax_element(clocks.end() - kLast, clocks.end());
  // All are 0 where the clock cannot be read.
  return *most - *least <= 0.02 * *most;
}

/// Samples of each side that are thrown away, and the number of calls in a
/// sample from the shorter side: both sides get the same number, so that what
/// lies between calls burdens them alike.
Result<void> Measurement::warmUp() {
  std::vector<double> clocks;
  double shortest = 0;
  constexpr unsigned kMostRounds = 200;
  for (unsigned round = 0; round != kMostRounds; ++round) {
    shortest = std::numeric_limits<double>::infinity();
    for (Side side : {Side::Baseline, Side::Submission}) {
      Result<SampleRecord> record = sample(side, /*flush=*/true);
      if (!record)
        return forwardFailure(std::move(record));
      if (record->spanNs <= 0) {
        reject(TimingState::Invalid, "a call of the " +
                                         std::string(getSideName(side)) +
                                         " did nothing on the GPU");
        return {};
      }
      shortest = std::min(shortest, record->spanNs);
      clocks.push_back(record->smClockMHz);
    }
    if (isClockSteady(clocks) || result.gpuSeconds >= config.gpuSeconds / 4)
      break;
  }
  double calls = std::ceil(config.shortCallNs / shortest);
  result.callsPerSample =
      unsigned(std::clamp(calls, 1.0, double(config.maxCallsPerSample)));
  return {};
}

Result<void> Measurement::measureWarm() {
  double enough = result.gpuSeconds + config.gpuSeconds / 8;
  for (unsigned i = 0; i != config.warmSamples; ++i) {
    if (i >= config.leastWarmSamples && result.gpuSeconds >= enough)
      break;
    for (Side side : {Side::Baseline, Side::Submission}) {
      Result<SampleRecord> record = sample(side, /*flush=*/false);
      if (!record)
        return forwardFailure(std::move(record));
      if (record->spanNs > 0)
        (side == Side::Baseline ? warmBaseline : warmSubmission)
            .push_back(record->spanNs);
    }
  }
  return {};
}

/// Nanoseconds of clock D for one round of \p request.
Result<double> Measurement::timeBatch(const BatchRequest &request) {
  Result<std::pair<BatchRecord, double>> batch =
      source.batch(Side::Submission, request);
  if (!batch)
    return forwardFailure(std::move(batch));
  result.gpuSeconds += batch->second;
  if (request.call) {
    BatchRequest collect = request;
    collect.rounds = 0;
    Result<std::pair<BatchRecord, double>> record =
        source.batch(Side::Submission, collect);
    if (!record)
      return forwardFailure(std::move(record));
    result.insideNs = record->first.spanNsPerCall;
  }
  return batch->second * 1e9 / request.rounds;
}

/// Clock D: rounds like those of the samples, less the same rounds without the
/// calls. While the GPU spins and flushes the calls are enqueued, so that what
/// that costs is hidden.
Result<void> Measurement::measureOutside() {
  if (config.batchSeconds <= 0)
    return {};
  std::vector<double> spans;
  double launches = 0;
  for (const SampleRecord &record : submission)
    spans.push_back(record.spanNs);
  for (const KernelUse &kernel : submission.front().kernels)
    launches += double(kernel.count);
  double inside = metrics::median(spans);
  double calls = result.callsPerSample;

  BatchRequest request;
  request.callsPerRound = result.callsPerSample;
  request.spinNs = uint64_t(std::min(config.enqueueNs * (launches + 1), 5e6));
  double roundNs = double(request.spinNs) + config.flushNs + calls * inside;
  request.rounds = unsigned(
      std::clamp(std::ceil(config.batchSeconds * 1e9 / roundNs), 2.0, 20000.0));
  for (unsigned set = 0; set != config.sets; ++set)
    request.sets.push_back(set);
  BatchRequest flushOnly = request;
  flushOnly.call = false;

  metrics::BatchReading reading;
  reading.overheadNs = config.launchOverheadNs / calls;
  // What calls leave in the L2 is written back during the next flush, which
  // takes that much longer than a flush after a flush.
  if (config.work && config.peaks)
    reading.overheadNs +=
        std::min(config.work->writtenBytes,
                 kDirtyPart * config.machine.l2Bytes / calls) /
        (kWriteBackPart * config.peaks->memoryBytesPerNs);
  std::optional<std::string> disagreement;
  // A GPU that is shared, be it with the oracle, stops for milliseconds now and
  // then. The shortest of several batches has no such pause; work that a call
  // hides is in all of them.
  double shortestBoth = std::numeric_limits<double>::infinity();
  double shortestFlush = shortestBoth;
  for (unsigned attempt = 0; attempt != kOutsideAttempts; ++attempt) {
    Result<double> both = timeBatch(request);
    if (!both)
      return forwardFailure(std::move(both));
    Result<double> flush = timeBatch(flushOnly);
    if (!flush)
      return forwardFailure(std::move(flush));
    shortestBoth = std::min(shortestBoth, *both);
    shortestFlush = std::min(shortestFlush, *flush);
    result.outsideNs = (shortestBoth - shortestFlush) / calls;
    reading.outsideNs = result.outsideNs;
    reading.insideNs = result.insideNs;
    disagreement = metrics::findOutsideDisagreement(reading, config.clocks);
    // The records of the batch may be honest and those of the samples not.
    reading.insideNs = inside;
    if (!disagreement && inside < result.outsideNs)
      disagreement = metrics::findOutsideDisagreement(reading, config.clocks);
    if (!disagreement)
      return {};
  }
  reject(TimingState::Invalid, std::move(*disagreement));
  return {};
}

//===----------------------------------------------------------------------===//
// Judging
//===----------------------------------------------------------------------===//

static double medianClock(const std::vector<SampleRecord> &records) {
  std::vector<double> clocks;
  for (const SampleRecord &record : records)
    if (record.smClockMHz > 0)
      clocks.push_back(record.smClockMHz);
  return clocks.empty() ? 0 : metrics::median(clocks);
}

static TimeEstimate estimateTime(const std::vector<double> &spans) {
  metrics::Estimate estimate = metrics::estimateMedian(spans);
  TimeEstimate time;
  time.median = estimate.value;
  // Too few samples have no interval by order statistics; their range is the
  // honest thing to show.
  auto [least, most] = std::minmax_element(spans.begin(), spans.end());
  time.interval.low =
      std::isfinite(estimate.interval.low) ? estimate.interval.low : *least;
  time.interval.high =
      std::isfinite(estimate.interval.high) ? estimate.interval.high : *most;
  return time;
}

static std::string percent(double part) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.0f%%", 100 * part);
  return text;
}

/// Clocks, throttling and what ran, of all cold samples.
void Measurement::judgeSamples() {
  for (Side side : {Side::Submission, Side::Baseline}) {
    std::vector<metrics::ClockReading> readings;
    for (const SampleRecord &record : recordsOf(side))
      readings.push_back({record.spanNs, record.eventNs, record.hostNs});
    if (std::optional<std::string> why =
            metrics::findClockDisagreement(readings, config.clocks))
      reject(TimingState::Invalid,
             std::string(getSideName(side)) + ": " + *why);
  }

  std::map<std::string, unsigned> reasons;
  unsigned throttled = 0, total = 0, otherKernels = 0;
  std::map<std::string, unsigned> problems;
  for (Side side : {Side::Baseline, Side::Submission}) {
    for (const SampleRecord &record : recordsOf(side)) {
      ++total;
      std::vector<std::string> names = getThrottleNames(record.throttleReasons);
      throttled += !names.empty();
      for (const std::string &name : names)
        ++reasons[name];
      for (const std::string &problem : record.problems)
        ++problems[std::string(getSideName(side)) + ": " + problem];
      otherKernels += side == Side::Submission &&
                      record.kernels != submission.front().kernels;
    }
  }
  result.throttled = double(throttled) / total;
  for (const auto &[name, count] : reasons)
    result.throttleReasons.emplace_back(name, double(count) / total);
  if (result.throttled > config.throttledPart) {
    std::string names;
    for (const auto &[name, count] : reasons)
      names += (names.empty() ? "" : ", ") + name;
    reject(TimingState::Unstable, "the GPU throttled in " +
                                      percent(result.throttled) +
                                      " of the samples (" + names +
                                      "); let it cool down and measure again");
  }
  for (const auto &[problem, count] : problems)
    result.notes.push_back(problem + " (" + std::to_string(count) +
                           " samples)");
  if (otherKernels > 0)
    result.notes.push_back("the submission runs other kernels in " +
                           std::to_string(otherKernels) + " of " +
                           std::to_string(submission.size()) +
                           " samples than in the first");
}

/// Estimates, comparison and floor from the blocks.
void Measurement::summarize() {
  std::vector<double> cold, baselineCold;
  for (const AbbaBlock &block : result.blocks) {
    cold.insert(cold.end(), {block.candidateFirst, block.candidateSecond});
    baselineCold.insert(baselineCold.end(),
                        {block.baselineFirst, block.baselineSecond});
  }
  result.cold = estimateTime(cold);
  result.baselineCold = estimateTime(baselineCold);
  if (!warmSubmission.empty() && !warmBaseline.empty()) {
    result.warm = estimateTime(warmSubmission);
    result.baselineWarm = estimateTime(warmBaseline);
  }
  double resolution = metrics::getLogResolution(
      config.clockStepNs / result.callsPerSample, unsigned(cold.size()),
      result.baselineCold.median, result.cold.median);
  result.comparison =
      metrics::compare(result.blocks, config.comparison, resolution);
  result.kernels = submission.front().kernels;
  for (KernelUse &kernel : result.kernels)
    kernel.count = std::max<uint64_t>(1, kernel.count / result.callsPerSample);
  result.smClockMHz = medianClock(submission);
  result.baselineSmClockMHz = medianClock(baseline);

  if (!config.work || !config.peaks)
    return;
  // The worker's word may lower the clock from the device's maximum, which
  // raises the floor, and nothing else.
  metrics::MachineState machine = config.machine;
  if (result.smClockMHz > 0)
    machine.smClockMHz = std::min(machine.smClockMHz, result.smClockMHz);
  result.floor = metrics::computeFloor(*config.work, *config.peaks, machine);
  if (result.cold.median < result.floor->nanoseconds) {
    char text[160];
    std::snprintf(
        text, sizeof(text),
        "%.2f us are less than the %.2f us that the %s of this GPU "
        "needs at least",
        result.cold.median / 1000, result.floor->nanoseconds / 1000,
        result.floor->limit == metrics::Limit::Arithmetic ? "arithmetic"
        : result.floor->limit == metrics::Limit::Memory   ? "memory"
                                                        : "link to its peers");
    reject(TimingState::Quarantined, text);
  }
}

Result<WorkloadTiming> Measurement::run() {
  assert(config.sets > 0 && "there is something to call with");
  if (Result<void> done = warmUp(); !done)
    return forwardFailure(std::move(done));
  if (result.state != TimingState::Valid)
    return std::move(result);

  auto measureTo = [&](unsigned count) -> Result<bool> {
    if (Result<void> done = measureBlocks(count); !done)
      return forwardFailure(std::move(done));
    return result.state == TimingState::Valid;
  };
  const metrics::ComparisonConfig &comparison = config.comparison;
  Result<bool> goesOn = measureTo(comparison.pilotBlocks);
  if (goesOn && *goesOn && result.gpuSeconds < config.gpuSeconds)
    goesOn = measureTo(
        metrics::planBlocks(result.blocks, comparison, affordableBlocks()));
  if (goesOn && *goesOn && result.gpuSeconds < config.gpuSeconds)
    if (std::optional<unsigned> more = metrics::planExtension(
            result.blocks, comparison, affordableBlocks()))
      goesOn = measureTo(*more);
  if (!goesOn)
    return forwardFailure(std::move(goesOn));
  if (!*goesOn)
    return std::move(result);

  if (Result<void> done = measureWarm(); !done)
    return forwardFailure(std::move(done));
  judgeSamples();
  if (Result<void> done = measureOutside(); !done)
    return forwardFailure(std::move(done));
  summarize();
  return std::move(result);
}

Result<WorkloadTiming> runner::measureWorkload(SampleSource &source,
                                               const TimingConfig &config) {
  return Measurement(source, config).run();
}
