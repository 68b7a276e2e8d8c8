// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packs argument structures. The order of the fields is that of
// lib/Task/EntryHeader.cpp; a unit test compiles the header and compares.

#include "d2k/Task/Arguments.h"

#include "d2k/Task/Numbers.h"

#include <cstring>

using namespace d2k;
using namespace d2k::task;

namespace d2k::task {

class ArgumentPacker {
public:
  ArgumentPacker(const Task &task, const Workload &workload,
                 const AxisValues &axes, unsigned ranks,
                 const PointerLookup &lookup, ArgumentsFor purpose)
      : task(task), workload(workload), axes(axes), ranks(ranks),
        lookup(lookup), purpose(purpose) {}

  Result<ArgumentBlock> pack(unsigned rank);

private:
  /// Appends a field of \p size bytes, aligned to its size as in C.
  void append(uint64_t bits, size_t size) {
    std::vector<char> &bytes = block.bytes;
    bytes.resize((bytes.size() + size - 1) / size * size);
    size_t at = bytes.size();
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, &bits, size); // Little-endian.
  }
  /// Appends a pointer to an array with the buffer \p name of each rank.
  void appendPeers(std::string_view name) {
    std::vector<uint64_t> peers;
    for (unsigned peer = 0; peer < ranks; ++peer)
      peers.push_back(lookup(peer, name));
    block.peerArrays.push_back(std::move(peers));
    append(reinterpret_cast<uintptr_t>(block.peerArrays.back().data()), 8);
  }
  Result<void> appendTensor(unsigned rank, const Tensor &tensor);
  Result<void> appendScalar(const Tensor &tensor);
  Result<void> appendSymmetric();

  const Task &task;
  const Workload &workload;
  const AxisValues &axes;
  unsigned ranks;
  const PointerLookup &lookup;
  ArgumentsFor purpose;
  ArgumentBlock block;
};

} // namespace d2k::task

static tl::unexpected<Failure> failInput(std::string message) {
  return fail(FailureKind::Input, std::move(message));
}

Result<void> ArgumentPacker::appendScalar(const Tensor &tensor) {
  const Distribution &distribution = task.getDistribution(tensor, workload);
  if (distribution.kind != DistributionKind::Constant)
    return failInput(tensor.name + ": a scalar needs a constant distribution");
  append(encodeElement(tensor.type, distribution.value),
         size_t(getElementBits(tensor.type)) / 8);
  return {};
}

Result<void> ArgumentPacker::appendTensor(unsigned rank, const Tensor &tensor) {
  if (tensor.isScalar)
    return appendScalar(tensor);
  // Tasks with constant inputs have one rank, and no peers.
  if (purpose == ArgumentsFor::Prepare && !tensor.isConstant) {
    append(0, 8);
    return {};
  }
  Result<int64_t> size = task.getByteSize(tensor, axes);
  if (!size)
    return forwardFailure(std::move(size));
  for (unsigned peer = 0; peer < ranks; ++peer)
    if (*size != 0 && (tensor.hasPeers || peer == rank) &&
        lookup(peer, tensor.name) == 0)
      return failInput(tensor.name + ": rank " + std::to_string(peer) +
                       " has no buffer for it");
  if (tensor.hasPeers)
    appendPeers(tensor.name);
  else
    append(lookup(rank, tensor.name), 8);
  return {};
}

Result<void> ArgumentPacker::appendSymmetric() {
  Result<int64_t> scratch = task.symmetric->scratchBytes.evaluate(axes);
  if (!scratch)
    return forwardFailure(std::move(scratch));
  Result<int64_t> signals = task.symmetric->signalWords.evaluate(axes);
  if (!signals)
    return forwardFailure(std::move(signals));
  appendPeers(kScratchName);
  append(uint64_t(*scratch), 8);
  appendPeers(kSignalsName);
  append(uint64_t(*signals), 8);
  return {};
}

Result<ArgumentBlock> ArgumentPacker::pack(unsigned rank) {
  block = ArgumentBlock();
  for (const Axis &axis : task.axes)
    if (axis.kind != AxisKind::Constant)
      append(uint64_t(axes.at(axis.name)), 8);
  if (task.findMachineAxis())
    append(rank, 8);
  for (const std::vector<Tensor> *list : {&task.inputs, &task.outputs})
    for (const Tensor &tensor : *list)
      if (Result<void> done = appendTensor(rank, tensor); !done)
        return forwardFailure(std::move(done));
  if (task.symmetric)
    if (Result<void> done = appendSymmetric(); !done)
      return forwardFailure(std::move(done));
  if (task.hasPrepare()) {
    append(lookup(rank, kPreparedName), 8);
    Result<int64_t> bytes = task.getPreparedBytes(axes);
    if (!bytes)
      return forwardFailure(std::move(bytes));
    append(uint64_t(*bytes), 8);
  }
  // The structure's size is a multiple of its strictest alignment.
  block.bytes.resize((block.bytes.size() + 7) / 8 * 8);
  return std::move(block);
}

Result<std::vector<ArgumentBlock>>
d2k::task::packArguments(const Task &task, const Workload &workload,
                         const AxisValues &machine, const PointerLookup &lookup,
                         ArgumentsFor purpose) {
  AxisValues axes = task.getAxisValues(workload, machine);
  for (const Axis &axis : task.axes)
    if (!axes.count(axis.name))
      return failInput("workload " + workload.id +
                       " has no value for the axis " + axis.name);
  const Axis *machineAxis = task.findMachineAxis();
  unsigned ranks = machineAxis ? unsigned(axes.at(machineAxis->name)) : 1;
  std::vector<ArgumentBlock> blocks;
  ArgumentPacker packer(task, workload, axes, ranks, lookup, purpose);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    Result<ArgumentBlock> block = packer.pack(rank);
    if (!block)
      return forwardFailure(std::move(block));
    blocks.push_back(std::move(*block));
  }
  return blocks;
}
