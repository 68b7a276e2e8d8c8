// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The record of a property, which its file makes.

#ifndef D2K_LIB_PROPERTIES_ENGINE_PROPERTY_H
#define D2K_LIB_PROPERTIES_ENGINE_PROPERTY_H

#include "d2k/Fact/PropertyInfo.h"

#include <vector>

namespace d2k::properties {

class Detector;
class HostDetector;

/// One property: what it is, and how it is found in one kernel and in the host
/// code; one of the two may be missing.
struct Property {
  PropertyInfo info;
  void (*detect)(Detector &detector) = nullptr;
  void (*detectHost)(HostDetector &detector) = nullptr;
  /// detectHost reads the source of device code: it also runs when no host
  /// function launches anything.
  bool readsDeviceSource = false;
};

/// All properties of this library, in the order of their files.
const std::vector<Property> &getProperties();

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_PROPERTY_H
