// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef D2K_TOOLS_D2K_TRANSLATE_SASSLINES_H
#define D2K_TOOLS_D2K_TRANSLATE_SASSLINES_H

#include "d2k/Support/Failure.h"

#include "llvm/Support/raw_ostream.h"

namespace d2k {

/// Prints, for each code section of the cubin \p bytes, the source lines of the
/// instructions and the line of PTX, where they change:
///   .text.NAME
///   0x0010 ptx 57: /src/wait.h:5 wait < /src/main.cu:20
Result<void> printSassLines(llvm::StringRef bytes, const std::string &name,
                            llvm::raw_ostream &os);

} // namespace d2k

#endif // D2K_TOOLS_D2K_TRANSLATE_SASSLINES_H
