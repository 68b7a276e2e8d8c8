// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that is done at the same time: compilers and disassemblers are waited
// for while other tiers are read.

#ifndef D2K_LIB_DRIVER_TASKS_H
#define D2K_LIB_DRIVER_TASKS_H

#include <functional>
#include <vector>

namespace d2k {

/// Number of tasks that run at once when the user asks for \p jobs; 0 means
/// one for each processor.
unsigned getJobCount(unsigned jobs);

/// Runs \p tasks, at most \p jobs of them at once, and returns when all have
/// ended. They start in their order. Each has a deep stack, as recursive
/// parsers need it; one job runs them on the caller's.
void runTasks(unsigned jobs, const std::vector<std::function<void()>> &tasks);

} // namespace d2k

#endif // D2K_LIB_DRIVER_TASKS_H
