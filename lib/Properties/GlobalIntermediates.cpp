// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// global_intermediates: device memory that one kernel of a call writes and a
// later one reads. What a kernel reads and writes comes from its own code,
// which buffer that is from the arguments of the launch.

#include "Engine/BufferUses.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

static void insertWrites(const BufferUses &uses,
                         std::set<BufferPart> &written) {
  for (const auto &[part, bytes] : uses.writes)
    written.insert(part);
}

static void detect(HostDetector &detector) {
  for (const HostTrace &trace : detector.getTraces()) {
    if (!trace.complete)
      continue;
    std::vector<const Event *> launches = detector.getLaunches(trace);
    std::set<BufferPart> written, intermediates;
    std::vector<SourceLocation> where;
    std::string unknown;
    for (const Event &event : trace.events)
      if (event.kind == EventKind::Library)
        unknown = event.call + "() at " + HostDetector::describe(event.where) +
                  " runs kernels that are not known";
    for (const Event *event : launches) {
      BufferUses uses = getBufferUses(detector, trace, *event);
      bool alone = launches.size() == 1 && event->count.value == 1;
      if (!alone && !uses.unknown.empty())
        unknown = uses.unknown;
      // Launched again it reads what it wrote before.
      if (event->count.value != 1)
        insertWrites(uses, written);
      if (!event->certain)
        unknown = "the launch at " + HostDetector::describe(event->where) +
                  (event->uncertainBecause.empty()
                       ? std::string(" may not run")
                       : " " + event->uncertainBecause.front());
      for (const BufferPart &part : uses.reads)
        if (written.contains(part) && intermediates.insert(part).second)
          where.push_back(event->where);
      insertWrites(uses, written);
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
    for (const BufferPart &part : intermediates) {
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
