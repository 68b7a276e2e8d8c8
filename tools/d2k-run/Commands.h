// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The subcommands of d2k-run, one source file each.

#ifndef D2K_TOOLS_D2K_RUN_COMMANDS_H
#define D2K_TOOLS_D2K_RUN_COMMANDS_H

#include "Arguments.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::run {

/// A subcommand.
struct Command {
  std::string_view name;
  /// "TASK SUBMISSION"
  std::string_view arguments;
  /// One line for the list of commands.
  std::string_view summary;
  std::vector<Option> options;
  /// Does the work; the exit code. A Failure is printed by the caller and
  /// decides the code by its kind.
  Result<int> (*run)(const Arguments &arguments);
};

/// The commands, one a file; getCommands() in d2k-run.cpp has their order.
Command getAgentCommand();
Command getDoctorCommand();
Command getEvalCommand();
Command getLintCommand();
Command getListCommand();
Command getNewCommand();
Command getProposeCommand();
Command getReplayCommand();
Command getServeCommand();
Command getShowCommand();

/// The folder of the task \p name. Fails with kind Usage and the list of the
/// tasks that there are.
Result<std::string> findTaskFolder(const std::string &dataRoot,
                                   const std::string &name);

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_COMMANDS_H
