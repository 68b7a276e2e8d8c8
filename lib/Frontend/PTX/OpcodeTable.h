// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-ups that only the parser needs.

#ifndef D2K_LIB_FRONTEND_PTX_OPCODETABLE_H
#define D2K_LIB_FRONTEND_PTX_OPCODETABLE_H

#include "d2k/Frontend/PTX/Opcodes.h"

namespace d2k::ptx {

/// The opcode spelled exactly \p spelling, or Unknown.
Opcode lookupOpcode(llvm::StringRef spelling);

} // namespace d2k::ptx

#endif // D2K_LIB_FRONTEND_PTX_OPCODETABLE_H
