// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The side of timing that is in the worker: runs the calls of a sample with
// the caches as they should be, and reads clocks A, B and C. The order of what
// is enqueued for a cold sample:
//
//   call                a discarded one, waited for
//   reset of persisting L2 lines
//   readClocks          globaltimer and clock64, for the SM clock
//   spin                keeps the GPU busy while the host enqueues the rest
//   readFlush           a clean buffer of twice the L2; nothing writes between
//   barrier             several GPUs only: all start together
//   event, calls, event
//   readClocks
//
// Clock A is taken from CUPTI's records of everything that ran between these
// kernels of ours, whatever the stream.
//
// It shares a process with submitted code, so nothing here is a safeguard:
// docs/Timing.md says which clock is.

#ifndef D2K_RUNNER_CUDA_SAMPLER_H
#define D2K_RUNNER_CUDA_SAMPLER_H

#include "d2k/Runner/Timing.h"

#include "Activity.h"
#include "CudaDriver.h"
#include "ModuleImages.h"
#include "Nvml.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace d2k::runner {

/// One GPU of a call.
struct RankContext {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  /// The device's number in the driver.
  CUdevice device = 0;
  /// Enqueues one call on the stream with the buffers of an input set; the
  /// entry function's result, a cudaError. Called with the context current, on
  /// a thread of its own when there are several ranks.
  std::function<int(unsigned set)> call;
};

class Sampler {
public:
  /// Starts CUPTI: after cuInit, before contexts are made and code is loaded.
  /// Fails with kind Environment.
  static Result<void> startTracing();

  /// Prepares to sample calls of \p ranks; startTracing was called.
  static Result<std::unique_ptr<Sampler>> create(const CudaDriver &driver,
                                                 std::vector<RankContext> ranks,
                                                 bool wantCounters);
  ~Sampler();
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;

  /// The file whose kernels are the submission's own.
  Result<void> setSubmission(const std::string &path);

  /// These fail with kind Input when the calls do (an error result, a fault on
  /// the device), and with Environment when the machine does.
  Result<SampleRecord> sample(const SampleRequest &request);
  /// With 0 rounds: what the batch before recorded.
  Result<BatchRecord> batch(const BatchRequest &request);
  /// Launches and counters of one call with cold caches: an object with
  /// `launches`, and `counters` or `counters_unavailable` with the reason.
  Result<json::Value> profile(unsigned set);
  /// The code loaded so far.
  std::vector<ModuleImage> takeModuleImages() const;
  /// How long the GPUs worked for this process, over all samplers; the work of
  /// several GPUs at once counts once for each.
  double getBusySeconds() const;

private:
  struct Rank;

  Sampler(const CudaDriver &driver, ActivityCollector &activities,
          ModuleCollector &modules);
  Result<void> addRank(RankContext context);
  /// Runs \p work for every rank, each on a thread of its own when there are
  /// several. The first failure by rank.
  Result<void> onRanks(const std::function<Result<void>(Rank &)> &work);
  Result<void> makeCurrent(const Rank &rank) const;
  Result<void> call(Rank &rank, unsigned set);
  /// Waits for the current context.
  Result<void> synchronize();
  Result<void> enqueueSample(Rank &rank, const SampleRequest &request);
  /// Records of what ran since the last call, complete for our own kernels:
  /// each rank has \p harness of them.
  Result<std::vector<Activity>> takeActivities(size_t harness);
  Result<void> readRank(Rank &rank, const std::vector<Activity> &activities,
                        const SampleRequest &request, SampleRecord &record);
  Result<BatchRecord> collectBatch();
  double readSmClock(Rank &rank);
  const std::string &attribute(const std::string &kernel);
  Result<json::Value> measureCounters(unsigned set);

  const CudaDriver &driver;
  ActivityCollector &activities;
  ModuleCollector &modules;
  std::vector<std::unique_ptr<Rank>> ranks;
  bool wantCounters = false;
  /// Counts device-side barriers; `signal` is theirs.
  CUdeviceptr signal = 0;
  unsigned epoch = 0;
  /// Whose records are still to be collected.
  BatchRequest lastBatch;
  /// Modules by kernel, once found.
  std::unordered_map<std::string, std::string> attribution;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_SAMPLER_H
