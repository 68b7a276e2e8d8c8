// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// host_allocation: a call of the entry allocates memory. What only the first
// call does, into a static variable, is not on the launch path.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  detector.addCalls(cuda::EventKind::Allocate);
}

namespace d2k::properties {
Property makeHostAllocation() {
  PropertyInfo info;
  info.id = "host_allocation";
  info.group = 'E';
  info.summary = "memory is allocated on the launch path";
  info.attributes = {{"call", AttrType::String, {}, "the function called"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  info.inverse = true;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
