// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of d2k-run: one file each, and a line in d2k-run.cpp.

#ifndef D2K_TOOLS_D2K_RUN_COMMANDS_H
#define D2K_TOOLS_D2K_RUN_COMMANDS_H

#include "d2k/Support/Failure.h"

#include <string>
#include <vector>

namespace d2k::run {

/// What follows the command's name on the command line.
using Arguments = std::vector<std::string>;

struct CommandEntry {
  const char *name;
  /// As in the usage line: "TASK DIR".
  const char *arguments;
  /// One line for --help.
  const char *summary;
  /// Returns the exit code.
  int (*run)(const Arguments &arguments);
};

/// Prints `d2k-run: error: MESSAGE` and returns the exit code of its kind.
int complain(const Failure &failure);

int runDoctor(const Arguments &arguments);

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_COMMANDS_H
