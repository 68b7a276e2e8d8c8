// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel_count: how many kernels one call launches. Launches on an empty grid
// and graphs that are never launched do not count.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces()) {
    int64_t least = 0;
    const Event *unsure = nullptr;
    std::string reason;
    std::vector<SourceLocation> where;
    for (const Event *event : detector.getLaunches(trace)) {
      where.push_back(event->where);
      if (event->certain && event->count.value &&
          HostDetector::hasBlocks(*event) == Tristate::Yes) {
        least += *event->count.value;
        continue;
      }
      if (unsure)
        continue;
      unsure = event;
      reason = "the launch at " + HostDetector::describe(event->where);
      if (!event->uncertainBecause.empty())
        reason += " " + event->uncertainBecause.front();
      else if (!event->count.value)
        reason += " runs as often as " + event->count.unknown + " says";
      else
        reason += " may have an empty grid";
    }
    for (const Event &event : trace.events)
      if (event.kind == EventKind::Library && !unsure) {
        unsure = &event;
        reason = event.call + "() at " + HostDetector::describe(event.where) +
                 " launches kernels of its own";
        where.push_back(event.where);
      }
    if (unsure) {
      detector.addUndecided(trace, std::nullopt,
                            (least == 0 ? "no launch is certain: "
                             : least == 1
                                 ? "one launch is certain, but "
                                 : "at least " + std::to_string(least) +
                                       " launches are certain, but ") +
                                reason,
                            kLaunchList, where);
      continue;
    }
    if (!trace.complete)
      continue;
    AttributeMap attributes;
    attributes["count"] = least;
    detector.addFact(trace, std::nullopt, std::move(attributes), where);
  }
}

namespace d2k::properties {
Property makeKernelCount() {
  PropertyInfo info;
  info.id = "kernel_count";
  info.group = 'E';
  info.summary =
      "the launch sites executed by one call under this workload are known";
  info.attributes = {{"count", AttrType::Integer, {}, "launches"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
