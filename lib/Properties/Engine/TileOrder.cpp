// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/TileOrder.h"

#include "d2k/Analysis/LaneAddresses.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Touches that are kept for the next question.
static constexpr size_t kMaxKept = 1 << 21;

TileOrder::TileOrder(Detector &detector)
    : detector(detector), groups(detector.getKernel().getBarrierGroups()) {
  const KernelIndex &index = detector.getIndex();
  barriers.resize(index.getNumBlocks());
  waits.resize(index.getNumBlocks());
  completions.resize(index.getNumBlocks());
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    mlir::Operation *operation = index.getOp(op);
    auto barrier = llvm::dyn_cast<kern::BarrierOpInterface>(operation);
    bool isBarrier = barrier && barrier.waits();
    if (llvm::isa<kern::BarrierOp>(operation) &&
        detector.getConstants().mayRun(op))
      arrivals.push_back(op);
    if ((!isBarrier && !llvm::isa<kern::AsyncWaitOp>(operation)) ||
        !detector.getConstants().mayRun(op))
      continue;
    BlockId block = index.getBlockOf(op);
    if (waits[block].empty())
      waitBlocks.push_back(block);
    waits[block].push_back(op);
    if (!isBarrier || barrier.getExtent() == kern::BarrierExtent::MBarrier)
      completions[block].push_back(op);
    if (!isBarrier)
      continue;
    if (barrier.getExtent() != kern::BarrierExtent::Warp)
      barriers[block].push_back(op);
  }
}

bool TileOrder::canBeOrdered(OpId from, OpId to) const {
  if (waitBlocks.empty())
    return false;
  const KernelIndex &index = detector.getIndex();
  const Dominance &dominance = detector.getKernel().getDominance();
  BlockId a = index.getBlockOf(from), b = index.getBlockOf(to);
  // Roles never run after one another: what one arrives at behind its writes,
  // the other waits for.
  bool apart = a != b && !dominance.reaches(a, b);
  bool arrives =
      apart && llvm::any_of(arrivals, [&](OpId op) {
        BlockId block = index.getBlockOf(op);
        return (block == a && op > from) || dominance.reaches(a, block);
      });
  // A barrier does not complete a copy. A role that copies waits for itself,
  // and tells the others by a barrier.
  bool needsCompletion =
      !apart &&
      llvm::isa<kern::AsyncCopyOp, kern::BulkCopyOp>(index.getOp(from));
  for (BlockId block : waitBlocks) {
    llvm::ArrayRef<OpId> here =
        needsCompletion ? completions[block] : waits[block];
    if (here.empty())
      continue;
    bool after =
        (block == a && here.back() > from) || dominance.reaches(a, block);
    bool before =
        (block == b && here.front() < to) || dominance.reaches(block, b);
    if (!before)
      continue;
    if (after)
      return true;
    if (llvm::any_of(here, [&](OpId op) {
          auto barrier =
              llvm::dyn_cast<kern::BarrierOpInterface>(index.getOp(op));
          if (!barrier)
            return false;
          return barrier.getExtent() == kern::BarrierExtent::MBarrier ||
                 (arrives && barrier.getExtent() == kern::BarrierExtent::Block);
        }))
      return true;
  }
  return false;
}

bool TileOrder::hasOpenWay(OpId from, OpId to, bool later,
                           bool onlyWhole) const {
  const KernelIndex &index = detector.getIndex();
  const Dominance &dominance = detector.getKernel().getDominance();
  const LoopNest &loops = detector.getKernel().getLoops();
  BlockId a = index.getBlockOf(from), b = index.getBlockOf(to);
  auto blocked = [&](BlockId block, OpId after, OpId before) {
    return llvm::any_of(barriers[block], [&](OpId op) {
      return (after == kNone || op > after) &&
             (before == kNone || op < before) &&
             (!onlyWhole || groups.isWhole(op));
    });
  };
  if (!later && a == b && from < to && !blocked(a, from, to))
    return true;
  if (blocked(a, from, kNone))
    return false;
  // Whether an edge starts an iteration of a loop around both.
  auto startsIteration = [&](BlockId block, BlockId next) {
    for (uint32_t l = loops.getInnermost(next); l != kNone;
         l = loops.getLoop(l).parent)
      if (loops.getLoop(l).header == next && loops.contains(l, block) &&
          loops.contains(l, a) && loops.contains(l, b))
        return true;
    return false;
  };
  std::vector<bool> seen(2 * index.getNumBlocks(), false);
  llvm::SmallVector<std::pair<BlockId, bool>, 16> pending;
  auto leave = [&](BlockId block, bool again) {
    for (BlockId next : dominance.getSuccessors(block)) {
      // Ends of the kernel lead to a node that is no block.
      if (next >= index.getNumBlocks())
        continue;
      bool now = again || !later || startsIteration(block, next);
      if (!seen[2 * next + now]) {
        seen[2 * next + now] = true;
        pending.push_back({next, now});
      }
    }
  };
  leave(a, false);
  while (!pending.empty()) {
    auto [block, again] = pending.pop_back_val();
    if (block == b && again && !blocked(block, kNone, to))
      return true;
    if (!blocked(block, kNone, kNone))
      leave(block, again);
  }
  return false;
}

std::shared_ptr<const Touches> TileOrder::getTouches(uint32_t access) const {
  if (auto it = touches.find(access); it != touches.end())
    return it->second;
  std::shared_ptr<const Touches> result;
  if (std::optional<Touches> found = findTouches(detector, access)) {
    numTouches += found->first.size() + found->moves.size();
    result = std::make_shared<const Touches>(std::move(*found));
  }
  if (numTouches > kMaxKept) {
    touches.clear();
    numTouches = 0;
  }
  touches[access] = result;
  return result;
}

const std::optional<std::vector<TileOrder::Span>> &
TileOrder::getSpans(uint32_t access) const {
  std::unique_ptr<std::optional<std::vector<Span>>> &known = spans[access];
  if (known)
    return *known;
  known = std::make_unique<std::optional<std::vector<Span>>>();
  std::optional<unsigned> bytes =
      detector.getKernel().getLaneAddresses().getLaneBytes(access);
  std::shared_ptr<const Touches> touches = bytes ? getTouches(access) : nullptr;
  if (!touches)
    return *known;
  std::vector<Span> list;
  for (size_t from = 0, to = 0; from < touches->first.size(); from = to) {
    unsigned warp = touches->first[from].thread / 32;
    while (to < touches->first.size() && touches->first[to].thread / 32 == warp)
      ++to;
    for (auto [begin, end] : touches->getRuns(*bytes, from, to))
      list.push_back({begin, end, warp});
  }
  llvm::sort(list, [](const Span &a, const Span &b) {
    return std::tie(a.begin, a.end, a.warp) < std::tie(b.begin, b.end, b.warp);
  });
  *known = std::move(list);
  return *known;
}

bool TileOrder::crossesWarps(uint32_t writer, uint32_t reader,
                             const WarpGroups *groups) const {
  const std::optional<std::vector<Span>> &writes = getSpans(writer);
  const std::optional<std::vector<Span>> &reads = getSpans(reader);
  if (!writes || !reads)
    return false;
  // Both by begin: what was written up to a span's end and reaches into it is
  // among the writes that have not ended before.
  size_t next = 0;
  llvm::SmallVector<Span, 8> open;
  for (const Span &read : *reads) {
    for (; next < writes->size() && (*writes)[next].begin < read.end; ++next)
      open.push_back((*writes)[next]);
    // Spans to come begin no earlier than this one.
    llvm::erase_if(open,
                   [&](const Span &span) { return span.end <= read.begin; });
    if (llvm::any_of(open, [&](const Span &span) {
          return span.begin < read.end && span.warp != read.warp &&
                 (!groups || (*groups)[span.warp] != (*groups)[read.warp]);
        }))
      return true;
  }
  return false;
}

bool TileOrder::races(uint32_t writer, uint32_t reader) const {
  llvm::ArrayRef<AccessInfo> accesses = detector.getMemory().getAccesses();
  const SharedObjects &objects = detector.getKernel().getSharedObjects();
  const SharedPlace &from = objects.getPlace(writer);
  const SharedPlace &to = objects.getPlace(reader);
  // Other slots in one iteration may be the same ones in a later one.
  bool later = from.slot != to.slot || from.ring != to.ring;
  if (later && (from.ring == kNone || to.ring == kNone))
    return false;
  OpId write = accesses[writer].op, read = accesses[reader].op;
  if (hasOpenWay(write, read, later, /*onlyWhole=*/false))
    return crossesWarps(writer, reader);
  // Barriers of parts of the block are enough for those who meet there.
  if (!groups.hasParts() || !hasOpenWay(write, read, later, /*onlyWhole=*/true))
    return false;
  WarpGroups met = groups.join([](OpId) { return true; });
  return crossesWarps(writer, reader, &met);
}
