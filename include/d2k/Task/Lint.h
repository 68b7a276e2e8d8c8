// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a schema cannot say about a task: names that collide, workloads that
// break the constraints, counts that overflow, outputs without tolerance; and
// files that its folder lacks.

#ifndef D2K_TASK_LINT_H
#define D2K_TASK_LINT_H

#include "d2k/Task/Task.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::task {

/// All faults of \p task, each `PATH: message` with the JSON path, in document
/// order. \p folder is the name of the folder that holds the file.
std::vector<std::string> lintTask(const Task &task, std::string_view folder);

/// A task's folder, checked.
struct TaskFolderLint {
  /// Nothing when task.json could not be loaded.
  std::optional<Task> task;
  /// `FILE: PATH: message`, files relative to the root.
  std::vector<std::string> faults;
};

/// Checks `tasks/NAME` below \p root: task.json, that the files that a task
/// consists of are there, and that the description, which an agent reads, names
/// no held-out workload.
TaskFolderLint lintTaskFolder(const std::string &root, const std::string &name);

/// Adds the lines of \p failure, whose messages name files by their whole path,
/// to \p faults, with files relative to \p root.
void addFaults(std::vector<std::string> &faults, const Failure &failure,
               const std::string &root);

} // namespace d2k::task

#endif // D2K_TASK_LINT_H
