// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line tables of a cubin: which source lines, inlining included, an instruction
// was compiled from (`.debug_line`), and which line of PTX
// (`.nv_debug_line_sass`). Both are DWARF line programs of version 2 to 4 with
// NVIDIA's extended opcodes 0x90 (inlined call) and 0x91 (function name).
//
// A row with a *context* says that its line is in a function inlined at the
// line of an earlier row of the same sequence: 0x90 has the number of that row
// (from 1, ULEB128) and the offset of the inlined function's mangled name in
// `.debug_str` (ULEB128). Context 0 ends inlining.
//
// Example: rows 1 (address 0x00, main.cu:367) and 2 (0x10, mma.h:73, context 1,
// name "_Z4waitv") give offset 0x10 the frames mma.h:73 in `wait`, inlined at
// main.cu:367.
//
// Neither columns (ptxas writes none) nor DWARF 5 have been seen in a cubin;
// a table of version 5 is an error.

#ifndef D2K_FRONTEND_SASS_LINETABLE_H
#define D2K_FRONTEND_SASS_LINETABLE_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::sass {

/// One source line of an instruction.
struct LineFrame {
  /// Path as the compiler recorded it, valid as long as the table; empty for
  /// file 0, which stands for the PTX in `.nv_debug_line_sass`.
  std::string_view file;
  /// From 1.
  uint32_t line = 0;
  /// From 1; 0 when the table has none.
  uint32_t column = 0;
  /// Mangled name of the inlined function that the line is in; empty for the
  /// function that was not inlined.
  std::string_view function;
};

/// Where one set-address operand of a line program points to.
struct LineRelocation {
  /// Place of the operand in the section of the line program.
  uint64_t offset = 0;
  /// Whose code section: NAME of `.text.NAME`.
  std::string function;
  /// Offset in that section: value of the symbol, and addend when the
  /// relocation has one.
  uint64_t value = 0;
  /// The relocation has its own addend (RELA); else the operand is added.
  bool hasAddend = false;
};

/// The rows of one section's line programs, by function and offset.
class LineTable {
public:
  /// Reads all line programs of \p lines, the bytes of a section. \p strings is
  /// `.debug_str`, which names of inlined functions point into; the table keeps
  /// a copy. A sequence whose address has no relocation belongs to the function
  /// "". Fails with kind Input and the offset in the section.
  static Result<LineTable> parse(std::string_view lines,
                                 std::string_view strings,
                                 std::vector<LineRelocation> relocations);

  /// The source lines of the instruction at \p offset of \p function's code
  /// section, innermost first; empty when the table does not know. What it
  /// returns points into the table.
  std::vector<LineFrame> lookup(std::string_view function,
                                uint64_t offset) const;

  bool empty() const { return sequences.empty(); }

private:
  struct Row {
    uint64_t address;
    uint32_t file, line, column;
    /// Number of the row that this one was inlined at, 0 for none.
    uint32_t context;
    uint32_t functionName;
  };
  struct Sequence {
    uint64_t end = 0;
    /// First of the program's files in `files`.
    uint32_t firstFile = 0;
    std::vector<Row> rows;
  };
  class Reader;

  std::string strings;
  std::vector<std::string> files;
  /// By function and first address.
  std::map<std::string, std::map<uint64_t, Sequence>, std::less<>> sequences;
};

} // namespace d2k::sass

#endif // D2K_FRONTEND_SASS_LINETABLE_H
