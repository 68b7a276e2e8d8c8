// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_graph: launches were captured and the graph is launched. A graph that is
// never launched is a near miss.

#include "Engine/HostDetector.h"
#include "Engine/ResultUse.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

/// Whether the graph that event \p at of \p trace launches holds a kernel that
/// makes a part of the result. What it holds stands behind it in the trace.
static Tristate launchesUsed(const HostTrace &trace,
                             const std::vector<ResultUse> &uses, size_t at) {
  Tristate result = Tristate::No;
  size_t next = at + 1;
  for (; next < trace.events.size() && trace.events[next].captured; ++next) {
    const Event &event = trace.events[next];
    if (event.kind != EventKind::Launch ||
        HostDetector::hasBlocks(event) == Tristate::No ||
        uses[next].used == Tristate::No)
      continue;
    if (uses[next].used == Tristate::Yes)
      return Tristate::Yes;
    result = Tristate::Unknown;
  }
  // A graph that is not known adds nothing to the trace.
  return next == at + 1 && !trace.complete ? Tristate::Unknown : result;
}

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces()) {
    std::vector<ResultUse> uses = getResultUses(detector, trace);
    const Event *instantiated = nullptr;
    bool launched = false;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const Event &event = trace.events[i];
      if (event.kind == EventKind::GraphInstantiate)
        instantiated = &event;
      if (event.kind != EventKind::GraphLaunch)
        continue;
      launched = true;
      std::string place = HostDetector::describe(event.where);
      switch (launchesUsed(trace, uses, i)) {
      case Tristate::Yes:
        detector.addEvent(trace, std::nullopt, event, {});
        break;
      case Tristate::No:
        detector.addNearMiss(std::nullopt,
                             "the graph that is launched at " + place +
                                 " holds no kernel whose result is used",
                             {event.where});
        break;
      case Tristate::Unknown:
        detector.addUndecided(trace, std::nullopt,
                              "whether the graph that is launched at " + place +
                                  " makes a part of the result is not known",
                              kLaunchList, {event.where});
        break;
      }
    }
    if (instantiated && !launched)
      detector.addNearMiss(std::nullopt,
                           "the graph that is made at " +
                               HostDetector::describe(instantiated->where) +
                               " is never launched: nothing in it runs",
                           {instantiated->where});
  }
}

namespace d2k::properties {
Property makeCudaGraph() {
  PropertyInfo info;
  info.id = "cuda_graph";
  info.group = 'E';
  info.summary = "launches are captured and replayed";
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
