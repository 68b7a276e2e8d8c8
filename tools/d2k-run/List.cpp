// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run list: the tasks that there are.

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Task/Task.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;

/// "1", or the numbers that a machine axis allows: "2, 4, 8".
static std::string getDevices(const task::Task &task) {
  const task::Axis *axis = task.findMachineAxis();
  if (!axis)
    return "1";
  std::string text;
  for (int64_t value : axis->values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

static Result<int> list(const Arguments &arguments) {
  if (!arguments.getPositional().empty())
    return fail(FailureKind::Usage, "list takes no arguments, got '" +
                                        arguments.getPositional().front() +
                                        "'");
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  std::string tasks = joinPath(*root, "tasks");
  Result<std::vector<std::string>> names = listDirectory(tasks);
  if (!names)
    return forwardFailure(std::move(names));
  std::printf("%-24s %9s  %-7s  %s\n", "task", "workloads", "GPUs", "what");
  for (const std::string &name : *names) {
    std::string file = joinPath(joinPath(tasks, name), "task.json");
    if (!isRegularFile(file))
      continue;
    Result<task::Task> task = task::Task::load(file);
    if (!task)
      return forwardFailure(std::move(task));
    std::printf("%-24s %9zu  %-7s  %s\n", name.c_str(), task->workloads.size(),
                getDevices(*task).c_str(), sanitize(task->title).c_str());
  }
  return 0;
}

Command d2k::run::getListCommand() {
  return {"list", "", "Lists the tasks.", {}, list};
}
