// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the operands of an instruction as nvdisasm prints them.

#ifndef D2K_LIB_FRONTEND_SASS_OPERANDPARSER_H
#define D2K_LIB_FRONTEND_SASS_OPERANDPARSER_H

#include "d2k/Frontend/SASS/AST.h"

#include <optional>
#include <string_view>
#include <vector>

namespace d2k::sass {

/// Reads \p text (`R4,desc[UR8][R2.64+0x10],!P0`). An operand that is no
/// register, number or address becomes a Word, so that nothing is lost.
std::vector<Operand> parseOperands(std::string_view text);

/// Reads a guard, `@!P0`; nothing when it is none.
std::optional<Guard> parseGuard(std::string_view text);

} // namespace d2k::sass

#endif // D2K_LIB_FRONTEND_SASS_OPERANDPARSER_H
