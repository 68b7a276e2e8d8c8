// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run lint: checks the tasks. Rubrics and guidance need the analyser's list
// of properties: `d2k-analyze lint` checks those too.

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Task/Lint.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;

static Result<int> lint(const Arguments &arguments) {
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  std::vector<std::string> names = arguments.getPositional();
  for (const std::string &name : names)
    if (Result<std::string> folder = findTaskFolder(*root, name); !folder)
      return forwardFailure(std::move(folder));
  if (names.empty()) {
    Result<std::vector<std::string>> all =
        listDirectory(joinPath(*root, "tasks"));
    if (!all)
      return forwardFailure(std::move(all));
    for (const std::string &name : *all)
      if (isDirectory(joinPath(*root, "tasks/" + name)))
        names.push_back(name);
  }
  size_t faults = 0;
  for (const std::string &name : names)
    for (const std::string &fault : task::lintTaskFolder(*root, name).faults) {
      std::printf("%s\n", sanitize(fault).c_str());
      ++faults;
    }
  std::printf("%zu task%s: %zu fault%s\n", names.size(),
              names.size() == 1 ? "" : "s", faults, faults == 1 ? "" : "s");
  return faults == 0 ? 0 : getExitCode(FailureKind::Finding);
}

Command d2k::run::getLintCommand() {
  return {"lint",
          "[TASK...]",
          "Checks tasks: their files, and task.json.",
          {},
          lint};
}
