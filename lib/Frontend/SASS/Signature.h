// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives the operands of an instruction their access and width by the signature
// of its opcode.

#ifndef D2K_LIB_FRONTEND_SASS_SIGNATURE_H
#define D2K_LIB_FRONTEND_SASS_SIGNATURE_H

#include "d2k/Frontend/SASS/AST.h"

namespace d2k::sass {

/// Matches the operands of \p instruction with the signature of its opcode and
/// sets Operand::access, Operand::width and the widths in its addresses;
/// integers at the place of a target become targets. False when the opcode is
/// unknown or an operand does not fit; the operands are then left alone.
bool applySignature(Instruction &instruction);

} // namespace d2k::sass

#endif // D2K_LIB_FRONTEND_SASS_SIGNATURE_H
