// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_reallocation: registers moved from one warp role to another.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
enum class Relation : uint8_t {
  /// Different warps run the two.
  Roles,
  /// One thread may run both.
  Sequence,
  /// Different ways through the code, chosen by something all warps agree on.
  NotByWarp,
};
} // namespace

static Relation relate(Detector &detector, OpId a, OpId b) {
  const KernelIndex &index = detector.getIndex();
  KernelContext &kernel = detector.getKernel();
  const Dominance &dominance = kernel.getDominance();
  BlockId x = index.getBlockOf(a), y = index.getBlockOf(b);
  auto choosesWarps = [&](ValueId condition) {
    return kernel.getUniformity().get(condition) == Agreement::Warp;
  };
  // The same place under opposite guards.
  if (x == y) {
    ValueId guard = index.getGuard(a);
    if (guard == kNone || guard != index.getGuard(b) ||
        index.isGuardNegated(a) == index.isGuardNegated(b))
      return Relation::Sequence;
    return choosesWarps(guard) ? Relation::Roles : Relation::NotByWarp;
  }
  if (dominance.reaches(x, y) || dominance.reaches(y, x))
    return Relation::Sequence;
  BlockId common = dominance.getCommonDominator(x, y);
  if (common == kNone)
    return Relation::Sequence;
  // Any condition between the fork and the two that tells warps apart will do:
  // roles may be told apart in several steps.
  auto toldApart = [&](BlockId block) {
    auto test = [&](BlockId at) {
      mlir::Operation *end = index.getOp(index.getTerminator(at));
      if (auto branch = llvm::dyn_cast<kern::CondBranchOp>(end))
        return choosesWarps(index.getId(branch.getCondition()));
      if (auto table = llvm::dyn_cast<kern::SwitchOp>(end))
        return choosesWarps(index.getId(table.getIndex()));
      return false;
    };
    return test(block);
  };
  return toldApart(common) ? Relation::Roles : Relation::NotByWarp;
}

static void detect(Detector &detector) {
  struct Change {
    OpId op;
    int64_t count;
  };
  std::vector<Change> down, up;
  detector.forEach<kern::SetMaxRegistersOp>(
      [&](OpId id, kern::SetMaxRegistersOp op) {
        Judgement runs = detector.judgeRuns(id);
        if (!runs.isProved()) {
          detector.add(runs, id);
          return;
        }
        (op.getAction() == kern::RegisterAction::Dec ? down : up)
            .push_back({id, int64_t(op.getCount())});
      });
  if (down.empty() && up.empty())
    return;
  auto opsOf = [](llvm::ArrayRef<Change> changes) {
    llvm::SmallVector<OpId, 4> ops;
    for (const Change &change : changes)
      ops.push_back(change.op);
    return ops;
  };
  if (down.empty() || up.empty()) {
    llvm::SmallVector<OpId, 4> ops = opsOf(down.empty() ? up : down);
    detector.addNearMiss(
        std::string("`setmaxnreg.") + (down.empty() ? "inc" : "dec") + "` at " +
            detector.describe(ops) +
            (down.empty() ? " asks for registers that no other warps give up"
                          : " gives up registers that no other warps take"),
        ops);
    return;
  }
  bool any = false;
  Relation worst = Relation::Roles;
  llvm::SmallVector<OpId, 2> bad;
  for (const Change &less : down)
    for (const Change &more : up) {
      Relation relation = relate(detector, less.op, more.op);
      if (relation != Relation::Roles) {
        worst = relation;
        bad = {less.op, more.op};
        continue;
      }
      AttributeMap attributes;
      attributes["decrease"] = less.count;
      attributes["increase"] = more.count;
      detector.addFact(std::move(attributes), kNone, {less.op, more.op});
      any = true;
    }
  if (any)
    return;
  if (worst == Relation::Sequence)
    detector.addNearMiss("the same warps run `setmaxnreg.dec` and "
                         "`setmaxnreg.inc` at " +
                             detector.describe(bad) +
                             ": no role gives registers to another",
                         bad);
  else
    detector.addNearMiss("`setmaxnreg.dec` and `setmaxnreg.inc` at " +
                             detector.describe(bad) +
                             " stand on two sides of a condition that does not "
                             "tell warps apart, so that no role gives "
                             "registers to another",
                         bad);
}

namespace d2k::properties {
Property makeRegisterReallocation() {
  PropertyInfo info;
  info.id = "register_reallocation";
  info.group = 'C';
  info.summary = "setmaxnreg takes registers from warps of one role and gives "
                 "them to warps of another";
  info.attributes = {
      {"decrease", AttrType::Integer, {}, "registers left to the giving role"},
      {"increase", AttrType::Integer, {}, "registers of the taking role"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
