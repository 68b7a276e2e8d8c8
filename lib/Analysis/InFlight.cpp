// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One issuing operation at a time is followed around its loop, along the ways
// on which it runs in every iteration.

#include "d2k/Analysis/InFlight.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::AsyncRole;
using kern::Completion;

/// Bit of the ages that are no longer told apart.
static constexpr unsigned kOldest = 31;
/// Rounds after which a loop's state has settled: one for each age.
static constexpr unsigned kRounds = kOldest + 2;
/// Rounds of an inner loop: one for each bit that may still change.
static constexpr unsigned kInnerRounds = 256;
/// States of blocks that are kept for the next question.
static constexpr size_t kMaxKept = size_t(1) << 20;

/// Calls may hold a barrier.
static bool isCall(Operation *op) {
  return isa<kern::CallOp, kern::CallIndirectOp, kern::OpaqueOp>(op);
}

bool InFlight::isMeeting(Operation *op) {
  auto barrier = dyn_cast<kern::BarrierOpInterface>(op);
  return barrier ? barrier.waits() &&
                       barrier.getExtent() != kern::BarrierExtent::Warp
                 : isCall(op);
}

static bool isGroup(Completion completion) {
  return completion == Completion::CpAsyncGroup ||
         completion == Completion::BulkGroup ||
         completion == Completion::WgmmaGroup;
}

InFlight::InFlight(const KernelIndex &index, const ConstantValues &constants,
                   const Dominance &dominance, const LoopNest &loops,
                   const BarrierGroups &barriers, IterationValues &values,
                   const RingSlots &rings)
    : index(index), dominance(dominance), loops(loops), values(values),
      rings(rings) {
  auto getSignal = [&](OpId op) {
    if (isCall(index.getOp(op)))
      return Signal::MeetAll;
    auto barrier = dyn_cast<kern::BarrierOpInterface>(index.getOp(op));
    if (!barrier || barrier.getExtent() == kern::BarrierExtent::Warp)
      return Signal::None;
    if (!barrier.waits())
      return Signal::Arrive;
    if (!barrier.arrives())
      return Signal::Wait;
    return barriers.isWhole(op) ? Signal::MeetAll : Signal::MeetPart;
  };
  firstEffect.push_back(0);
  for (BlockId block = 0; block < index.getNumBlocks(); ++block) {
    auto [begin, end] = index.getOps(block);
    for (OpId op = begin; op < end; ++op) {
      auto async = dyn_cast<kern::AsyncEffectOpInterface>(index.getOp(op));
      bool inGroups = async && isGroup(async.getCompletion());
      Signal signal = inGroups ? Signal::None : getSignal(op);
      if ((!inGroups && signal == Signal::None) || !constants.mayRun(op))
        continue;
      Effect effect;
      effect.op = op;
      effect.signal = signal;
      effect.guarded = index.getGuard(op) != kNone;
      if (!inGroups) {
        effects.push_back(effect);
        continue;
      }
      effect.group = async.getCompletion();
      effect.role = async.getAsyncRole();
      effect.pending = unsigned(
          std::min<uint64_t>(async.getPendingAllowed().value_or(0), kOldest));
      auto inst = cast<kern::InstOpInterface>(index.getOp(op));
      effect.all = inst.getMnemonic().contains("wait_all");
      if (effect.role == AsyncRole::Issue)
        issues.push_back(op);
      else if (!llvm::is_contained(ordered, effect.group))
        ordered.push_back(effect.group);
      effects.push_back(effect);
    }
    firstEffect.push_back(effects.size());
  }
}

namespace {
/// A state that joins with others: none has come yet, or ages.
struct State {
  bool reached = false;
  Ages ages;

  bool operator==(const State &other) const {
    return reached == other.reached && ages == other.ages;
  }
  /// Whether this changed.
  bool join(const State &other) {
    if (!other.reached)
      return false;
    if (!reached) {
      *this = other;
      return true;
    }
    Ages joined = ages, with = other.ages;
    for (auto [bits, others] : llvm::zip(joined.getMay(), with.getMay()))
      *bits |= *others;
    for (auto [bits, others] : llvm::zip(joined.getMust(), with.getMust()))
      *bits &= *others;
    bool changed = !(joined == ages);
    ages = joined;
    return changed;
  }
};
} // namespace

bool InFlight::isSkipped(BlockId block, uint32_t loop) const {
  if (loop == kNone)
    return false;
  unsigned iterations = rings.getIterations(loop);
  for (unsigned i = iterations / 2; i < iterations; ++i)
    if (values.mayRun(block, loop, i))
      return false;
  return true;
}

bool InFlight::isSkipped(BlockId from, BlockId to, uint32_t loop) const {
  if (loop == kNone)
    return false;
  unsigned iterations = rings.getIterations(loop);
  for (unsigned i = iterations / 2; i < iterations; ++i)
    if (values.mayTake(from, to, loop, i))
      return false;
  return true;
}

/// Follows one issuing operation around one loop.
class InFlight::Solver {
public:
  Solver(const InFlight &analysis, OpId issue, uint32_t loop)
      : analysis(analysis), index(analysis.index), loops(analysis.loops),
        dominance(analysis.dominance), issue(issue), loop(loop) {
    group =
        cast<kern::AsyncEffectOpInterface>(index.getOp(issue)).getCompletion();
    findWays();
  }

  /// Runs to the steady state; then `in` holds the state before each block.
  void solve() {
    if (!in.empty())
      return;
    in.assign(index.getNumBlocks(), State());
    out.assign(index.getNumBlocks(), State());
    State start;
    start.reached = true;
    unsigned rounds = loop == kNone ? 1 : kRounds;
    for (unsigned round = 0; round < rounds; ++round) {
      pass(order, header(), start);
      if (loop == kNone)
        break;
      State next;
      for (BlockId from : dominance.getPredecessors(header()))
        if (loops.contains(loop, from) && allowed(from, header()))
          next.join(out[from]);
      // A round that begins like the one before ends like it.
      if (!next.reached || next == start)
        break;
      start = next;
    }
    out = {};
  }

  /// States of what \p issue issued before \p points; cheapest when they
  /// ascend.
  std::vector<Ages> before(OpId issue, llvm::ArrayRef<OpId> points) const {
    std::vector<Ages> result;
    BlockId block = kNone;
    OpId last = 0;
    uint32_t next = 0;
    State state;
    for (OpId point : points) {
      if (!covers(point)) {
        result.emplace_back();
        continue;
      }
      if (index.getBlockOf(point) != block || point < last) {
        block = index.getBlockOf(point);
        state = in[block];
        next = analysis.firstEffect[block];
      }
      last = point;
      if (!state.reached) {
        result.emplace_back();
        continue;
      }
      for (; next < analysis.firstEffect[block + 1] &&
             analysis.effects[next].op < point;
           ++next)
        apply(analysis.effects[next], issue, state.ages);
      result.push_back(state.ages);
    }
    return result;
  }

  bool covers(OpId op) const { return use[index.getBlockOf(op)]; }
  bool allowed(BlockId from, BlockId to) const {
    if (!use[from] || !use[to] ||
        llvm::is_contained(skipped, std::pair(from, to)))
      return false;
    // Whoever has not come to the operation yet must still come to it.
    return !onlyBefore[from] || leads[to];
  }
  llvm::ArrayRef<BlockId> getOrder() const { return order; }
  BlockId header() const {
    return loop == kNone ? 0 : loops.getLoop(loop).header;
  }

  /// \p issue is one of the same commit as the operation that is followed.
  void apply(const Effect &effect, OpId issue, Ages &ages) const {
    if (effect.group == Completion::None)
      return signal(effect, ages);
    if (effect.group != group)
      return;
    Ages old = ages;
    switch (effect.role) {
    case AsyncRole::Issue:
      if (effect.op == issue)
        for (auto all : {ages.getMay(), ages.getMust()})
          for (uint32_t *bits : all)
            *bits |= 1;
      return;
    case AsyncRole::Commit:
      for (uint32_t *bits : ages.getMay())
        *bits = (*bits << 1) | (*bits & (1u << kOldest));
      for (uint32_t *bits : ages.getMust())
        *bits <<= 1;
      break;
    case AsyncRole::Wait: {
      uint32_t kept =
          effect.pending >= kOldest ? ~0u : (2u << effect.pending) - 1;
      if (effect.all)
        kept = 0;
      ages.may &= kept;
      ages.must &= kept;
      break;
    }
    }
    if (effect.guarded) {
      for (auto [bits, before] : llvm::zip(ages.getMay(), old.getMay()))
        *bits |= *before;
      for (auto [bits, before] : llvm::zip(ages.getMust(), old.getMust()))
        *bits &= *before;
    }
  }

private:
  static void signal(const Effect &effect, Ages &ages) {
    Ages old = ages;
    switch (effect.signal) {
    case Signal::None:
      return;
    case Signal::Arrive:
      break;
    case Signal::Wait:
      ages.mayUnheard = ages.mayApart = ages.mayUnsent;
      ages.mustUnheard = ages.mustApart = ages.mustUnsent;
      break;
    case Signal::MeetAll:
      ages.mayApart = ages.may;
      ages.mustApart = ages.must;
      [[fallthrough]];
    case Signal::MeetPart:
      ages.mayUnheard = ages.may;
      ages.mustUnheard = ages.must;
      break;
    }
    if (effect.signal != Signal::Wait) {
      ages.mayUnsent = ages.may;
      ages.mustUnsent = ages.must;
    }
    if (effect.guarded)
      for (auto [bits, before] : llvm::zip(ages.getMay(), old.getMay()))
        *bits |= *before;
  }

  bool isInside(BlockId block) const {
    return loop == kNone || loops.contains(loop, block);
  }

  /// Blocks reached from \p from without passing the header again.
  std::vector<bool> flood(llvm::ArrayRef<BlockId> from, bool backwards) const {
    std::vector<bool> seen(index.getNumBlocks(), false);
    std::vector<BlockId> stack(from.begin(), from.end());
    for (BlockId block : from)
      seen[block] = true;
    while (!stack.empty()) {
      BlockId block = stack.back();
      stack.pop_back();
      if (backwards && block == header())
        continue;
      for (BlockId next : backwards ? dominance.getPredecessors(block)
                                    : dominance.getSuccessors(block)) {
        if (next >= index.getNumBlocks() || seen[next] || !isInside(next) ||
            (!backwards && next == header()))
          continue;
        seen[next] = true;
        stack.push_back(next);
      }
    }
    return seen;
  }

  void findWays() {
    uint32_t n = index.getNumBlocks();
    // A loop inside that holds the operation counts as one place.
    std::vector<BlockId> places{index.getBlockOf(issue)};
    uint32_t inner = loops.getInnermost(index.getBlockOf(issue));
    while (inner != kNone && inner != loop &&
           loops.getLoop(inner).parent != loop)
      inner = loops.getLoop(inner).parent;
    if (inner != kNone && inner != loop)
      places = loops.getLoop(inner).blocks;
    leads = flood(places, /*backwards=*/true);
    std::vector<bool> after = flood(places, /*backwards=*/false);
    use.assign(n, false);
    onlyBefore.assign(n, false);
    std::vector<bool> isPlace(n, false);
    for (BlockId block : places)
      isPlace[block] = true;
    for (BlockId block = 0; block < n; ++block) {
      use[block] = isInside(block) && (leads[block] || after[block]) &&
                   dominance.getPosition(block) != kNone;
      onlyBefore[block] = leads[block] && !isPlace[block];
    }
    // One of several waits is chosen at run time.
    llvm::SmallVector<BlockId, 8> waits;
    for (BlockId block = 0; block < n; ++block)
      if (use[block] && block != header() && hasWait(block))
        waits.push_back(block);
    if (waits.size() > 1) {
      bool isChosen = false;
      for (BlockId block : waits)
        if (analysis.isSkipped(block, loop)) {
          use[block] = false;
          isChosen = true;
        }
      // And the ways past all of them.
      for (BlockId block = 0; isChosen && block < n; ++block)
        if (use[block] && dominance.getSuccessors(block).size() > 1)
          for (BlockId next : dominance.getSuccessors(block))
            if (next < n && use[next] && analysis.isSkipped(block, next, loop))
              skipped.push_back({block, next});
    }
    for (BlockId block : dominance.getOrder())
      if (use[block])
        order.push_back(block);
  }

  bool hasWait(BlockId block) const {
    for (uint32_t i = analysis.firstEffect[block];
         i < analysis.firstEffect[block + 1]; ++i)
      if (analysis.effects[i].group == group &&
          analysis.effects[i].role == AsyncRole::Wait)
        return true;
    return false;
  }

  bool hasEffects(uint32_t inner) const {
    return llvm::any_of(loops.getLoop(inner).blocks, [&](BlockId block) {
      for (uint32_t i = analysis.firstEffect[block];
           i < analysis.firstEffect[block + 1]; ++i)
        if (analysis.effects[i].group == group ||
            analysis.effects[i].group == Completion::None)
          return true;
      return false;
    });
  }

  void transfer(BlockId block) {
    out[block] = in[block];
    if (!in[block].reached)
      return;
    for (uint32_t i = analysis.firstEffect[block];
         i < analysis.firstEffect[block + 1]; ++i)
      apply(analysis.effects[i], issue, out[block].ages);
  }

  /// One pass over \p blocks, in order; \p entry is the state that comes to
  /// \p head. Loops inside are run until they are stable.
  void pass(llvm::ArrayRef<BlockId> blocks, BlockId head, const State &entry) {
    std::vector<bool> done(index.getNumBlocks(), false);
    std::vector<bool> here(index.getNumBlocks(), false);
    for (BlockId block : blocks)
      here[block] = true;
    for (BlockId block : blocks) {
      if (done[block])
        continue;
      State state;
      if (block == head)
        state = entry;
      else
        for (BlockId from : dominance.getPredecessors(block))
          if (here[from] && allowed(from, block) &&
              dominance.getPosition(from) < dominance.getPosition(block))
            state.join(out[from]);
      uint32_t inner = loops.getInnermost(block);
      bool opens = inner != kNone && block != head &&
                   loops.getLoop(inner).header == block && hasEffects(inner);
      if (!opens) {
        in[block] = state;
        transfer(block);
        continue;
      }
      llvm::SmallVector<BlockId, 8> body;
      for (BlockId other : blocks)
        if (loops.contains(inner, other)) {
          body.push_back(other);
          done[other] = true;
        }
      for (unsigned round = 0; round < kInnerRounds; ++round) {
        pass(body, block, state);
        State again = state;
        bool changed = false;
        for (BlockId from : dominance.getPredecessors(block))
          if (loops.contains(inner, from) && here[from])
            changed |= again.join(out[from]);
        if (!changed)
          break;
        state = again;
      }
    }
  }

  const InFlight &analysis;
  const KernelIndex &index;
  const LoopNest &loops;
  const Dominance &dominance;
  OpId issue;
  uint32_t loop;
  Completion group;
  /// Blocks that lead to the operation; those that do and are not its place;
  /// those on a way around the loop that passes it.
  std::vector<bool> leads, onlyBefore, use;
  /// Edges that are not taken.
  llvm::SmallVector<std::pair<BlockId, BlockId>, 8> skipped;
  std::vector<BlockId> order;
  std::vector<State> in, out;
};

InFlight::~InFlight() = default;

InFlight::Solver &InFlight::getSolver(OpId issue, uint32_t loop) const {
  // What one commit ends, with no barrier between, is of one age everywhere but
  // between the operations themselves.
  BlockId block = index.getBlockOf(issue);
  Completion group =
      cast<kern::AsyncEffectOpInterface>(index.getOp(issue)).getCompletion();
  unsigned batch = 0;
  for (uint32_t i = firstEffect[block];
       i < firstEffect[block + 1] && effects[i].op < issue; ++i)
    batch += effects[i].group == Completion::None ||
             (effects[i].group == group && effects[i].role != AsyncRole::Issue);
  if ((solvers.size() + 1) * index.getNumBlocks() > kMaxKept)
    solvers.clear();
  auto [it, isNew] = solvers.try_emplace({loop, block, group, batch});
  if (isNew)
    it->second = std::make_unique<Solver>(*this, issue, loop);
  return *it->second;
}

std::vector<Ages> InFlight::getSteady(OpId issue, uint32_t loop,
                                      llvm::ArrayRef<OpId> points) const {
  Completion group =
      cast<kern::AsyncEffectOpInterface>(index.getOp(issue)).getCompletion();
  if (loops.getLoops().empty() && !llvm::is_contained(ordered, group)) {
    // Once, and nothing ends it.
    std::vector<Ages> ages;
    BlockId block = index.getBlockOf(issue);
    for (OpId point : points) {
      BlockId at = index.getBlockOf(point);
      bool after = at == block ? issue < point : dominance.reaches(block, at);
      Ages issued;
      for (auto all : {issued.getMay(), issued.getMust()})
        for (uint32_t *bits : all)
          *bits = after;
      ages.push_back(issued);
    }
    return ages;
  }
  Solver &solver = getSolver(issue, loop);
  solver.solve();
  return solver.before(issue, points);
}

std::vector<OpId> InFlight::getDrains(OpId issue, uint32_t loop) const {
  if (!llvm::is_contained(ordered,
                          cast<kern::AsyncEffectOpInterface>(index.getOp(issue))
                              .getCompletion()))
    return {};
  const Solver &solver = getSolver(issue, loop);
  // From the operation on, along all ways around the loop, until a wait ends
  // what was issued last.
  std::vector<OpId> drains;
  std::vector<std::vector<uint32_t>> seen(index.getNumBlocks());
  struct Item {
    BlockId block;
    OpId from;
    Ages ages;
  };
  Ages issued;
  issued.may = issued.must = 1;
  std::vector<Item> stack{{index.getBlockOf(issue), issue + 1, issued}};
  while (!stack.empty()) {
    Item item = stack.back();
    stack.pop_back();
    bool drained = false;
    for (uint32_t i = firstEffect[item.block];
         i < firstEffect[item.block + 1] && !drained; ++i) {
      const Effect &effect = effects[i];
      if (effect.op < item.from || effect.op == issue)
        continue;
      solver.apply(effect, issue, item.ages);
      if (item.ages.may == 0) {
        if (!llvm::is_contained(drains, effect.op))
          drains.push_back(effect.op);
        drained = true;
      }
    }
    if (drained)
      continue;
    for (BlockId next : dominance.getSuccessors(item.block)) {
      if (next >= index.getNumBlocks() ||
          (loop != kNone && !loops.contains(loop, next)) ||
          !solver.allowed(item.block, next))
        continue;
      if (llvm::is_contained(seen[next], item.ages.may))
        continue;
      seen[next].push_back(item.ages.may);
      stack.push_back({next, index.getOps(next).first, item.ages});
    }
  }
  llvm::sort(drains);
  return drains;
}
