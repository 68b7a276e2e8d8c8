// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// register_reallocation: registers moved from one warp role to another.

#include "Engine/Detector.h"

#include <map>

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
  WarpRoles &roles = kernel.getRoles();
  if ((roles.getWarps(a) & roles.getWarps(b)) == 0)
    return Relation::Roles;
  BlockId x = index.getBlockOf(a), y = index.getBlockOf(b);
  ValueId guard = index.getGuard(a);
  // The same place under opposite guards.
  if (x == y)
    return guard != kNone && guard == index.getGuard(b) &&
                   index.isGuardNegated(a) != index.isGuardNegated(b)
               ? Relation::NotByWarp
               : Relation::Sequence;
  return dominance.reaches(x, y) || dominance.reaches(y, x)
             ? Relation::Sequence
             : Relation::NotByWarp;
}

/// Whether the warps that run `op` do something of their own: touch data in
/// memory, or multiply where only they get to. Barriers alone are no work.
static bool hasRole(Detector &detector, OpId op) {
  const KernelIndex &index = detector.getIndex();
  WarpRoles &roles = detector.getKernel().getRoles();
  WarpSet own = roles.getWarps(op);
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    WarpSet warps = roles.getWarps(id);
    if (warps == 0 || (warps & ~own))
      continue;
    if (llvm::isa<kern::MatrixProductOpInterface, kern::CallOp,
                  kern::CallIndirectOp, kern::OpaqueOp>(index.getOp(id)) ||
        llvm::any_of(
            detector.getMemory().getAccessesOf(id),
            [](const AccessInfo &info) { return !info.access.barrier; }))
      return true;
  }
  return false;
}

/// Whether a later condition tells warps apart again, so that roles may start
/// there.
static bool splitsLater(Detector &detector, OpId op) {
  const KernelIndex &index = detector.getIndex();
  KernelContext &kernel = detector.getKernel();
  const Dominance &dominance = kernel.getDominance();
  BlockId block = index.getBlockOf(op);
  for (BlockId later : dominance.getOrder()) {
    if (later != block && !dominance.reaches(block, later))
      continue;
    mlir::Operation *end = index.getOp(index.getTerminator(later));
    ValueId condition = kNone;
    if (auto branch = llvm::dyn_cast<kern::CondBranchOp>(end))
      condition = index.getId(branch.getCondition());
    else if (auto table = llvm::dyn_cast<kern::SwitchOp>(end))
      condition = index.getId(table.getIndex());
    if (condition != kNone &&
        kernel.getUniformity().get(condition) != Agreement::Block)
      return true;
  }
  return false;
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
  std::map<OpId, bool> roles;
  auto isRole = [&](OpId op) {
    auto [it, isNew] = roles.try_emplace(op, false);
    if (isNew)
      it->second = hasRole(detector, op);
    return it->second;
  };
  bool any = false;
  llvm::SmallVector<OpId, 2> backwards, idle;
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
      if (less.count >= more.count) {
        backwards = {less.op, more.op};
        continue;
      }
      if (!isRole(less.op) || !isRole(more.op)) {
        idle = {less.op, more.op};
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
  if (!idle.empty()) {
    std::string sentence =
        "`setmaxnreg.dec` and `setmaxnreg.inc` at " + detector.describe(idle);
    if (splitsLater(detector, idle[0]) || splitsLater(detector, idle[1]))
      detector.addUndecided(
          sentence + " stand where the warps of one of them do nothing of "
                     "their own yet; roles may start at a later condition",
          "machine code of the kernel, in which conditions are threaded", idle);
    else
      detector.addNearMiss(sentence + " tell warps apart that do the same work "
                                      "or none: no role gives registers to "
                                      "another",
                           idle);
    return;
  }
  if (!backwards.empty()) {
    detector.addNearMiss("`setmaxnreg.dec` at " +
                             detector.describe(backwards[0]) +
                             " leaves at least as many registers as "
                             "`setmaxnreg.inc` at " +
                             detector.describe(backwards[1]) +
                             " asks for: nothing is given away",
                         backwards);
    return;
  }
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
                 "them to warps of another; each role does work of its own";
  info.attributes = {
      {"decrease", AttrType::Integer, {}, "registers left to the giving role"},
      {"increase", AttrType::Integer, {}, "registers of the taking role"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
