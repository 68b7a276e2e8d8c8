// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// host_allocation: a call of the entry allocates memory. What only the first
// call does, into a static variable, is not on the launch path.

#include "Engine/HostCalls.h"

using namespace d2k;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  detector.addCalls(cuda::EventKind::Allocate);
}

namespace d2k::properties {
Property makeHostAllocation() {
  return makeCallProperty("host_allocation",
                          "memory is allocated on the launch path", detect);
}
} // namespace d2k::properties
