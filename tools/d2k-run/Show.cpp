// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run show: what somebody who works on a task is told.

#include "Commands.h"

#include "d2k/Rubric/Guidance.h"
#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;

/// How many levels of guidance \p name stands for; fails with kind Usage.
static Result<unsigned> parseLevels(const std::string &name) {
  constexpr std::string_view kNames[] = {"none", "L1", "L1+L2", "all"};
  for (unsigned levels = 0; levels < std::size(kNames); ++levels)
    if (kNames[levels] == name)
      return levels;
  return fail(FailureKind::Usage, "--guidance: expected none, L1, L1+L2 or "
                                  "all, got '" +
                                      name + "'");
}

static Result<int> show(const Arguments &arguments) {
  if (arguments.getPositional().size() != 1)
    return fail(FailureKind::Usage, "show needs one argument, the TASK");
  const std::string &name = arguments.getPositional().front();
  Result<unsigned> levels =
      parseLevels(arguments.get("guidance").value_or("none"));
  if (!levels)
    return forwardFailure(std::move(levels));
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  Result<std::string> folder = findTaskFolder(*root, name);
  if (!folder)
    return forwardFailure(std::move(folder));
  Result<std::string> text = readFile(joinPath(*folder, "description.md"));
  if (!text)
    return forwardFailure(std::move(text));
  if (*levels != 0) {
    std::string path = joinPath(*root, "guidance/" + name + ".md");
    if (!isRegularFile(path))
      return fail(FailureKind::Input,
                  "task " + name + " has no guidance: " + path +
                      " does not exist (d2k-run list says which tasks have)");
    Result<std::string> guidance = readFile(path);
    if (!guidance)
      return forwardFailure(std::move(guidance));
    *text += "\n" + rubric::selectGuidance(*guidance, *levels);
  }
  std::fputs(sanitizeLines(*text).c_str(), stdout);
  return 0;
}

Command d2k::run::getShowCommand() {
  return {"show",
          "TASK",
          "Prints the description of a task, as an agent reads it.",
          {{"guidance", "none|L1|L1+L2|all",
            "add the guidance up to this level (none)"}},
          show};
}
