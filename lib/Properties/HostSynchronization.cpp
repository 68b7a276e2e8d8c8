// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// host_synchronization: the host waits for the device in a call of the entry.

#include "Engine/HostCalls.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  detector.addCalls(cuda::EventKind::Synchronize);
}

namespace d2k::properties {
Property makeHostSynchronization() {
  return makeCallProperty("host_synchronization",
                          "the host waits for the device on the launch path",
                          detect);
}
} // namespace d2k::properties
