// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_graph: launches were captured and the graph is launched. A graph that is
// never launched is a near miss.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces()) {
    const Event *instantiated = nullptr;
    bool launched = false;
    for (const Event &event : trace.events) {
      if (event.kind == EventKind::GraphInstantiate)
        instantiated = &event;
      if (event.kind != EventKind::GraphLaunch)
        continue;
      launched = true;
      detector.addEvent(trace, std::nullopt, event, {});
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
