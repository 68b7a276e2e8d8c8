// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an asynchronous copy moves any of its source.

#ifndef D2K_LIB_PROPERTIES_ENGINE_MOVEDBYTES_H
#define D2K_LIB_PROPERTIES_ENGINE_MOVEDBYTES_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// Near miss when copy `op` reads no byte by the constants that it is given.
Judgement judgeMovedBytes(Detector &detector, OpId op);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_MOVEDBYTES_H
