// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The self-test of the measurement: runs its parts in processes of their own
// (lib/Runner/Cuda/SelfTest.h), and judges the figures against limits that
// docs/Timing.md states.

#ifndef D2K_RUNNER_SELFTEST_H
#define D2K_RUNNER_SELFTEST_H

#include "d2k/Support/Json.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace d2k::runner {

/// One figure and what it may be.
struct SelfTestCheck {
  /// "equal", "delays": the part that it comes from.
  std::string part;
  /// One line: what was found, with figures.
  std::string found;
  /// What is asked; empty for a figure without a limit.
  std::string limit;
  /// Nothing when there is no limit, or no figure: then `found` says why.
  std::optional<bool> passed;
};

struct SelfTestReport {
  std::vector<SelfTestCheck> checks;
  /// What the parts printed, by their names.
  json::Object figures;

  unsigned countFailed() const;
};

json::Value toJson(const SelfTestReport &report);

struct SelfTestConfig {
  /// The program d2k-worker.
  std::string worker;
  /// Comparisons of each of the three kernels, on average.
  unsigned pairs = 100;
  /// Fresh processes whose medians are compared.
  unsigned processes = 10;
  /// Called with a sentence before each step.
  std::function<void(const std::string &)> progress;
};

/// Runs and judges everything. A part that does not run is a check that
/// failed; a Failure means that there is no GPU to test.
Result<SelfTestReport> runGpuSelfTest(const SelfTestConfig &config);

// The judgements, each for the figures of one part.
std::vector<SelfTestCheck> judgeEqual(const json::Value &figures);
std::vector<SelfTestCheck> judgeDifferent(const json::Value &figures);
std::vector<SelfTestCheck> judgeDelays(const json::Value &figures);
std::vector<SelfTestCheck> judgeFlush(const json::Value &figures);
std::vector<SelfTestCheck> judgeCounters(const json::Value &figures);
std::vector<SelfTestCheck> judgePeaks(const json::Value &figures);
std::vector<SelfTestCheck> judgeClocks(const json::Value &figures);
/// Figures of the part `medians` of several processes.
std::vector<SelfTestCheck> judgeMedians(const std::vector<json::Value> &all);
/// The CSV of ncu over the part `plain`, beside the figures of `medians` and of
/// `counters`.
std::vector<SelfTestCheck> judgeNcu(const std::string &csv,
                                    const json::Value &medians,
                                    const json::Value &counters);

} // namespace d2k::runner

#endif // D2K_RUNNER_SELFTEST_H
