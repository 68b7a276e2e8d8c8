// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/ResultUse.h"

#include "Engine/BufferUses.h"

using namespace d2k;
using namespace d2k::cuda;
using namespace d2k::properties;

namespace {

/// The walk from the last event to the first.
class Walk {
public:
  Walk(const HostDetector &detector, const HostTrace &trace)
      : detector(detector), trace(trace) {}

  std::vector<ResultUse> run();

private:
  /// What follows for the content of a buffer.
  struct State {
    Tristate needed = Tristate::Yes;
    /// Why it is not needed: what becomes of it.
    std::string because;
  };

  void prepare();
  void need(size_t buffer, Tristate how);
  void needAll();
  void overwrite(size_t buffer, const Event &event, const char *what);
  void overwritePerhaps(size_t buffer, const Event &event);
  ResultUse visitLaunch(const Event &event, const BufferUses &uses);
  ResultUse judgePart(const Event &event, BufferPart part,
                      std::optional<int64_t> bytes) const;

  const HostDetector &detector;
  const HostTrace &trace;
  std::vector<State> states;
  /// Of the launches; empty for other events.
  std::vector<BufferUses> usesOf;
  /// Launches that write each buffer.
  std::map<size_t, std::vector<const Event *>> writers;
  bool ordered = true;
};

} // namespace

void Walk::need(size_t buffer, Tristate how) {
  State &state = states[buffer];
  if (how > state.needed)
    state.needed = how;
}

void Walk::needAll() {
  for (State &state : states)
    state.needed = Tristate::Yes;
}

void Walk::overwrite(size_t buffer, const Event &event, const char *what) {
  // What an event that may not run, or runs in another order, overwrites may be
  // there after all.
  if (!ordered || !event.certain || !event.count.value ||
      *event.count.value < 1)
    return;
  if (event.kind == EventKind::Launch &&
      HostDetector::hasBlocks(event) != Tristate::Yes)
    return;
  states[buffer] = {Tristate::No, "is overwritten by the " + std::string(what) +
                                      " at " +
                                      HostDetector::describe(event.where)};
}

/// \p event may write all of the buffer, or a part.
void Walk::overwritePerhaps(size_t buffer, const Event &event) {
  State &state = states[buffer];
  if (ordered && event.certain && state.needed == Tristate::Yes)
    state = {Tristate::Unknown, "is perhaps overwritten by the launch at " +
                                    HostDetector::describe(event.where)};
}

/// Whether nobody but this call can look at the buffer. Scratch memory of peers
/// is workspace of another name.
static bool isPrivate(const Buffer &buffer) {
  return (buffer.kind == Buffer::Kind::Workspace &&
          buffer.name == "workspace") ||
         buffer.kind == Buffer::Kind::Allocation;
}

void Walk::prepare() {
  for (const Buffer &buffer : trace.buffers)
    states.push_back(isPrivate(buffer)
                         ? State{Tristate::No, "is read by nothing"}
                         : State{});
  std::optional<StreamId> stream;
  bool repeated = false;
  usesOf.resize(trace.events.size());
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event &event = trace.events[i];
    repeated |= event.kind == EventKind::GraphLaunch;
    if (event.kind != EventKind::Launch && event.kind != EventKind::Copy &&
        event.kind != EventKind::Fill)
      continue;
    ordered &= !stream || *stream == event.stream;
    stream = event.stream;
    if (event.kind != EventKind::Launch)
      continue;
    usesOf[i] = getBufferUses(detector, trace, event);
    for (const auto &[part, bytes] : usesOf[i].writes)
      writers[part.first].push_back(&event);
  }
  // What comes first the second time reads what came last the first time; and
  // without an order anything may come last.
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const Event &event = trace.events[i];
    if (ordered && event.count.value == 1 && !(repeated && event.captured))
      continue;
    for (const BufferPart &part : usesOf[i].reads)
      need(part.first, Tristate::Yes);
    if (event.source)
      need(*event.source, Tristate::Yes);
    if (usesOf[i].readsUnknown)
      needAll();
  }
}

ResultUse Walk::judgePart(const Event &event, BufferPart part,
                          std::optional<int64_t> bytes) const {
  const Buffer &buffer = trace.buffers[part.first];
  const State &state = states[part.first];
  if (state.needed != Tristate::Yes)
    return {state.needed,
            "what it writes to " + buffer.name + " " + state.because};
  // Beside another launch that writes the output, a small part does not make
  // the result.
  if (buffer.kind != Buffer::Kind::Output || !bytes || !buffer.bytes ||
      *bytes >= *buffer.bytes / 2)
    return {};
  for (const Event *other : writers.at(part.first))
    if (other != &event)
      return {Tristate::Unknown,
              "it writes at most " + std::to_string(*bytes) + " of the " +
                  std::to_string(*buffer.bytes) + " bytes of " + buffer.name +
                  ", and the launch at " +
                  HostDetector::describe(other->where) + " writes there too"};
  return {};
}

ResultUse Walk::visitLaunch(const Event &event, const BufferUses &uses) {
  ResultUse use;
  if (!uses.writesUnknown && !uses.writes.empty()) {
    bool isFirst = true;
    for (const auto &[part, bytes] : uses.writes) {
      ResultUse one = judgePart(event, part, bytes);
      if (isFirst || one.used > use.used)
        use = one;
      isFirst = false;
    }
  }
  if (use.used == Tristate::No)
    return use;
  for (const auto &[part, bytes] : uses.writes) {
    const Buffer &buffer = trace.buffers[part.first];
    bool mayFill = !bytes || !buffer.bytes || *bytes >= *buffer.bytes;
    if (buffer.kind == Buffer::Kind::Output && part.second == 0 && mayFill &&
        !uses.readsUnknown &&
        std::none_of(
            uses.reads.begin(), uses.reads.end(),
            [&](const BufferPart &read) { return read.first == part.first; })) {
      // Without a task it is not known how large an output is.
      if (detector.getProgram().anyShape || (bytes && buffer.bytes))
        overwrite(part.first, event, "launch");
      else
        overwritePerhaps(part.first, event);
    }
  }
  if (uses.readsUnknown)
    needAll();
  for (const BufferPart &part : uses.reads)
    need(part.first, use.used);
  return use;
}

std::vector<ResultUse> Walk::run() {
  std::vector<ResultUse> result(trace.events.size());
  if (!trace.complete)
    return result;
  prepare();
  for (size_t i = trace.events.size(); i-- > 0;) {
    const Event &event = trace.events[i];
    switch (event.kind) {
    case EventKind::Launch:
      if (HostDetector::hasBlocks(event) != Tristate::No &&
          event.count.value != 0)
        result[i] = visitLaunch(event, usesOf[i]);
      break;
    case EventKind::Copy:
    case EventKind::Fill: {
      Tristate needed =
          event.destination ? states[*event.destination].needed : Tristate::Yes;
      if (event.destination && event.bytes.value &&
          trace.buffers[*event.destination].bytes == event.bytes.value)
        overwrite(*event.destination, event,
                  event.kind == EventKind::Copy ? "copy" : "fill");
      if (event.kind == EventKind::Copy && event.source)
        need(*event.source, needed);
      else if (event.kind == EventKind::Copy)
        needAll();
      break;
    }
    case EventKind::Library:
    case EventKind::Opaque:
      needAll();
      break;
    default:
      break;
    }
  }
  return result;
}

std::vector<ResultUse> properties::getResultUses(const HostDetector &detector,
                                                 const HostTrace &trace) {
  return Walk(detector, trace).run();
}

std::vector<bool> properties::getUnreadBuffers(const HostDetector &detector,
                                               const HostTrace &trace) {
  std::vector<bool> unread;
  for (const Buffer &buffer : trace.buffers)
    unread.push_back(trace.complete && isPrivate(buffer));
  auto readAll = [&] { unread.assign(unread.size(), false); };
  for (const Event &event : trace.events) {
    switch (event.kind) {
    case EventKind::Launch: {
      BufferUses uses = getBufferUses(detector, trace, event);
      if (uses.readsUnknown)
        readAll();
      for (const BufferPart &part : uses.reads)
        unread[part.first] = false;
      break;
    }
    case EventKind::Copy:
      if (event.source)
        unread[*event.source] = false;
      else
        readAll();
      break;
    case EventKind::Library:
    case EventKind::Opaque:
      readAll();
      break;
    default:
      break;
    }
  }
  return unread;
}
