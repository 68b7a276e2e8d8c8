// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The measurement of a workload against a simulated machine: what an honest
// submission gets, and what each way of lying about time comes to.

#include "d2k/Runner/Timing.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace d2k;
using namespace d2k::runner;

namespace {

/// Two programs on a GPU, and a worker that reports on them.
class SimulatedSource : public SampleSource {
public:
  /// True times of a cold call.
  double baselineNs = 20000, submissionNs = 10000;
  double noise = 0.004;
  /// What the submission's worker reports as clock A, relative to the truth:
  /// in samples and in batches.
  double sampleLie = 1, batchLie = 1;
  /// Part of the work that runs on a stream that the call does not join.
  bool sideStream = false;
  bool patchedHostClock = false;
  uint64_t throttleReasons = 4; // The power limit: nothing unusual.
  /// From this cold sample of the submission on, no kernel is launched.
  unsigned idleFrom = ~0u;
  /// How much longer every second and third of four samples takes.
  double periodNoise = 0;
  /// How long the GPU stops in some batches.
  double pauseNs = 0;
  /// What a call adds to the flush after it.
  double writeBackNs = 0;
  /// What the clock is, and how fast it rises to 1980 MHz.
  double smClockMHz = 1980, clockStepMHz = 0;

  unsigned samples = 0, submissionSamples = 0, batches = 0;
  std::vector<std::pair<Side, SampleRequest>> requests;

  Result<SampleRecord> sample(Side side,
                              const SampleRequest &request) override {
    ++samples;
    requests.emplace_back(side, request);
    bool isSubmission = side == Side::Submission;
    std::normal_distribution<> normal;
    double time = (isSubmission ? submissionNs : baselineNs) *
                  std::exp(noise * normal(random)) * (request.flush ? 1 : 0.7);
    SampleRecord record;
    record.spanNs = time * (isSubmission ? sampleLie : 1);
    record.eventNs = (isSubmission && sideStream ? 0.1 : 1) * time + 2000;
    record.hostNs = isSubmission && patchedHostClock ? 1000 : time + 60000;
    record.smClockMHz = smClockMHz;
    if (clockStepMHz > 0)
      smClockMHz = std::min(1980.0, smClockMHz + clockStepMHz);
    record.throttleReasons = throttleReasons;
    record.kernels = {{isSubmission ? "fast" : "slow", "submission",
                       2 * request.sets.size()}};
    if (isSubmission && submissionSamples++ >= idleFrom) {
      record.spanNs = 0;
      record.kernels.clear();
    }
    return record;
  }

  Result<std::pair<BatchRecord, double>>
  batch(Side side, const BatchRequest &request) override {
    if (request.rounds == 0)
      return std::pair(lastBatch, 0.01);
    ++batches;
    double time = side == Side::Submission ? submissionNs : baselineNs;
    double calls = request.call ? request.callsPerRound : 0;
    double round = double(request.spinNs) + (request.flush ? 60000 : 0) +
                   calls * time +
                   (request.call && request.flush ? 2000 + writeBackNs : 0);
    BatchRecord record;
    record.spanNsPerCall = request.call ? time * batchLie : 0;
    lastBatch = record;
    // Something else stops the GPU in every batch but each fourth.
    if (pauseNs > 0 && batches % 4 != 0 && batches % 4 != 3)
      return std::pair(BatchRecord(),
                       (round * request.rounds + pauseNs) * 1e-9);
    // The exchange of messages.
    return std::pair(BatchRecord(), (round * request.rounds + 100000) * 1e-9);
  }

private:
  BatchRecord lastBatch;
  std::mt19937_64 random{11};
};

} // namespace

static WorkloadTiming measure(SimulatedSource &source,
                              const TimingConfig &config = {}) {
  Result<WorkloadTiming> timing = measureWorkload(source, config);
  EXPECT_TRUE(timing) << timing.error().message;
  return *timing;
}

TEST(Timing, HonestSubmission) {
  SimulatedSource source;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Valid) << timing.reason;
  EXPECT_EQ(timing.comparison.verdict, metrics::ComparisonVerdict::Faster);
  EXPECT_TRUE(timing.comparison.interval.contains(2))
      << timing.comparison.interval.low;
  EXPECT_NEAR(timing.cold.median, 10000, 100);
  EXPECT_TRUE(timing.cold.interval.contains(10000));
  EXPECT_NEAR(timing.warm.median, 7000, 70);
  EXPECT_NEAR(timing.baselineCold.median, 20000, 200);
  // 10 us: two calls fill 20 us.
  EXPECT_EQ(timing.callsPerSample, 2u);
  // Two kernels a call.
  EXPECT_EQ(timing.kernels,
            (std::vector<KernelUse>{{"fast", "submission", 2}}));
  EXPECT_EQ(timing.throttled, 0);
  // Two calls share the 2 us of the launch after the flush.
  EXPECT_NEAR(timing.outsideNs, 11000, 1);
  EXPECT_GE(timing.blocks.size(), 20u);
}

TEST(Timing, BlocksAreAbbaOrBaabOverRandomSets) {
  SimulatedSource source;
  TimingConfig config;
  config.sets = 4;
  WorkloadTiming timing = measure(source, config);
  // After two rounds of warm-up.
  std::vector<unsigned> firsts(config.sets);
  unsigned baselineFirst = 0;
  for (size_t i = 4; i != 4 + 4 * timing.blocks.size(); i += 4) {
    Side outer = source.requests[i].first;
    baselineFirst += outer == Side::Baseline;
    EXPECT_NE(source.requests[i + 1].first, outer);
    EXPECT_NE(source.requests[i + 2].first, outer);
    EXPECT_EQ(source.requests[i + 3].first, outer);
    for (size_t k = i; k != i + 4; ++k) {
      const SampleRequest &request = source.requests[k].second;
      EXPECT_TRUE(request.flush);
      ASSERT_EQ(request.sets.size(), 2u);
      EXPECT_NE(request.sets[0], request.sets[1]);
      EXPECT_NE(request.sets[0], request.discardSet);
      ++firsts[request.sets[0]];
    }
  }
  for (unsigned count : firsts)
    EXPECT_GT(count, 0u);
  EXPECT_GT(baselineFirst, 0u);
  EXPECT_LT(baselineFirst, timing.blocks.size());
}

TEST(Timing, PeriodsOfTheMachineDoNotDecide) {
  // Every second and third sample of four takes 3% longer, whoever's it is.
  SimulatedSource source;
  source.submissionNs = source.baselineNs;
  source.periodNoise = 0.03;
  unsigned wrong = 0;
  for (uint64_t seed = 1; seed != 21; ++seed) {
    TimingConfig config;
    config.seed = config.comparison.seed = seed;
    WorkloadTiming timing = measure(source, config);
    wrong += !timing.comparison.interval.contains(1);
  }
  // One in 20 is what 95% promise; four are unlikely (1.6%).
  EXPECT_LT(wrong, 4u);
}

TEST(Timing, WriteBackIsNotHiddenWork) {
  // Calls of 200 us that leave 34 MB in the L2: the next flush takes 20 us
  // longer. Allowed are 4 us, 5% of 222 us and, when the outputs are known, the
  // 9 us of half the L2.
  SimulatedSource source;
  source.baselineNs = source.submissionNs = 200000;
  source.writeBackNs = 20000;
  TimingConfig config;
  EXPECT_EQ(measure(source, config).state, TimingState::Invalid);
  config.work.emplace();
  config.work->writtenBytes = 34e6;
  config.peaks = metrics::findDevicePeaks("sm_90a");
  config.machine = {132, 1980, 60e6};
  WorkloadTiming timing = measure(source, config);
  EXPECT_EQ(timing.state, TimingState::Valid) << timing.reason;
}

TEST(Timing, WaitsForTheClockToRise) {
  // From idle, 40 MHz more with each sample, up to 1980.
  SimulatedSource source;
  source.smClockMHz = 345;
  source.clockStepMHz = 40;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Valid) << timing.reason;
  EXPECT_EQ(timing.smClockMHz, 1980);
  EXPECT_GE(source.samples, (1980 - 345) / 40 + 4 * timing.blocks.size());
}

TEST(Timing, LongCallsAreTakenOnce) {
  SimulatedSource source;
  source.baselineNs = source.submissionNs = 1e6;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.callsPerSample, 1u);
  EXPECT_EQ(timing.comparison.verdict, metrics::ComparisonVerdict::Same);
}

TEST(Timing, TimeIsCappedAtFiveBlocks) {
  SimulatedSource source;
  source.baselineNs = 1e6;
  source.submissionNs = 4e9;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Valid);
  EXPECT_EQ(timing.blocks.size(), 5u);
  // One round to warm up, the blocks, three warm samples of each side.
  ASSERT_EQ(source.requests.size(), 2u + 4 * 5 + 2 * 3);
  // The first sample shows how long the calls of a side are; after it, only
  // those of the short side have one that is discarded.
  for (size_t i = 2; i != source.requests.size(); ++i) {
    const auto &[side, request] = source.requests[i];
    EXPECT_EQ(request.discardSet.has_value(), side == Side::Baseline) << i;
  }
}

TEST(Timing, RequestsWithoutDiscardedCallAreRead) {
  SampleRequest request{{2, 0}, true, std::nullopt};
  json::Value text = toJson(request);
  Result<SampleRequest> read =
      sampleRequestFromJson(json::Cursor(text, "request"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->discardSet);
  EXPECT_EQ(read->sets, request.sets);
}

TEST(Timing, WorkOnASideStreamIsInvalid) {
  SimulatedSource source;
  source.sideStream = true;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Invalid);
  EXPECT_NE(timing.reason.find("submission: GPU activity outlasts"),
            std::string::npos)
      << timing.reason;
}

TEST(Timing, PatchedHostClockIsInvalid) {
  SimulatedSource source;
  source.patchedHostClock = true;
  EXPECT_EQ(measure(source).state, TimingState::Invalid);
}

TEST(Timing, ForgedSamplesAreInvalid) {
  // Everything inside the worker agrees on a tenth of the time.
  SimulatedSource source;
  source.submissionNs = 100000;
  source.sampleLie = source.batchLie = 0.1;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Invalid);
  // The launch after the flush takes 2 us.
  EXPECT_EQ(timing.reason.find("a call takes 101.00 us by the clock outside "
                               "its process and 10.00 us"),
            0u)
      << timing.reason;
  EXPECT_EQ(source.batches, 12u); // Six attempts of two batches.

  // The batch is reported truthfully, the samples are not.
  source.batchLie = 1;
  EXPECT_EQ(measure(source).state, TimingState::Invalid);
}

TEST(Timing, PausesOfTheGpuAreNoHiddenWork) {
  // 9 ms in a batch of 50: seen with three processes on one GPU.
  SimulatedSource source;
  source.baselineNs = source.submissionNs = 200000;
  source.pauseNs = 9e6;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Valid) << timing.reason;
}

TEST(Timing, ShortCallsHideLittle) {
  // A microsecond of 2 us is seen, because 10 or more calls share the cost of
  // a launch.
  SimulatedSource source;
  source.submissionNs = source.baselineNs = 2000;
  EXPECT_EQ(measure(source).state, TimingState::Valid);
  source.sampleLie = source.batchLie = 0.5;
  EXPECT_EQ(measure(source).state, TimingState::Invalid);
}

TEST(Timing, CallWithoutWorkIsInvalid) {
  SimulatedSource source;
  source.idleFrom = 10;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Invalid);
  EXPECT_EQ(timing.reason, "a call of the submission did nothing on the GPU");
  source.submissionSamples = 0;
  source.idleFrom = 0;
  EXPECT_EQ(measure(source).state, TimingState::Invalid);
}

TEST(Timing, HotGpuIsUnstable) {
  SimulatedSource source;
  source.throttleReasons = 0x24;
  WorkloadTiming timing = measure(source);
  EXPECT_EQ(timing.state, TimingState::Unstable);
  EXPECT_EQ(timing.reason,
            "the GPU throttled in 100% of the samples (sw_thermal_slowdown); "
            "let it cool down and measure again");
  ASSERT_EQ(timing.throttleReasons.size(), 1u);
  EXPECT_EQ(timing.throttleReasons[0].first, "sw_thermal_slowdown");
}

TEST(Timing, FasterThanPhysicsIsQuarantined) {
  // 96 MB at 4.8 TB/s are 20 us, twice what the submission says it takes.
  SimulatedSource source;
  TimingConfig config;
  config.work.emplace();
  config.work->readBytes = 96e6;
  config.peaks = metrics::findDevicePeaks("sm_90a");
  config.machine = {132, 1980, 60e6};
  WorkloadTiming timing = measure(source, config);
  EXPECT_EQ(timing.state, TimingState::Quarantined);
  EXPECT_NE(timing.reason.find("us are less than the 20.00 us that the memory "
                               "of this GPU needs at least"),
            std::string::npos)
      << timing.reason;

  config.work->readBytes = 24e6;
  timing = measure(source, config);
  EXPECT_EQ(timing.state, TimingState::Valid) << timing.reason;
  EXPECT_NEAR(*timing.getSpeedOfLight(), 0.5, 0.01);
}

TEST(Timing, ReportedClockCannotLowerTheFloor) {
  // 4096 * 132 * 1.98 FLOP a ns for 30 us.
  SimulatedSource source;
  source.submissionNs = source.baselineNs = 20000;
  source.smClockMHz = 99000;
  TimingConfig config;
  config.work.emplace();
  config.work->flops = 4096 * 132 * 1.98 * 30000;
  config.peaks = metrics::findDevicePeaks("sm_90a");
  config.machine = {132, 1980, 60e6};
  EXPECT_EQ(measure(source, config).state, TimingState::Quarantined);
}

TEST(Timing, PlansSets) {
  const uint64_t l2 = 60000000;
  EXPECT_EQ(planSets(1 << 20, l2), 64u);  // More would be needed; the cap.
  EXPECT_EQ(planSets(24000000, l2), 11u); // 11 * 24 MB > 240 MB.
  EXPECT_EQ(planSets(500000000, l2), 3u);
  EXPECT_EQ(planSets(uint64_t(9) << 30, l2), 2u);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

TEST(TimingRecords, RoundTrip) {
  SampleRecord record;
  record.spanNs = 1234.5;
  record.eventNs = 2000;
  record.hostNs = 70000;
  record.smClockMHz = 1755;
  record.throttleReasons = 4;
  record.kernels = {{"_Z4gemm", "submission", 3}};
  record.rankSpanNs = {1000, 1234.5};
  record.problems = {"no NVML"};
  json::Value value = toJson(record);
  Result<SampleRecord> read =
      sampleRecordFromJson(json::Cursor(value, "reply"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(*read), value);

  value = toJson(SampleRequest{{2, 0}, false, 1});
  Result<SampleRequest> request =
      sampleRequestFromJson(json::Cursor(value, "request"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(toJson(*request), value);

  value = toJson(BatchRequest{500, 4, {0, 1, 2}, 30000, true, false});
  Result<BatchRequest> batch =
      batchRequestFromJson(json::Cursor(value, "request"));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(toJson(*batch), value);
}

/// Why a reply with \p text in the place of the span is refused.
static std::string refuse(const std::string &span, const std::string &kernels) {
  Result<json::Document> document = json::Document::parse(
      R"({"event_ns": 1, "host_ns": 1, "sm_clock_mhz": 0,)"
      R"( "throttle_reasons": 0, "rank_span_ns": [], "problems": [],)"
      R"( "span_ns": )" +
          span + R"(, "kernels": )" + kernels + "}",
      "reply");
  if (!document)
    return document.error().message;
  Result<SampleRecord> record = sampleRecordFromJson(document->getRoot());
  return record ? "accepted" : record.error().message;
}

TEST(TimingRecords, RefusesWhatNoHonestWorkerSends) {
  EXPECT_EQ(refuse("1", "[]"), "accepted");
  EXPECT_EQ(refuse("-1", "[]"), "reply: span_ns: expected a number between 0 "
                                "and 1e12, found number -1");
  EXPECT_NE(refuse("1e300", "[]"), "accepted");
  EXPECT_NE(refuse("\"1\"", "[]"), "accepted");
  EXPECT_NE(refuse("1", R"([{"name": "k", "module": "m", "count": 0}])"),
            "accepted");
  EXPECT_NE(refuse("1", R"([{"name": ")" + std::string(9000, 'k') +
                            R"(", "module": "m", "count": 1}])"),
            "accepted");
}
