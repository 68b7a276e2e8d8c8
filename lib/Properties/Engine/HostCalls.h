// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties that are calls of one kind on the launch path, and better absent.

#ifndef D2K_LIB_PROPERTIES_ENGINE_HOSTCALLS_H
#define D2K_LIB_PROPERTIES_ENGINE_HOSTCALLS_H

#include "Engine/HostDetector.h"

namespace d2k::properties {

/// The inverse property `id` of the host with the attribute `call`.
Property makeCallProperty(std::string id, std::string summary,
                          void (*detect)(HostDetector &detector));

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_HOSTCALLS_H
