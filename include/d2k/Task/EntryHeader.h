// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C header of a task's entry point, generated from task.json: what a
// submission includes, and what the harness calls.

#ifndef D2K_TASK_ENTRYHEADER_H
#define D2K_TASK_ENTRYHEADER_H

#include "d2k/Task/Task.h"

#include <string>

namespace d2k::task {

/// "d2k_gemm_bf16": the entry function of \p task, and the stem of its header.
std::string getEntryName(const Task &task);

/// The header's text: valid C11 and CUDA C++. The structure has the variable
/// and machine axes, then the inputs and outputs in the order of the file;
/// constant axes are macros. Tensors are pointers to their C type, or to void
/// where C has no such type.
std::string generateEntryHeader(const Task &task);

} // namespace d2k::task

#endif // D2K_TASK_ENTRYHEADER_H
