// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The line information in a cubin's debug sections: which source lines and
// which line of PTX each instruction was made from.

#ifndef D2K_FRONTEND_SASS_DEBUGLINES_H
#define D2K_FRONTEND_SASS_DEBUGLINES_H

#include "d2k/Frontend/SASS/LineTable.h"

namespace d2k::sass {

/// The two line tables of a cubin; a table that the cubin does not have is
/// empty.
struct DebugLines {
  /// `.debug_line`: lines of the source (`-lineinfo`, `-G`).
  LineTable source;
  /// `.nv_debug_line_sass`: lines of the PTX that ptxas read. They count every
  /// line of its text, comments and directives too.
  LineTable ptx;
};

/// Reads the line tables of the cubin \p bytes; \p name stands for it in
/// messages. Fails with kind Input when the file or a table is damaged.
Result<DebugLines> readDebugLines(std::string_view bytes,
                                  const std::string &name);

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_DEBUGLINES_H
