// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to global memory that move data of the result, which
// vector_global_access and coalesced_global_access are claims about.

#ifndef D2K_LIB_PROPERTIES_ENGINE_GLOBALDATA_H
#define D2K_LIB_PROPERTIES_ENGINE_GLOBALDATA_H

#include "Engine/Detector.h"

namespace d2k::properties {

/// How far access number `access`, a load, an asynchronous copy or an ordinary
/// store of global memory, is proved to move input data or results; nothing
/// for what is no data: tables of indices and pointers, flags, counters, fills
/// and other operations.
std::optional<Judgement> judgeGlobalData(Detector &detector, uint32_t access);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_GLOBALDATA_H
