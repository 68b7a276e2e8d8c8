// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of each kernel, with what the host code knows of their numbers.

#include "Engine/HostDetector.h"
#include "Engine/ResultUse.h"

#include "d2k/Frontend/CUDA/KernelName.h"
#include "d2k/Properties/LaunchedKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::cuda;
using namespace d2k::properties;

namespace {
/// Lays the arguments of a launch out as bytes.
class Flattener {
public:
  /// \p unread: by buffer.
  Flattener(const HostTrace &trace, const std::vector<bool> &unread,
            LaunchValues &values)
      : trace(trace), unread(unread), values(values) {}

  void add(const Argument &argument, unsigned parameter, int64_t offset);
  /// Forgets what several members of a union are said to be.
  void finish();

private:
  void addBytes(ParameterPlace at, int64_t size, uint64_t bits);

  const HostTrace &trace;
  const std::vector<bool> &unread;
  LaunchValues &values;
  /// Where each argument or field begins and ends.
  std::vector<std::pair<ParameterPlace, int64_t>> parts;
};
} // namespace

void Flattener::addBytes(ParameterPlace at, int64_t size, uint64_t bits) {
  if (size < 1 || size > 8)
    return;
  for (int64_t byte = 0; byte < size; ++byte)
    values.bytes[{at.first, at.second + byte}] = uint8_t(bits >> (8 * byte));
}

void Flattener::add(const Argument &argument, unsigned parameter,
                    int64_t offset) {
  ParameterPlace at{parameter, offset};
  if (argument.kind != Argument::Kind::Record)
    parts.push_back({at, argument.bytes});
  switch (argument.kind) {
  case Argument::Kind::Integer:
    if (argument.integer.value)
      addBytes(at, argument.bytes, uint64_t(*argument.integer.value));
    break;
  case Argument::Kind::Real:
    if (argument.bytes == 4)
      addBytes(at, 4, llvm::bit_cast<uint32_t>(float(argument.real)));
    else if (argument.bytes == 8)
      addBytes(at, 8, llvm::bit_cast<uint64_t>(argument.real));
    break;
  case Argument::Kind::Pointer: {
    if (!argument.buffer)
      break;
    const Buffer &buffer = trace.buffers[*argument.buffer];
    LaunchPointer pointer;
    pointer.buffer = uint32_t(*argument.buffer);
    pointer.offset = argument.offset;
    // As the host's own conditions on addresses are answered: tensors of a
    // task, and what cudaMalloc returns. Other pointers may be null.
    bool isTensor = (buffer.kind == Buffer::Kind::Input ||
                     buffer.kind == Buffer::Kind::Output) &&
                    !trace.workload.empty() && buffer.bytes;
    if (isTensor || buffer.kind == Buffer::Kind::Allocation)
      pointer.alignment = 256;
    if (pointer.alignment > 1)
      values.pointers[at] = pointer;
    if (unread[*argument.buffer])
      values.unread[at] = buffer.name;
    break;
  }
  case Argument::Kind::Record:
    for (const ArgumentField &field : argument.fields)
      add(field.value, parameter, offset + field.offset);
    break;
  case Argument::Kind::TensorMap:
    if (!argument.tensorMap)
      break;
    if (std::optional<size_t> buffer =
            trace.tensorMaps[*argument.tensorMap].buffer;
        buffer && unread[*buffer])
      values.unread[at] = trace.buffers[*buffer].name;
    break;
  case Argument::Kind::Unknown:
    break;
  }
}

void Flattener::finish() {
  llvm::sort(parts);
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    auto [at, size] = parts[i];
    for (size_t j = i + 1; j < parts.size(); ++j) {
      auto [next, nextSize] = parts[j];
      if (next.first != at.first || next.second >= at.second + size)
        break;
      for (auto [begin, length] : {parts[i], parts[j]})
        for (int64_t byte = 0; byte < length; ++byte) {
          values.bytes.erase({begin.first, begin.second + byte});
          values.pointers.erase({begin.first, begin.second + byte});
          values.unread.erase({begin.first, begin.second + byte});
        }
    }
  }
}

/// Of the memory that nobody reads, \p kernel has to write what counts.
static LaunchValues getValues(const HostTrace &trace,
                              const std::vector<bool> &unread,
                              const KernelFacts &kernel, const Event &event) {
  LaunchValues values;
  for (unsigned axis = 0; axis < 3; ++axis) {
    values.grid[axis] = event.grid[axis].value;
    values.block[axis] = event.block[axis].value;
  }
  Flattener flattener(trace, unread, values);
  for (auto [i, argument] : llvm::enumerate(event.arguments))
    flattener.add(argument, unsigned(i), 0);
  flattener.finish();
  std::erase_if(values.unread, [&](const auto &entry) {
    return llvm::none_of(kernel.parameterUses, [&](const ParameterUse &use) {
      return use.writes && use.parameter == entry.first.first &&
             use.offset == entry.first.second;
    });
  });
  return values;
}

LaunchMap properties::findLaunches(const HostProgram &program,
                                   Analysis &analysis) {
  LaunchMap result;
  HostDetector detector(program, analysis, {});
  for (const HostTrace &trace : program.traces) {
    std::vector<ResultUse> uses = getResultUses(detector, trace);
    std::vector<bool> unread = getUnreadBuffers(detector, trace);
    bool isOpen = !program.complete || !trace.complete;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const Event &event = trace.events[i];
      if (event.kind != EventKind::Launch ||
          HostDetector::hasBlocks(event) == Tristate::No ||
          event.count.value == 0)
        continue;
      std::optional<size_t> index = detector.findKernel(event);
      if (!index) {
        // It may be a launch of any kernel of that name.
        for (const KernelFacts &kernel : analysis.kernels)
          if (event.kernel.empty() ||
              isSameKernelName(kernel.name, event.kernel))
            result[kernel.name].open.insert(trace.workload);
        continue;
      }
      if (uses[i].used == Tristate::No)
        continue;
      KernelLaunches &launches = result[analysis.kernels[*index].name];
      LaunchValues values =
          getValues(trace, unread, analysis.kernels[*index], event);
      if (launches.launches.size() >= KernelLaunches::kMaxLaunches &&
          !launches.launches.contains(values))
        // Of these, what the code says holds.
        values = {};
      auto [entry, isNew] = launches.launches.try_emplace(std::move(values));
      KernelLaunch &launch = entry->second;
      if (isNew)
        launch.where = event.where;
      bool isCertain =
          HostDetector::isIssued(trace, event) && uses[i].used == Tristate::Yes;
      (isCertain ? launch.certain : launch.possible).insert(trace.workload);
    }
    if (isOpen)
      for (const KernelFacts &kernel : analysis.kernels)
        result[kernel.name].open.insert(trace.workload);
  }
  // Files have kernels of their own under one name.
  std::set<std::string> names;
  for (const KernelFacts &kernel : analysis.kernels)
    if (!names.insert(kernel.name).second)
      result.erase(kernel.name);
  return result;
}
