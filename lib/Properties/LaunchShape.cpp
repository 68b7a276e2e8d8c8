// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch_shape: the block with which a kernel is launched.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces())
    for (const Event *event : detector.getLaunches(trace)) {
      std::optional<size_t> kernel = detector.findKernel(*event);
      if (!kernel)
        continue;
      static constexpr const char *kNames[] = {"x", "y", "z"};
      AttributeMap attributes;
      std::string unknown;
      for (int i = 0; i < 3; ++i) {
        const Quantity &extent = event->block[i];
        if (extent.value)
          attributes[kNames[i]] = *extent.value;
        else
          unknown = extent.unknown;
      }
      if (!unknown.empty())
        detector.addUndecided(trace, kernel,
                              "the block of the launch at " +
                                  HostDetector::describe(event->where) +
                                  " depends on " + unknown,
                              kLaunchList, {event->where});
      else
        detector.addEvent(trace, kernel, *event, std::move(attributes));
    }
}

namespace d2k::properties {
Property makeLaunchShape() {
  PropertyInfo info;
  info.id = "launch_shape";
  info.group = 'C';
  info.summary = "the block's shape is known; a plain fact, never credit alone";
  info.attributes = {{"x", AttrType::Integer, {}, "threads in x"},
                     {"y", AttrType::Integer, {}, "threads in y"},
                     {"z", AttrType::Integer, {}, "threads in z"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Kernel;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
