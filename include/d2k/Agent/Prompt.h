// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an agent is told at the start. Arms differ in the guidance at the end of
// the first message and in nothing else.

#ifndef D2K_AGENT_PROMPT_H
#define D2K_AGENT_PROMPT_H

#include "d2k/Support/Failure.h"
#include "d2k/Task/Task.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

/// "none", "L1", "L1+L2", "all", "placebo".
const std::vector<std::string> &getArmNames();

/// The same for all tasks and arms.
std::string getSystemPrompt();

/// Task, header of the entry, and the budget of \p turns; 0: there is none.
std::string makeTaskText(const task::Task &task, const std::string &description,
                         unsigned turns);

/// The guidance of \p arm for the task \p name, which has its file below
/// \p dataRoot; empty for "none". Placebo is advice about other things, as long
/// as all guidance of the task. Fails with kind Usage on an unknown arm and
/// with kind Input when the task has no guidance.
Result<std::string> makeGuidanceText(const std::string &dataRoot,
                                     const std::string &name,
                                     const std::string &arm);

/// Advice that does not help, \p bytes long up to the end of a sentence.
std::string makePlacebo(size_t bytes);

} // namespace d2k::agent

#endif // D2K_AGENT_PROMPT_H
