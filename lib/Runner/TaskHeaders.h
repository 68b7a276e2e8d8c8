// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers that references and baselines of tasks include, embedded in the
// program: an installed one has no source tree. CMakeLists.txt lists them.

#ifndef D2K_LIB_RUNNER_TASKHEADERS_H
#define D2K_LIB_RUNNER_TASKHEADERS_H

#include <vector>

namespace d2k::embedded {

struct TaskHeader {
  /// As it is included: "d2k/Task/Reference.h".
  const char *path;
  const char *text;
};

std::vector<TaskHeader> getTaskHeaders();

} // namespace d2k::embedded

#endif // D2K_LIB_RUNNER_TASKHEADERS_H
