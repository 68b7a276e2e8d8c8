// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words at the start of a run.

#include "d2k/Agent/Prompt.h"

#include "d2k/Rubric/Guidance.h"
#include "d2k/Support/Files.h"
#include "d2k/Task/EntryHeader.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::agent;

namespace d2k::embedded {
extern const char *const placeboAdvice;
} // namespace d2k::embedded

const std::vector<std::string> &agent::getArmNames() {
  static const std::vector<std::string> names = {"none", "L1", "L1+L2", "all",
                                                 "placebo"};
  return names;
}

std::string agent::getSystemPrompt() {
  return "You are an engineer who writes GPU kernels in CUDA C++. You are "
         "given "
         "one task and a work directory that is empty at first. Reach correct "
         "results on all workloads, then make the GPU time as short as you "
         "can.\n\n"
         "You work only through the tools. All .cu, .cuh, .h, .hpp and .inl "
         "files in the work directory together are your submission; there are "
         "no other flags, files or libraries. Use `compile` and `test` while "
         "you write, `profile` and `inspect` to see where time goes, and "
         "`submit` whenever you have something that is correct and faster "
         "than before. The fastest correct submission counts, whenever it was "
         "made; it is measured again, on fresh inputs, after you are done.\n\n"
         "Each of your responses is one turn, whatever number of tools it "
         "calls. Work until the turns are used up or nothing can be improved. "
         "Three responses in a row without a tool call end the work.\n";
}

std::string agent::makeTaskText(const task::Task &task,
                                const std::string &description,
                                unsigned turns) {
  std::string text = description;
  if (text.empty() || text.back() != '\n')
    text += '\n';
  text += "\n## The generated header `" + task::getEntryName(task) +
          ".h`\n\n```c\n" + task::generateEntryHeader(task) + "```\n";
  if (turns > 0)
    text += "\n## Budget\n\nYou have " + std::to_string(turns) + " turns.\n";
  return text;
}

std::string agent::makePlacebo(size_t bytes) {
  std::string pool = embedded::placeboAdvice;
  std::string text;
  while (text.size() < bytes)
    text += pool;
  // Back to the end of a sentence, so that nothing looks torn off.
  size_t end = bytes;
  while (end > 0 &&
         !(text[end - 1] == '.' &&
           (end == text.size() || text[end] == '\n' || text[end] == ' ')))
    --end;
  return text.substr(0, end) + "\n";
}

Result<std::string> agent::makeGuidanceText(const std::string &dataRoot,
                                            const std::string &name,
                                            const std::string &arm) {
  const std::vector<std::string> &arms = getArmNames();
  auto found = std::find(arms.begin(), arms.end(), arm);
  if (found == arms.end())
    return fail(FailureKind::Usage, "--guidance: expected none, L1, L1+L2, all "
                                    "or placebo, got '" +
                                        arm + "'");
  if (arm == "none")
    return std::string();
  Result<std::string> guidance =
      readFile(joinPath(dataRoot, "guidance/" + name + ".md"));
  if (!guidance)
    return fail(FailureKind::Input,
                "task " + name +
                    " has no guidance: " + guidance.error().message +
                    " (d2k-run list says which tasks have)");
  std::string text =
      arm == "placebo"
          ? makePlacebo(guidance->size())
          : rubric::selectGuidance(*guidance, unsigned(found - arms.begin()));
  return "\n" + text;
}
