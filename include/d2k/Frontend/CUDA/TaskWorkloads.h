// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entry of a task gets under each of its workloads.

#ifndef D2K_FRONTEND_CUDA_TASKWORKLOADS_H
#define D2K_FRONTEND_CUDA_TASKWORKLOADS_H

#include "d2k/Frontend/CUDA/HostReader.h"
#include "d2k/Task/Task.h"

namespace d2k::cuda {

/// The arguments of the entry of \p task, one set for each of its workloads
/// (not the held-out ones), as the fields of the entry's structure: axes are
/// known, tensors are device memory, scalar inputs are not known.
std::vector<HostWorkload> makeHostWorkloads(const task::Task &task);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_TASKWORKLOADS_H
