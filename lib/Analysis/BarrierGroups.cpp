// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/BarrierGroups.h"

#include "d2k/Analysis/KernelContext.h"
#include "d2k/Analysis/LaneForms.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace d2k;
using namespace d2k::analysis;

static constexpr unsigned kWarp = 32;

namespace {
/// A barrier with a number of threads that is less than the block's.
struct CountedBarrier {
  OpId op = kNone;
  bool waits = false;
  int64_t count = 0;
  /// By thread, the barrier that it comes to.
  ThreadNumbers ids;
  std::vector<bool> active;
  /// Whether all of `active` come here whenever one of them does.
  bool exact = false;
};
} // namespace

/// Whether no condition but those on the thread's number, and those on which
/// the block agrees, decides which threads run \p op.
static bool isExact(KernelContext &kernel, LaneForms &forms, OpId op) {
  const KernelIndex &index = kernel.getIndex();
  const Dominance &dominance = kernel.getDominance();
  const Uniformity &uniformity = kernel.getUniformity();
  auto isKnown = [&](ValueId condition) {
    return forms.get(condition).isNumber() ||
           uniformity.get(condition) == Agreement::Block;
  };
  if (ValueId guard = index.getGuard(op); guard != kNone && !isKnown(guard))
    return false;
  BlockId block = index.getBlockOf(op), below = block;
  for (BlockId above = dominance.getImmediateDominator(block); above != kNone;
       below = above, above = dominance.getImmediateDominator(above)) {
    if (dominance.postDominates(block, above))
      continue;
    auto branch = llvm::dyn_cast<kern::CondBranchOp>(
        index.getOp(index.getTerminator(above)));
    if (!branch)
      return false;
    ValueId condition = index.getId(branch.getCondition());
    if (uniformity.get(condition) == Agreement::Block)
      continue;
    if (!isKnown(condition) || dominance.getPredecessors(below).size() != 1)
      return false;
  }
  return true;
}

static std::vector<CountedBarrier> findCounted(KernelContext &kernel) {
  const KernelIndex &index = kernel.getIndex();
  std::vector<CountedBarrier> counted;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    auto barrier = llvm::dyn_cast<kern::BarrierOp>(index.getOp(op));
    if (!barrier || !barrier.getThreads() || !kernel.getConstants().mayRun(op))
      continue;
    LaneForms &forms = kernel.getLaneForms();
    const BlockShape &shape = forms.getShape();
    LaneForm count = forms.get(index.getId(barrier.getThreads()));
    LaneForm id = forms.get(index.getId(barrier.getId()));
    if (!shape.known || !count.isConstant() ||
        count.rest.getSame() >= shape.getThreads() || !id.known ||
        llvm::any_of(id.terms,
                     [](const auto &term) { return !term.second.isSame(); }))
      continue;
    CountedBarrier &found = counted.emplace_back();
    found.op = op;
    found.waits = barrier.waits();
    found.count = count.rest.getSame();
    found.ids = id.rest;
    found.active = forms.getActive(op);
    found.exact = isExact(kernel, forms, op);
  }
  return counted;
}

BarrierGroups::BarrierGroups(KernelContext &kernel) {
  std::vector<CountedBarrier> counted = findCounted(kernel);
  if (counted.empty())
    return;
  unsigned numThreads = kernel.getLaneForms().getShape().getThreads();
  // A block that was guessed may be larger than the real one.
  kern::FuncOp func = kernel.getFunc();
  bool isDeclared = func.getDirective3("kern.reqntid").has_value() ||
                    func.getDirective3("kern.maxntid").has_value();
  numWarps = (numThreads + kWarp - 1) / kWarp;
  // By id and number of threads, the warps that come there from any place.
  std::map<std::pair<int64_t, int64_t>, std::vector<bool>> comers;
  for (const CountedBarrier &barrier : counted)
    for (unsigned t = 0; t < numThreads; ++t)
      if (barrier.active[t]) {
        std::vector<bool> &warps = comers[{barrier.ids[t], barrier.count}];
        warps.resize(numWarps);
        warps[t / kWarp] = true;
      }
  for (const CountedBarrier &barrier : counted) {
    if (!barrier.waits)
      continue;
    std::map<int64_t, int64_t> perId;
    for (unsigned t = 0; t < numThreads; ++t)
      perId[barrier.ids[t]] += barrier.active[t];
    WarpGroups own = getApart();
    bool known = true;
    for (auto [id, threads] : perId) {
      bool isOverfull = threads > barrier.count;
      known &= !isOverfull || (barrier.exact && isDeclared);
      // Which of them meet is open: none for certain.
      if (threads == 0 || isOverfull)
        continue;
      const std::vector<bool> &warps = comers[{id, barrier.count}];
      unsigned first = llvm::find(warps, true) - warps.begin();
      WarpGroups met = getApart();
      for (unsigned warp = first; warp < numWarps; ++warp)
        if (warps[warp])
          met[warp] = first;
      joinInto(own, met);
    }
    if (known && !llvm::all_equal(own))
      parts[barrier.op] = std::move(own);
  }
}

WarpGroups BarrierGroups::getApart() const {
  WarpGroups groups(numWarps);
  for (unsigned warp = 0; warp < numWarps; ++warp)
    groups[warp] = warp;
  return groups;
}

void BarrierGroups::joinInto(WarpGroups &groups, const WarpGroups &own) {
  for (unsigned warp = 0; warp < groups.size(); ++warp) {
    unsigned other = groups[own[warp]], mine = groups[warp];
    if (other == mine)
      continue;
    for (unsigned &group : groups)
      if (group == mine)
        group = other;
  }
}
