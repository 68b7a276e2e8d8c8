// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the commands in which an agent works.

#ifndef D2K_TOOLS_D2K_RUN_AGENTARGUMENTS_H
#define D2K_TOOLS_D2K_RUN_AGENTARGUMENTS_H

#include "Arguments.h"

#include "d2k/Agent/Run.h"

namespace d2k::run {

/// \p own, followed by those that name a model and its limits.
std::vector<Option> addModelOptions(std::vector<Option> own);
Result<agent::ModelOptions> readModelOptions(const Arguments &arguments);

/// Reads the whole number of option \p name, from \p least to a milliard, if it
/// is given.
Result<void> readCount(const Arguments &arguments, std::string_view name,
                       int64_t least, int64_t &count);

/// \p own, followed by those of a run and of its evaluations.
std::vector<Option> addRunOptions(std::vector<Option> own);
/// All but the model.
Result<agent::RunOptions> readRunOptions(const Arguments &arguments);

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_AGENTARGUMENTS_H
