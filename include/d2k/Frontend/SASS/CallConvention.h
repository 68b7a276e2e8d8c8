// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which registers a call of a function in another module needs and may change.
// NVIDIA publishes no binding interface for machine code; these are the sets
// that `nvdisasm -plr` assumes at a call whose callee it does not see, and
// scripts/frontend-oracles compares them with it. What it leaves open counts as
// changed.
//
// Example: around `CALL.ABS.NOINC callee`, arguments are in R4 to R15 and on
// the stack that R1 points to; R16 to R31 and R36 to R39 keep their values, R4
// and R32 do not.

#ifndef D2K_FRONTEND_SASS_CALLCONVENTION_H
#define D2K_FRONTEND_SASS_CALLCONVENTION_H

#include "d2k/Frontend/SASS/Module.h"

namespace d2k::sass {

/// Whether \p instruction, of a function of \p module, calls what is not in
/// the module, or not known: through a register, or a symbol that no function
/// of the module has.
bool callsForeignCode(const Module &module, const Instruction &instruction);

/// Registers whose value a callee in another module may use.
const RegisterSet &getForeignCallReads();

/// Registers whose value a callee in another module may change: all but the
/// stack pointer R1, R2, R16 to R31, the upper four of each eight from R32 on,
/// and UR36 and above.
const RegisterSet &getForeignCallWrites();

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_CALLCONVENTION_H
