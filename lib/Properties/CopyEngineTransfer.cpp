// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// copy_engine_transfer: peer data is moved by copy engines, on another stream
// than a kernel of the same call. A copy on the stream of the kernels runs
// after them, not beside them.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces())
    for (const Event &event : trace.events) {
      if (event.kind != EventKind::Copy || !event.peer)
        continue;
      bool beside = false, sameStream = false;
      for (const Event *launch : detector.getLaunches(trace)) {
        bool known = launch->stream >= 0 && event.stream >= 0;
        beside |= known && launch->stream != event.stream;
        sameStream |= known && launch->stream == event.stream;
      }
      if (beside)
        detector.addEvent(trace, std::nullopt, event, {});
      else if (sameStream)
        detector.addNearMiss(
            std::nullopt,
            "the peer copy at " + HostDetector::describe(event.where) +
                " is on the stream of the kernels, so that nothing runs "
                "beside it",
            {event.where});
    }
}

namespace d2k::properties {
Property makeCopyEngineTransfer() {
  PropertyInfo info;
  info.id = "copy_engine_transfer";
  info.group = 'F';
  info.summary = "copy engines move peer data beside the kernel";
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
