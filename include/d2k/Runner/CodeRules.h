// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which code a submission may have. Two checks that complement each other: one
// of the source, whose messages have a line, and one of the compiled library,
// which no macro and no generated code can evade. The walls of the sandbox
// stand behind both.

#ifndef D2K_RUNNER_CODERULES_H
#define D2K_RUNNER_CODERULES_H

#include "d2k/Runner/Submission.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::runner {

/// A place where a submission breaks the rules.
struct CodeFault {
  std::string file;
  /// 1-based; 0 for faults of the compiled library.
  size_t line = 0;
  /// "uses cudaMalloc: memory must not be allocated in a call"
  std::string message;

  /// `FILE:LINE: message`.
  std::string toString() const;
};

/// Faults in the source of \p submission for the task \p task: headers that are
/// not on the list (lib/Runner/AllowedHeaders.def), names that are forbidden
/// (ForbiddenNames.def), directives that hide code. Comments and string
/// literals do not count, but for the text of inline assembly.
std::vector<CodeFault> checkSource(const Submission &submission,
                                   std::string_view task);

/// Faults of the shared library \p path: functions that it imports from other
/// libraries and that are not on the list (AllowedImports.def), and libraries
/// that it needs. Fails when it is no ELF file of this machine.
Result<std::vector<CodeFault>> checkImports(const std::string &path);

/// Whether the shared library \p path defines the symbol \p name for others.
/// Fails as checkImports does.
Result<bool> isDefined(const std::string &path, const std::string &name);

} // namespace d2k::runner

#endif // D2K_RUNNER_CODERULES_H
