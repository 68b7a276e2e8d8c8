// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans trials and derives their seeds.

#include "d2k/Task/Trials.h"

#include "d2k/Task/Draw.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::task;

/// Streams of drawBits that seeds are derived on.
enum : uint64_t { kTrialStream = 0x7472, kInputStream = 0x696e };

std::vector<TrialSpec> d2k::task::planTrials(const Task &task, uint64_t seed) {
  std::vector<TrialSpec> trials;
  auto add = [&](std::string kind, bool isComplete, bool isExact) {
    trials.push_back({std::move(kind),
                      drawBits(seed, kTrialStream, trials.size()), isComplete,
                      isExact});
  };
  add(std::string(kRandomTrial), true, false);
  for (const Trial &trial : task.trials)
    add(trial.id, trial.isExact, trial.isExact);
  unsigned randomTrials = 1;
  while (trials.size() < kMinTrials || randomTrials < kMinRandomTrials) {
    add(std::string(kRandomTrial), false, false);
    ++randomTrials;
  }
  return trials;
}

const Trial *d2k::task::findTrial(const Task &task, std::string_view kind) {
  for (const Trial &trial : task.trials)
    if (trial.id == kind)
      return &trial;
  return nullptr;
}

uint64_t d2k::task::getInputSeed(const Task &task, const Tensor &input,
                                 unsigned rank, uint64_t seed) {
  auto isIt = [&](const Tensor &other) { return other.name == input.name; };
  const std::vector<Tensor> &list = input.isOutput ? task.outputs : task.inputs;
  auto at = std::find_if(list.begin(), list.end(), isIt);
  uint64_t position =
      uint64_t(at - list.begin()) + (input.isOutput ? task.inputs.size() : 0);
  return drawBits(seed, kInputStream,
                  position << 16 | (input.hasPeers ? rank : 0));
}
