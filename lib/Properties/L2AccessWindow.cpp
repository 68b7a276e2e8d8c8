// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// l2_access_window: an access-policy window is set on the stream or the launch
// (CUDA C++ Programming Guide, "L2 Access Management").

#include "Engine/HostDetector.h"

#include "llvm/ADT/STLExtras.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces())
    for (const Event &event : trace.events) {
      if (event.kind != EventKind::AccessWindow)
        continue;
      // The window of a stream is there for what is launched in it.
      bool isUsed = llvm::any_of(trace.events, [&](const Event &other) {
        return other.kind == EventKind::Launch && other.stream == event.stream;
      });
      if (!isUsed) {
        detector.addNearMiss(
            std::nullopt,
            "the window that is set at " + HostDetector::describe(event.where) +
                " is that of a stream in which no kernel is launched",
            {event.where});
        continue;
      }
      AttributeMap attributes;
      detector.addEvent(trace, std::nullopt, event, std::move(attributes));
    }
}

namespace d2k::properties {
Property makeL2AccessWindow() {
  PropertyInfo info;
  info.id = "l2_access_window";
  info.group = 'A';
  info.summary = "the host sets a persisting or streaming access-policy window";
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
