// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the distributions of task.json to what draws an input.

#ifndef D2K_TASK_INPUTS_H
#define D2K_TASK_INPUTS_H

#include "d2k/Task/Draw.h"
#include "d2k/Task/Task.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::task {

/// A distribution that the harness makes by name.
struct Generator {
  std::string_view name;
  DrawKind kind;
  /// Its parameters, all of them required numbers.
  std::vector<std::string_view> parameters;
};

/// All generators that task.json may name.
const std::vector<Generator> &getGenerators();

/// How to draw \p input of \p task by \p distribution under the values \p axes.
/// Fails with kind Input on a derived input, on an unknown generator and on
/// parameters that it does not have, lacks, or cannot use; the message starts
/// with what is wrong.
Result<DrawSpec> getDrawSpec(const Task &task, const Tensor &input,
                             const Distribution &distribution,
                             const AxisValues &axes);

} // namespace d2k::task

#endif // D2K_TASK_INPUTS_H
