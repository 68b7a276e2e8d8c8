// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dependent_launch: programmatic dependent launch. The kernel's half is seen
// here; without the launch's half it proves nothing.

#include "Engine/Detector.h"
#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// How the undecided halves end; the host's half looks for them.
static constexpr const char *kWaits =
    ", which does something only when it is launched as a dependent";
static constexpr const char *kTriggers =
    ", which does something only when the next kernel of its stream is "
    "launched as a dependent";

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
            detector.describe(waits) + kWaits,
        "host code: programmatic stream serialization among the attributes of "
        "this kernel's launch",
        waits);
  if (!triggers.empty())
    detector.addUndecided(
        "the kernel lets dependents start at " + detector.describe(triggers) +
            kTriggers,
        "host code: programmatic stream serialization among the attributes of "
        "the next kernel's launch",
        triggers);
}

/// Whether the kernel's code waits or triggers: PTX left that undecided.
static bool reachesFor(const KernelFacts &kernel, const cuda::HostTrace &trace,
                       llvm::StringRef words,
                       std::vector<SourceLocation> &where) {
  for (const Undecided &entry : kernel.undecided)
    if (entry.property == "dependent_launch" &&
        (entry.workloads.empty() ||
         llvm::is_contained(entry.workloads, trace.workload)) &&
        llvm::StringRef(entry.reason).contains(words)) {
      where.insert(where.end(), entry.where.begin(), entry.where.end());
      return true;
    }
  return false;
}

/// The launch's half: programmatic serialization on the kernel that waits, and
/// for a trigger on the launch that follows it in its stream.
static void detectHost(HostDetector &detector) {
  std::set<size_t> settled, open;
  for (const cuda::HostTrace &trace : detector.getTraces()) {
    std::vector<const cuda::Event *> launches = detector.getLaunches(trace);
    for (size_t i = 0; i < launches.size(); ++i) {
      const cuda::Event &event = *launches[i];
      std::optional<size_t> index = detector.findKernel(event);
      if (!index)
        continue;
      const KernelFacts &kernel = detector.getAnalysis().kernels[*index];
      std::vector<SourceLocation> waits, triggers;
      bool doesWait = reachesFor(kernel, trace, kWaits, waits);
      bool doesTrigger = reachesFor(kernel, trace, kTriggers, triggers);
      if (!doesWait && !doesTrigger)
        continue;
      settled.insert(*index);
      if (doesWait) {
        if (event.programmaticSerialization == true) {
          AttributeMap attributes;
          attributes["side"] = std::string("wait");
          waits.push_back(event.where);
          if (event.certain)
            detector.addFact(trace, index, std::move(attributes), waits);
          else
            detector.addEvent(trace, index, event, std::move(attributes));
        } else if (!event.programmaticSerialization) {
          open.insert(*index);
        } else {
          detector.addNearMiss(
              index,
              "the kernel waits for the one before it, but the launch at " +
                  HostDetector::describe(event.where) +
                  " does not allow programmatic stream serialization: it "
                  "starts when the one before it has ended",
              {event.where});
        }
      }
      if (doesTrigger) {
        // The next launch of the stream, in this call or in the next one.
        const cuda::Event *next = nullptr;
        for (size_t j = i + 1; j < launches.size() && !next; ++j)
          if (launches[j]->stream == event.stream)
            next = launches[j];
        if (next && next->programmaticSerialization == true && next->certain &&
            event.certain) {
          AttributeMap attributes;
          attributes["side"] = std::string("trigger");
          triggers.push_back(next->where);
          detector.addFact(trace, index, std::move(attributes), triggers);
        } else if (next && next->programmaticSerialization == false) {
          detector.addNearMiss(
              index,
              "the kernel lets dependents start early, but the next launch of "
              "its stream, at " +
                  HostDetector::describe(next->where) +
                  ", does not allow programmatic stream serialization",
              {next->where});
        } else if (!next) {
          detector.addNearMiss(
              index,
              "the kernel lets dependents start early, but no launch follows "
              "it in its stream in this call",
              {event.where});
        } else {
          open.insert(*index);
        }
      }
    }
  }
  for (size_t kernel : settled)
    if (!open.contains(kernel))
      detector.settle(kernel);
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
  info.detectorTiers = {Tier::Source, Tier::Ptx};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
