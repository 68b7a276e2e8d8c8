// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// host_synchronization: the host waits for the device in a call of the entry.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  detector.addCalls(cuda::EventKind::Synchronize);
}

namespace d2k::properties {
Property makeHostSynchronization() {
  PropertyInfo info;
  info.id = "host_synchronization";
  info.group = 'E';
  info.summary = "the host waits for the device on the launch path";
  info.attributes = {{"call", AttrType::String, {}, "the function called"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  info.inverse = true;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
