// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How one workload is timed, seen from the process that decides: which samples
// it asks for in which order, what it believes of the answers, and what the
// result says. docs/Timing.md explains it to users.
//
// The answers come from the process that runs submitted code and are treated
// as hostile. What they can do is bounded by clock D, which is the caller's
// own, and by the physics floor, which needs no clock at all.

#ifndef D2K_RUNNER_TIMING_H
#define D2K_RUNNER_TIMING_H

#include "d2k/Metrics/Clocks.h"
#include "d2k/Metrics/Comparison.h"
#include "d2k/Metrics/SpeedOfLight.h"
#include "d2k/Support/Json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d2k::runner {

/// Whose code a sample runs.
enum class Side : uint8_t { Baseline, Submission };
/// "baseline", "submission".
std::string_view getSideName(Side side);

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// A kernel, copy or memset that ran in a sample.
struct KernelUse {
  /// Mangled name; "[memcpy]" and "[memset]" for what is no kernel.
  std::string name;
  /// "submission" for code of the submission's own modules, else the file that
  /// holds it, or "unknown".
  std::string module;
  /// Per sample.
  uint64_t count = 0;

  friend bool operator==(const KernelUse &, const KernelUse &) = default;
};

/// One timed sample: as a rule a discarded call, the preparation of the caches,
/// and then calls back to back.
struct SampleRequest {
  /// The input set of each call.
  std::vector<unsigned> sets;
  /// Read the flush buffer before the first call. Without: warm.
  bool flush = true;
  /// The set of the discarded call; none: there is no such call.
  std::optional<unsigned> discardSet;
};

/// What the worker measured. Times are for one call.
struct SampleRecord {
  /// Clock A: from the first start to the last end of all activity.
  double spanNs = 0;
  /// Clock B: events around the calls.
  double eventNs = 0;
  /// Clock C: the worker's host clock around enqueueing and waiting.
  double hostNs = 0;
  /// SM clock over the sample; 0 when it could not be read.
  double smClockMHz = 0;
  /// NVML's bit mask (nvmlClocksEventReasons); 0 without NVML.
  uint64_t throttleReasons = 0;
  std::vector<KernelUse> kernels;
  /// Spans of the ranks when there are several; spanNs is their maximum.
  std::vector<double> rankSpanNs;
  /// What made the sample less than it should be, a sentence each.
  std::vector<std::string> problems;
};

/// Rounds without measurement between, to be timed from outside. Each is like a
/// sample: the GPU spins, reads the flush buffer, and runs calls back to back.
struct BatchRequest {
  /// 0 asks for the record of the batch before, which is not collected while
  /// the clock runs.
  unsigned rounds = 0;
  unsigned callsPerRound = 1;
  /// The sets in turn.
  std::vector<unsigned> sets;
  /// How long the GPU spins while the host enqueues a round.
  uint64_t spinNs = 0;
  /// What a round does after that: read the flush buffer, call, or both.
  bool flush = true;
  bool call = true;
};

struct BatchRecord {
  /// Median of clock A over the rounds, divided by the calls of a round; 0
  /// without calls, and of a batch that was only run.
  double spanNsPerCall = 0;
};

json::Value toJson(const SampleRequest &request);
json::Value toJson(const SampleRecord &record);
json::Value toJson(const BatchRequest &request);
json::Value toJson(const BatchRecord &record);
/// These fail on what no honest process sends: times that are not finite and
/// positive, lists that are too long, names that are.
Result<SampleRequest> sampleRequestFromJson(json::Cursor cursor);
Result<SampleRecord> sampleRecordFromJson(json::Cursor cursor);
Result<BatchRequest> batchRequestFromJson(json::Cursor cursor);
Result<BatchRecord> batchRecordFromJson(json::Cursor cursor);

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Where samples come from: two workers, or a simulation.
class SampleSource {
public:
  virtual ~SampleSource();
  /// The next samples will be these, in this order. No set is in them twice, so
  /// that all can be prepared at once.
  virtual Result<void> announce(const std::vector<SampleRequest> &) {
    return {};
  }
  /// Prepares the sets (poisoned outputs, a fresh perturbation of the inputs),
  /// takes a sample and, at random, checks its outputs.
  virtual Result<SampleRecord> sample(Side side,
                                      const SampleRequest &request) = 0;
  /// Runs a batch; the second is clock D in seconds, the caller's own.
  virtual Result<std::pair<BatchRecord, double>>
  batch(Side side, const BatchRequest &request) = 0;
};

/// The number of input sets for calls that touch \p bytes each: at least 3, or
/// 2 above 8 GB; more, up to 64, while all of them together do not exceed 4
/// times the L2, so that a set is out of the cache when its turn comes again.
unsigned planSets(uint64_t bytes, uint64_t l2Bytes);

struct TimingConfig {
  uint64_t seed = 1;
  /// Input sets that exist, from planSets.
  unsigned sets = 3;
  /// Time on the GPU for one workload, and the least number of blocks.
  double gpuSeconds = 20;
  unsigned leastBlocks = 5;
  metrics::ComparisonConfig comparison;
  metrics::ClockTolerance clocks;
  /// Activity timestamps advance by this.
  double clockStepNs = 32;
  /// Shorter calls are repeated within a sample until this is filled ...
  double shortCallNs = 20000;
  /// ... but no more often than this.
  unsigned maxCallsPerSample = 16;
  /// No call is discarded before samples of a side whose calls take this long:
  /// what it would bring to a steady state is over in microseconds.
  double longCallNs = 50e6;
  /// Samples of each side without flush, and how many there are at least when
  /// an eighth of the GPU time is spent on them.
  unsigned warmSamples = 10;
  unsigned leastWarmSamples = 3;
  /// Length of a batch for clock D in seconds; 0 leaves clock D out, which
  /// only a trusted source may.
  double batchSeconds = 0.05;
  /// What lies between the flush and the calls of a round, by clock D.
  double launchOverheadNs = 4000;
  /// What the host may take to enqueue a launch of a batch.
  double enqueueNs = 12000;
  /// Estimate of what the preparation of a sample takes on the GPU.
  double flushNs = 60000;
  /// Part of the samples that may be throttled for heat or power supply.
  double throttledPart = 0.1;
  /// What a call must do, for the floor; none checks no floor.
  std::optional<metrics::CompulsoryWork> work;
  const metrics::DevicePeaks *peaks = nullptr;
  /// smClockMHz is the highest clock of the device.
  metrics::MachineState machine;
};

/// A median and the 95% interval around it, in nanoseconds.
struct TimeEstimate {
  double median = 0;
  metrics::Interval interval;
};

enum class TimingState : uint8_t {
  Valid,
  /// Clocks disagree, or a call does no work on the GPU: no score.
  Invalid,
  /// The machine throttled: measure again.
  Unstable,
  /// Faster than physics allows: a person has to look.
  Quarantined,
};
/// "valid", "invalid", "unstable", "quarantined".
std::string_view getStateName(TimingState state);

/// The result for a workload. When the state is not Valid the fields below
/// `reason` hold what was measured nevertheless and may be empty.
struct WorkloadTiming {
  TimingState state = TimingState::Valid;
  std::string reason;
  metrics::Comparison comparison;
  TimeEstimate cold, warm, baselineCold, baselineWarm;
  /// Calls in a sample.
  unsigned callsPerSample = 1;
  /// Of the submission's samples: median SM clock, and the part of samples
  /// with each throttle reason that occurred.
  double smClockMHz = 0, baselineSmClockMHz = 0;
  double throttled = 0;
  std::vector<std::pair<std::string, double>> throttleReasons;
  /// Clock D less the flush, and clock A of the same calls, for one call.
  double outsideNs = 0, insideNs = 0;
  std::optional<metrics::TimeFloor> floor;
  /// Of the submission; counts for one call.
  std::vector<KernelUse> kernels;
  /// What a reader of the numbers should know, a sentence each.
  std::vector<std::string> notes;
  /// GPU time spent, estimated.
  double gpuSeconds = 0;
  /// The blocks, in nanoseconds for one call.
  std::vector<metrics::AbbaBlock> blocks;

  /// floor / cold median; nothing without a floor.
  std::optional<double> getSpeedOfLight() const;
};

/// Everything of \p timing for the record, blocks included.
json::Value toJson(const WorkloadTiming &timing);

/// Times both sides. Fails when the source does; what is wrong with the
/// measurement is in the state.
Result<WorkloadTiming> measureWorkload(SampleSource &source,
                                       const TimingConfig &config);

/// The names of the bits of NVML's mask that say that the clock was lowered
/// for heat or power supply ("hw_thermal_slowdown"), not those of idleness or
/// of the normal power limit.
std::vector<std::string> getThrottleNames(uint64_t reasons);

} // namespace d2k::runner

#endif // D2K_RUNNER_TIMING_H
