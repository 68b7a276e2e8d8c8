// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which correctness trials a workload gets.

#ifndef D2K_TASK_TRIALS_H
#define D2K_TASK_TRIALS_H

#include "d2k/Task/Task.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::task {

/// The kind of a trial whose inputs are drawn as the workload says.
inline constexpr std::string_view kRandomTrial = "random";

/// Fewest trials of a workload, and fewest of kind kRandomTrial among them.
inline constexpr unsigned kMinTrials = 5;
inline constexpr unsigned kMinRandomTrials = 2;

/// One trial.
struct TrialSpec {
  /// kRandomTrial, or the id of one of the task's own trials.
  std::string kind;
  /// All of the trial's inputs follow from it.
  uint64_t seed = 0;
  /// Compare every element; else a random sample of output tiles.
  bool isComplete = false;
  /// The result must be the rounded exact one, bit for bit.
  bool isExact = false;
};

/// The trials of a workload of \p task: at least kMinTrials, the task's own
/// among them, seeds derived from \p seed. The first is random and complete;
/// exact trials are complete too.
std::vector<TrialSpec> planTrials(const Task &task, uint64_t seed);

/// The task's own trial of that kind, or null for kRandomTrial and unknown
/// kinds.
const Trial *findTrial(const Task &task, std::string_view kind);

/// The seed that draws \p input, or an output that is in place, on \p rank in a
/// trial with seed \p seed. Ranks
/// share inputs that have no peers.
uint64_t getInputSeed(const Task &task, const Tensor &input, unsigned rank,
                      uint64_t seed);

} // namespace d2k::task

#endif // D2K_TASK_TRIALS_H
