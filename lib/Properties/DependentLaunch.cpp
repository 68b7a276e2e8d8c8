// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dependent_launch: programmatic dependent launch. The kernel's half is seen
// here; without the launch's half it proves nothing.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static void detect(Detector &detector) {
  llvm::SmallVector<OpId, 4> waits, triggers;
  detector.forEach<kern::GridDependencyOp>(
      [&](OpId id, kern::GridDependencyOp op) {
        Judgement runs = detector.judgeRuns(id);
        if (!runs.isProved())
          detector.add(runs, id);
        else if (op.getSide() == kern::GridDependency::Wait)
          waits.push_back(id);
        else
          triggers.push_back(id);
      });
  if (!waits.empty())
    detector.addUndecided(
        "the kernel waits for the one before it at " +
            detector.describe(waits) +
            ", which does something only when it is launched as a dependent",
        "host code: programmatic stream serialization among the attributes of "
        "this kernel's launch",
        waits);
  if (!triggers.empty())
    detector.addUndecided(
        "the kernel lets dependents start at " + detector.describe(triggers) +
            ", which does something only when the next kernel of its stream is "
            "launched as a dependent",
        "host code: programmatic stream serialization among the attributes of "
        "the next kernel's launch",
        triggers);
}

namespace d2k::properties {
Property makeDependentLaunch() {
  PropertyInfo info;
  info.id = "dependent_launch";
  info.group = 'C';
  info.summary =
      "programmatic dependent launch, in the kernel and at the launch: a wait "
      "in a kernel launched as a dependent, or a trigger in the kernel before "
      "one";
  info.attributes = {{"side",
                      AttrType::String,
                      {"wait", "trigger"},
                      "the kernel waits for its predecessor, or lets its "
                      "successor start early"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
