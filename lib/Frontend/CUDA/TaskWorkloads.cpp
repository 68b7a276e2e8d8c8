// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Frontend/CUDA/TaskWorkloads.h"

using namespace d2k;
using namespace d2k::cuda;

std::vector<HostWorkload> d2k::cuda::makeHostWorkloads(const task::Task &task) {
  std::vector<HostWorkload> result;
  for (const task::Workload &workload : task.workloads) {
    HostWorkload host;
    host.id = workload.id;
    host.arguments.integers = task.getAxisValues(workload);
    for (const task::Axis &axis : task.axes)
      if (axis.kind == task::AxisKind::Machine)
        host.arguments.integers["rank"] = 0;
    auto addTensor = [&](const task::Tensor &tensor, bool isOutput) {
      EntryArguments::Tensor &added = host.arguments.tensors[tensor.name];
      added.isOutput = isOutput;
      if (Result<int64_t> bytes =
              task.getByteSize(tensor, host.arguments.integers))
        added.bytes = *bytes;
    };
    for (const task::Tensor &tensor : task.inputs)
      if (!tensor.isScalar)
        addTensor(tensor, false);
    for (const task::Tensor &tensor : task.outputs)
      addTensor(tensor, true);
    if (Result<int64_t> bytes = task.getWorkspaceBytes(workload))
      host.arguments.workspaceBytes = *bytes;
    result.push_back(std::move(host));
  }
  return result;
}
