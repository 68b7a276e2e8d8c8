// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a syntax tree as PTX text, from the typed fields alone.

#ifndef D2K_FRONTEND_PTX_PRINTER_H
#define D2K_FRONTEND_PTX_PRINTER_H

#include "d2k/Frontend/PTX/AST.h"

#include "llvm/Support/raw_ostream.h"

namespace d2k::ptx {

struct PrintOptions {
  /// Give every register, label, parameter, table, function-local variable and
  /// internal variable of module scope a new name and number. Functions and
  /// symbols that other modules see keep theirs, and so do the registers of a
  /// module for the target `debug`, whose .debug sections spell them. The code
  /// that ptxas makes of the text is the same: a test that no name carries
  /// meaning in the tree.
  bool rename = false;
};

/// Prints \p module; parsing the text again gives an equal tree.
void print(const Module &module, llvm::raw_ostream &os,
           const PrintOptions &options = {});

/// Prints one instruction without indentation or line end, with the names of
/// the source, for diagnostics and locations.
void print(const Module &module, const Instruction &instruction,
           llvm::raw_ostream &os);

/// Appends the mnemonic as printed: opcode, then modifiers in source order.
void print(const Module &module, const Mnemonic &mnemonic,
           llvm::raw_ostream &os);

} // namespace d2k::ptx

#endif // D2K_FRONTEND_PTX_PRINTER_H
