// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads PTX text into a syntax tree. Accepts what ptxas accepts as far as the
// tree needs it; checks names and shapes of statements, not types: ptxas judges
// programs, this parser translates them.

#ifndef D2K_FRONTEND_PTX_PARSER_H
#define D2K_FRONTEND_PTX_PARSER_H

#include "d2k/Frontend/PTX/AST.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace d2k::ptx {

/// Receives errors, and remarks about opcodes, modifiers and directives that
/// the tables do not know (they are kept as opaque and never an error; one
/// remark a spelling).
using DiagnosticHandler =
    llvm::function_ref<void(const llvm::SMDiagnostic &diagnostic)>;

/// A module and whether it is whole.
struct ParseOutcome {
  /// Never null. After errors it lacks the statements that had them.
  std::unique_ptr<Module> module;
  /// Number of errors, also those beyond the limit that were not reported.
  unsigned numErrors = 0;
  bool succeeded() const { return numErrors == 0; }
};

struct ParseOptions {
  /// Reported errors; further ones are counted only.
  unsigned maxErrors = 100;
  /// Reported remarks; the last one says how many more there would be.
  unsigned maxRemarks = 100;
  /// Depth of nested scopes, initialisers and constant expressions.
  unsigned maxDepth = 256;
  /// Largest `<count>` of a parameterised variable: each becomes an entity.
  unsigned maxVariables = 1u << 16;
};

/// Parses \p buffer. The module does not refer to the buffer afterwards, but
/// diagnostics and offsets do. Buffers of 4 GiB or more are an error.
ParseOutcome parse(llvm::MemoryBufferRef buffer, DiagnosticHandler handler,
                   const ParseOptions &options = {});

/// Parses the main buffer of \p sourceMgr and prints diagnostics through it.
ParseOutcome parse(llvm::SourceMgr &sourceMgr,
                   const ParseOptions &options = {});

} // namespace d2k::ptx

#endif // D2K_FRONTEND_PTX_PARSER_H
