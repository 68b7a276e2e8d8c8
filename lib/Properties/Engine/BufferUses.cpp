// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/BufferUses.h"

#include "llvm/Support/MathExtras.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

/// The pointer or tensor map at \p offset of \p argument.
static const Argument *findPart(const Argument &argument, int64_t offset) {
  if (argument.kind != Argument::Kind::Record)
    return offset == 0 ? &argument : nullptr;
  for (const ArgumentField &field : argument.fields) {
    int64_t size = std::max<int64_t>(field.value.bytes, 1);
    if (offset >= field.offset && offset < field.offset + size)
      return findPart(field.value, offset - field.offset);
  }
  return nullptr;
}

static std::optional<BufferPart> getTarget(const HostTrace &trace,
                                           const Argument *argument) {
  if (!argument)
    return std::nullopt;
  if (argument->kind == Argument::Kind::Pointer && argument->buffer &&
      argument->offset)
    return BufferPart(*argument->buffer, *argument->offset);
  if (argument->kind == Argument::Kind::TensorMap && argument->tensorMap)
    if (std::optional<size_t> buffer =
            trace.tensorMaps[*argument->tensorMap].buffer)
      return BufferPart(*buffer, 0);
  return std::nullopt;
}

/// All threads of all times that it is launched; nothing when not known.
static std::optional<int64_t> getThreads(const Event &event) {
  if (!event.count.value)
    return std::nullopt;
  int64_t threads = *event.count.value;
  for (const auto *extents : {&event.grid, &event.block})
    for (const Quantity &extent : *extents)
      if (!extent.value || llvm::MulOverflow(threads, *extent.value, threads))
        return std::nullopt;
  return threads;
}

static std::optional<int64_t> multiply(std::optional<int64_t> a,
                                       std::optional<int64_t> b) {
  int64_t product;
  if (!a || !b || llvm::MulOverflow(*a, *b, product))
    return std::nullopt;
  return product;
}

BufferUses properties::getBufferUses(const HostDetector &detector,
                                     const HostTrace &trace,
                                     const Event &event) {
  BufferUses uses;
  std::optional<size_t> index = detector.findKernel(event);
  if (!index) {
    uses.readsUnknown = uses.writesUnknown = true;
    uses.unknown = "the kernel launched at " +
                   HostDetector::describe(event.where) +
                   " is not among those analysed";
    return uses;
  }
  const KernelFacts &kernel = detector.getAnalysis().kernels[*index];
  uses.readsUnknown = kernel.readsUnknown;
  uses.writesUnknown = kernel.writesUnknown;
  if (kernel.readsUnknown || kernel.writesUnknown)
    uses.unknown = kernel.demangled +
                   " uses memory through addresses whose origin is not known";
  std::optional<int64_t> threads = getThreads(event);
  for (const ParameterUse &use : kernel.parameterUses) {
    const Argument *argument =
        use.parameter < event.arguments.size()
            ? findPart(event.arguments[use.parameter], use.offset)
            : nullptr;
    // Nothing is behind a null pointer.
    if (argument && argument->kind == Argument::Kind::Integer &&
        argument->bytes == 8 && argument->integer.value == 0)
      continue;
    std::optional<BufferPart> target = getTarget(trace, argument);
    if (!target) {
      uses.readsUnknown |= use.reads;
      uses.writesUnknown |= use.writes;
      uses.unknown = "argument " + std::to_string(use.parameter + 1) +
                     " of the launch at " +
                     HostDetector::describe(event.where) + " is not known";
      continue;
    }
    if (use.reads)
      uses.reads.insert(*target);
    if (!use.writes)
      continue;
    std::optional<int64_t> bytes = multiply(use.storedBytes, threads);
    auto [entry, isNew] = uses.writes.try_emplace(*target, bytes);
    // Through two parameters.
    if (!isNew)
      entry->second = entry->second && bytes
                          ? std::optional(*entry->second + *bytes)
                          : std::nullopt;
  }
  return uses;
}
