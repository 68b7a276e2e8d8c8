// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the folder of a task.

#include "d2k/Support/Files.h"
#include "d2k/Task/Lint.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::task;

void d2k::task::addFaults(std::vector<std::string> &faults,
                          const Failure &failure, const std::string &root) {
  std::string prefix = joinPath(root, "");
  std::string_view rest = failure.message;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.substr(0, prefix.size()) == prefix)
      line.remove_prefix(prefix.size());
    faults.emplace_back(line);
  }
}

TaskFolderLint d2k::task::lintTaskFolder(const std::string &root,
                                         const std::string &name) {
  TaskFolderLint lint;
  std::string folder = "tasks/" + name;
  std::string file = joinPath(folder, "task.json");
  Result<Task> task = Task::load(joinPath(root, file));
  if (!task) {
    addFaults(lint.faults, task.error(), root);
    return lint;
  }
  for (const std::string &fault : lintTask(*task, name))
    lint.faults.push_back(file + ": " + fault);

  std::string description = joinPath(folder, "description.md");
  if (Result<std::string> text = readFile(joinPath(root, description)); !text)
    addFaults(lint.faults, text.error(), root);
  else
    for (const Workload &workload : task->heldOut)
      if (text->find(workload.id) != std::string::npos)
        lint.faults.push_back(description + ": names the held-out workload \"" +
                              workload.id + "\"");
  for (const char *needed :
       {"reference.cu", "baseline.cu", "exemplars/naive.cu"})
    if (!isRegularFile(joinPath(joinPath(root, folder), needed)))
      lint.faults.push_back(joinPath(folder, needed) + ": is missing");
  lint.task = std::move(*task);
  return lint;
}
