// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// global_intermediates: device memory that one kernel of a call writes and a
// later one reads. What a kernel reads and writes comes from its own code,
// which buffer that is from the arguments of the launch.

#include "Engine/HostDetector.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

namespace {
/// A part of a buffer: what one pointer points to. Two offsets of one buffer
/// are two parts.
using Part = std::pair<size_t, int64_t>;

/// The uses of device memory of one launch.
struct Uses {
  std::set<Part> reads, writes;
  /// Why they are not all known.
  std::string unknown;
};
} // namespace

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

static Uses getUses(const HostDetector &detector, const HostTrace &trace,
                    const Event &event) {
  Uses uses;
  std::optional<size_t> index = detector.findKernel(event);
  if (!index) {
    uses.unknown = "the kernel launched at " +
                   HostDetector::describe(event.where) +
                   " is not among those analysed";
    return uses;
  }
  const KernelFacts &kernel = detector.getAnalysis().kernels[*index];
  if (kernel.readsUnknown || kernel.writesUnknown)
    uses.unknown = kernel.demangled +
                   " uses memory through addresses whose origin is not known";
  for (const ParameterUse &use : kernel.parameterUses) {
    const Argument *part =
        use.parameter < event.arguments.size()
            ? findPart(event.arguments[use.parameter], use.offset)
            : nullptr;
    std::optional<Part> target;
    if (part && part->kind == Argument::Kind::Pointer && part->buffer &&
        part->offset)
      target = {*part->buffer, *part->offset};
    if (part && part->kind == Argument::Kind::TensorMap && part->tensorMap &&
        trace.tensorMaps[*part->tensorMap].buffer)
      target = {*trace.tensorMaps[*part->tensorMap].buffer, 0};
    if (!target) {
      uses.unknown = "argument " + std::to_string(use.parameter + 1) +
                     " of the launch at " +
                     HostDetector::describe(event.where) + " is not known";
      continue;
    }
    if (use.reads)
      uses.reads.insert(*target);
    if (use.writes)
      uses.writes.insert(*target);
  }
  return uses;
}

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces()) {
    if (!trace.complete)
      continue;
    std::vector<const Event *> launches = detector.getLaunches(trace);
    std::set<Part> written, intermediates;
    std::vector<SourceLocation> where;
    std::string unknown;
    for (const Event &event : trace.events)
      if (event.kind == EventKind::Library)
        unknown = event.call + "() at " + HostDetector::describe(event.where) +
                  " runs kernels that are not known";
    for (const Event *event : launches) {
      Uses uses = getUses(detector, trace, *event);
      bool alone = launches.size() == 1 && event->count.value == 1;
      if (!alone && !uses.unknown.empty())
        unknown = uses.unknown;
      // Launched again it reads what it wrote before.
      if (event->count.value != 1)
        written.insert(uses.writes.begin(), uses.writes.end());
      if (!event->certain)
        unknown = "the launch at " + HostDetector::describe(event->where) +
                  (event->uncertainBecause.empty()
                       ? std::string(" may not run")
                       : " " + event->uncertainBecause.front());
      for (const Part &part : uses.reads)
        if (written.contains(part) && intermediates.insert(part).second)
          where.push_back(event->where);
      written.insert(uses.writes.begin(), uses.writes.end());
    }
    if (!unknown.empty()) {
      detector.addUndecided(
          trace, std::nullopt,
          "at least " + std::to_string(intermediates.size()) +
              " buffers pass from kernel to kernel, but " + unknown,
          "arguments and addresses that can be followed", where);
      continue;
    }
    AttributeMap attributes;
    attributes["count"] = int64_t(intermediates.size());
    // The size of a part is that of the allocation when it starts it.
    std::optional<int64_t> bytes = 0;
    for (const Part &part : intermediates) {
      const Buffer &buffer = trace.buffers[part.first];
      if (buffer.bytes && part.second == 0 && bytes)
        *bytes += *buffer.bytes;
      else
        bytes.reset();
    }
    if (bytes)
      attributes["bytes"] = *bytes;
    if (where.empty())
      for (const Event *event : launches)
        where.push_back(event->where);
    detector.addFact(trace, std::nullopt, std::move(attributes), where);
  }
}

namespace d2k::properties {
Property makeGlobalIntermediates() {
  PropertyInfo info;
  info.id = "global_intermediates";
  info.group = 'E';
  info.summary =
      "device buffers that one reachable kernel writes and another reads "
      "are known";
  info.attributes = {{"count", AttrType::Integer, {}, "buffers"},
                     {"bytes", AttrType::Integer, {}, "their size"}};
  info.decidingTiers = {Tier::Source};
  info.detectorTiers = {Tier::Source};
  info.subject = Subject::Host;
  return {info, nullptr, detect};
}
} // namespace d2k::properties
