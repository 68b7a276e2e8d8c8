// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of the commands that evaluate submissions.

#ifndef D2K_TOOLS_D2K_RUN_EVALUATEARGUMENTS_H
#define D2K_TOOLS_D2K_RUN_EVALUATEARGUMENTS_H

#include "Arguments.h"

#include "d2k/Runner/Evaluate.h"

namespace d2k::run {

/// \p own, followed by the options that all of these commands have.
std::vector<Option> addEvaluateOptions(std::vector<Option> own);

/// Reads them, for the task \p task. `submission` stays empty. The analyser is
/// named where there is one.
Result<runner::EvaluateOptions> readEvaluateOptions(const Arguments &arguments,
                                                    const std::string &task);

} // namespace d2k::run

#endif // D2K_TOOLS_D2K_RUN_EVALUATEARGUMENTS_H
