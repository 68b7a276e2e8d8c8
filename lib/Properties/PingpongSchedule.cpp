// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pingpong_schedule: two groups of warps take turns at the matrix unit, each
// doing its other work while the other multiplies. Each waits for a barrier of
// its own before its products, and arrives at the other's behind them.

#include "Engine/Detector.h"

#include <map>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// A barrier as one warp names it: a number, or an address relative to what is
/// the same for all warps.
using BarrierName = std::pair<std::vector<int64_t>, int64_t>;

/// What warps do at one barrier.
struct Side {
  WarpSet waiting = 0, arriving = 0;
  llvm::SmallVector<OpId, 4> waits, arrivals;
};

class Turns {
public:
  explicit Turns(Detector &detector)
      : detector(detector), kernel(detector.getKernel()),
        index(kernel.getIndex()), roles(kernel.getRoles()) {}
  void run();

private:
  void gather();
  void addUse(OpId op, ValueId id, int64_t offset, bool waits, bool arrives,
              int64_t space);
  /// Whether the warps of `group` multiply between the wait and the arrival.
  bool multipliesBetween(OpId wait, OpId arrival, WarpSet group) const;
  /// Work other than products behind `arrival`, in the same loop.
  OpId findOtherWork(OpId arrival, WarpSet group) const;

  Detector &detector;
  KernelContext &kernel;
  const KernelIndex &index;
  WarpRoles &roles;
  std::map<BarrierName, Side> sides;
};
} // namespace

void Turns::addUse(OpId op, ValueId id, int64_t offset, bool waits,
                   bool arrives, int64_t space) {
  LaneForms &forms = kernel.getLaneForms();
  const LaneForm &form = forms.get(id);
  if (!form.known)
    return;
  // A ring index tells phases apart, not groups.
  std::vector<int64_t> key = {space};
  for (const auto &[symbol, factor] : form.terms) {
    if (!factor.isSame())
      return;
    if (forms.getSymbol(symbol).kind == LaneSymbolKind::Ring)
      continue;
    key.push_back(symbol);
    key.push_back(factor.getSame());
  }
  ThreadNumbers numbers = form.rest;
  WarpSet warps = roles.getWarps(op);
  for (unsigned warp = 0; warp < roles.getNumWarps(); ++warp) {
    if (!(warps >> warp & 1))
      continue;
    Side &side = sides[{key, numbers[32 * warp] + offset}];
    if (waits) {
      side.waiting |= WarpSet(1) << warp;
      if (!llvm::is_contained(side.waits, op))
        side.waits.push_back(op);
    }
    if (arrives) {
      side.arriving |= WarpSet(1) << warp;
      if (!llvm::is_contained(side.arrivals, op))
        side.arrivals.push_back(op);
    }
  }
}

void Turns::gather() {
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    // Turns are taken again and again.
    if (roles.getWarps(op) == 0 ||
        kernel.getLoops().getInnermostWorking(index.getBlockOf(op)) == kNone)
      continue;
    mlir::Operation *operation = index.getOp(op);
    if (auto barrier = llvm::dyn_cast<kern::BarrierOp>(operation)) {
      bool arrives = barrier.getAction() == kern::BarrierAction::Arrive;
      if (barrier.getThreads())
        addUse(op, index.getId(barrier.getId()), 0, !arrives, arrives, 0);
    } else if (auto wait = llvm::dyn_cast<kern::MBarrierWaitOp>(operation)) {
      addUse(op, index.getId(wait.getBase()), wait.getOffset(), true, false, 1);
    } else if (auto arrive =
                   llvm::dyn_cast<kern::MBarrierArriveOp>(operation)) {
      addUse(op, index.getId(arrive.getBase()), arrive.getOffset(), false, true,
             1);
    }
  }
}

bool Turns::multipliesBetween(OpId wait, OpId arrival, WarpSet group) const {
  return llvm::any_of(detector.getMainRegion().getProducts(),
                      [&](OpId product) {
                        return (roles.getWarps(product) & group) == group &&
                               detector.runsAfter(wait, product) &&
                               detector.runsAfter(product, arrival);
                      });
}

OpId Turns::findOtherWork(OpId arrival, WarpSet group) const {
  const LoopNest &loops = kernel.getLoops();
  uint32_t loop = loops.getInnermostWorking(index.getBlockOf(arrival));
  for (const WarpRole &role : roles.getRoles()) {
    if ((role.warps & group) == 0)
      continue;
    for (OpId op : role.work)
      if (!llvm::isa<kern::MatrixProductOpInterface>(index.getOp(op)) &&
          loops.contains(loop, index.getBlockOf(op)) &&
          (roles.getWarps(op) & group) && detector.runsAfter(arrival, op))
        return op;
  }
  return kNone;
}

void Turns::run() {
  WarpSet multiply = 0;
  for (OpId product : detector.getMainRegion().getProducts())
    if (llvm::isa<kern::MatrixProductOpInterface>(index.getOp(product)))
      multiply |= roles.getWarps(product);
  if (multiply == 0)
    return;
  gather();
  // Groups that multiply, each with a barrier of its own at which only the
  // other arrives.
  const Side *oneWay = nullptr;
  for (auto a = sides.begin(); a != sides.end(); ++a) {
    WarpSet first = a->second.waiting, second = a->second.arriving;
    if (first == 0 || second == 0 || (first & second) ||
        ((first | second) & ~multiply))
      continue;
    oneWay = &a->second;
    for (auto b = sides.begin(); b != sides.end(); ++b) {
      // Of more than two groups, each lets all others go.
      WarpSet other = b->second.waiting;
      if (other == 0 || (other & ~second) || (first & ~b->second.arriving) ||
          (other & b->second.arriving))
        continue;
      // The wait for the own barrier, products, the arrival at the other's.
      for (OpId wait : a->second.waits)
        for (OpId arrival : b->second.arrivals) {
          if (!multipliesBetween(wait, arrival, first))
            continue;
          OpId rest = findOtherWork(arrival, first);
          if (rest == kNone) {
            detector.addNearMiss(
                "two groups of warps take turns by the barriers at " +
                    detector.describe({wait, arrival}) +
                    ", but do nothing else than multiply: there is nothing to "
                    "hide behind the other's products",
                {wait, arrival});
            return;
          }
          Judgement judgement = detector.judgeOneWay();
          if (judgement.isProved())
            detector.addFact({}, wait, {wait, arrival, rest});
          else
            detector.add(judgement, wait);
          return;
        }
    }
  }
  if (oneWay)
    detector.addNearMiss(
        "one group of warps waits for another at " +
            detector.describe(oneWay->waits) +
            ", which never waits for it in turn: the two do not alternate",
        oneWay->waits);
}

static void detect(Detector &detector) {
  if (detector.getKernel().getRoles().isKnown())
    Turns(detector).run();
}

namespace d2k::properties {
Property makePingpongSchedule() {
  PropertyInfo info;
  info.id = "pingpong_schedule";
  info.group = 'C';
  info.summary =
      "two groups of warps alternate between products and other work: in a "
      "loop, each waits for a barrier of its own before its products, and "
      "arrives at the other group's behind them";
  info.decidingTiers = {Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
