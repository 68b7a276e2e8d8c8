// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a schema cannot say about a task: names that collide, workloads that
// break the constraints, counts that overflow, outputs without tolerance.

#ifndef D2K_TASK_LINT_H
#define D2K_TASK_LINT_H

#include "d2k/Task/Task.h"

#include <string>
#include <vector>

namespace d2k::task {

/// All faults of \p task, each `PATH: message` with the JSON path, in document
/// order. \p folder is the name of the folder that holds the file.
std::vector<std::string> lintTask(const Task &task, std::string_view folder);

} // namespace d2k::task

#endif // D2K_TASK_LINT_H
