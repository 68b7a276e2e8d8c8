// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the PTX front end share: parsing text, printing, and the
// hand-written files that have a line for every opcode.

#ifndef D2K_UNIT_FRONTEND_PTX_PTXTESTUTILS_H
#define D2K_UNIT_FRONTEND_PTX_PTXTESTUTILS_H

#include "d2k/Frontend/PTX/Parser.h"
#include "d2k/Frontend/PTX/Printer.h"

#include <memory>
#include <string>
#include <vector>

namespace d2k::test {

/// What a parse gave, with its diagnostics as "line:column: kind: message".
struct Parsed {
  std::unique_ptr<ptx::Module> module;
  unsigned numErrors = 0;
  std::vector<std::string> diagnostics;
};

Parsed parseText(llvm::StringRef text, const ptx::ParseOptions &options = {});

/// The module \p text must parse to, without a diagnostic.
std::unique_ptr<ptx::Module> parseValid(llvm::StringRef text);

/// \p body as the body of an entry with some registers: %p0 to %p7 (.pred),
/// %h0 ... (.b16), %r0 ... (.b32), %d0 ... (.b64).
std::string wrapBody(llvm::StringRef body);

std::string printText(const ptx::Module &module, bool rename = false);

/// All instructions of \p module, in order, those of nested scopes included.
std::vector<ptx::Instruction *> collectInstructions(const ptx::Module &module);

/// The files of test/Frontend/PTX/opcodes.
std::vector<std::string> getOpcodeFiles();
std::string readFile(const std::string &path);

} // namespace d2k::test

#endif // D2K_UNIT_FRONTEND_PTX_PTXTESTUTILS_H
