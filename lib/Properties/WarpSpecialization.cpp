// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// warp_specialization: warps with different roles that hand over to each other.

#include "Engine/Detector.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// "warp 0", "warps 4 to 11", "warps 1, 2 and 5".
static std::string nameWarps(WarpSet warps) {
  llvm::SmallVector<unsigned, 32> list;
  for (unsigned warp = 0; warp < 32; ++warp)
    if (warps >> warp & 1)
      list.push_back(warp);
  if (list.size() == 1)
    return "warp " + std::to_string(list[0]);
  if (list.back() - list.front() + 1 == list.size())
    return "warps " + std::to_string(list.front()) + " to " +
           std::to_string(list.back());
  std::string text = "warps ";
  for (size_t i = 0; i < list.size(); ++i)
    text += (i == 0                 ? ""
             : i + 1 == list.size() ? " and "
                                    : ", ") +
            std::to_string(list[i]);
  return text;
}

/// Duty operations of `role` to show: the first few of its kind.
static OpId getFirstWork(const WarpRole &role) { return role.work.front(); }

/// Copies of the main region by some warps, which multiply as well.
static void addSharedWork(Detector &detector) {
  WarpRoles &roles = detector.getKernel().getRoles();
  const KernelIndex &index = detector.getIndex();
  WarpSet multiply = 0;
  for (OpId product : detector.getMainRegion().getProducts())
    multiply |= roles.getWarps(product);
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    mlir::Operation *operation = index.getOp(op);
    auto bulk = llvm::dyn_cast<kern::BulkCopyOp>(operation);
    bool copies = llvm::isa<kern::AsyncCopyOp>(operation) ||
                  (bulk && bulk.getSrcSpace() == kern::Space::Global &&
                   bulk.getKind() == kern::BulkKind::Copy);
    WarpSet warps = roles.getWarps(op);
    if (!copies || warps == 0 || warps == roles.getAllWarps() ||
        detector.getMainRegion().contains(op) != Tristate::Yes ||
        (warps & ~multiply))
      continue;
    detector.addNearMiss(
        nameWarps(warps) + (llvm::popcount(warps) == 1 ? " issues" : " issue") +
            " the copies at " + detector.describe(op) +
            " and multiplies as well: no warps have the "
            "copies as their only role",
        {op});
    return;
  }
}

/// A loop of warps that have no part in the work.
static void addIdleLoops(Detector &detector) {
  KernelContext &kernel = detector.getKernel();
  const KernelIndex &index = detector.getIndex();
  WarpSet working = 0;
  for (const WarpRole &role : kernel.getRoles().getRoles())
    working |= role.warps;
  for (const Loop &loop : kernel.getLoops().getLoops()) {
    OpId head = index.getOps(loop.header).first;
    WarpSet warps = kernel.getRoles().getWarps(head);
    if (loop.spin || warps == 0 || working == 0 || (warps & working))
      continue;
    detector.addNearMiss("the loop at " + detector.describe(head) +
                             " is run by " + nameWarps(warps) +
                             " alone, but does no part of the work: it is no "
                             "role",
                         {head});
    return;
  }
}

static void detect(Detector &detector) {
  WarpRoles &analysis = detector.getKernel().getRoles();
  if (!analysis.isKnown())
    return;
  llvm::ArrayRef<WarpRole> roles = analysis.getRoles();
  std::set<Duty> duties;
  for (const WarpRole &role : roles)
    duties.insert(role.duty);
  if (roles.size() < 2) {
    addSharedWork(detector);
    addIdleLoops(detector);
    return;
  }
  llvm::SmallVector<OpId, 8> first;
  for (const WarpRole &role : roles)
    first.push_back(getFirstWork(role));
  if (duties.size() < 2) {
    // Groups of warps that do the same, as long as no other role is there.
    detector.addNearMiss(
        nameWarps(roles[0].warps) + " and " + nameWarps(roles[1].warps) +
            " run different code at " + detector.describe(first) +
            ", but have the same role: " + getDutyName(roles[0].duty).str(),
        first);
    return;
  }
  // Roles that hand over to, or take over from, another one.
  std::vector<bool> linked(roles.size(), false), maybe(roles.size(), false);
  llvm::SmallVector<OpId, 8> where;
  for (const HandOver &over : analysis.getHandOvers()) {
    if (roles[over.from].duty == roles[over.to].duty)
      continue;
    for (uint32_t role : {over.from, over.to})
      (over.possible ? maybe : linked)[role] = true;
    if (!over.possible) {
      where.push_back(over.arrive);
      where.push_back(over.wait);
    }
  }
  std::set<std::string> names;
  bool holdsLoop = false;
  llvm::SmallVector<OpId, 8> alone, unsure;
  OpId at = kNone;
  for (auto [number, role] : llvm::enumerate(roles)) {
    if (!linked[number]) {
      (maybe[number] ? unsure : alone).push_back(getFirstWork(role));
      continue;
    }
    names.insert(getDutyName(role.duty).str());
    bool unrolled =
        detector.getMainRegion().getKind() == MainRegion::Kind::Body &&
        role.work.size() > 1;
    holdsLoop |= !role.loops.empty() || unrolled;
    where.push_back(getFirstWork(role));
    if (at == kNone || role.duty == Duty::Matrix)
      at = getFirstWork(role);
  }
  if (names.size() < 2) {
    if (!unsure.empty())
      detector.addUndecided(
          "warps have different roles at " + detector.describe(first) +
              ", but whether the barriers by which they hand over are the same "
              "ones is not known",
          "barrier addresses that can be followed to one array", first);
    else
      detector.addNearMiss("warps have different roles at " +
                               detector.describe(first) +
                               ", but none hands over to another: no barrier "
                               "is arrived at by one and waited for by the "
                               "other",
                           first);
    return;
  }
  if (!holdsLoop) {
    detector.addNearMiss("warps have different roles at " +
                             detector.describe(first) +
                             ", but no role holds a loop of the main region",
                         first);
    return;
  }
  AttributeMap attributes;
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : "+") + name;
  attributes["roles"] = text;
  Judgement judgement = detector.judgeOneWay();
  llvm::sort(where);
  where.erase(llvm::unique(where), where.end());
  if (judgement.isProved())
    detector.addFact(std::move(attributes), at, where);
  else
    detector.add(judgement, at);
}

namespace d2k::properties {
Property makeWarpSpecialization() {
  PropertyInfo info;
  info.id = "warp_specialization";
  info.group = 'C';
  info.summary =
      "disjoint sets of warps have different roles, each hands over to or "
      "takes over from another by a barrier, and at least one holds a loop of "
      "the main region";
  info.attributes = {
      {"roles",
       AttrType::String,
       {},
       "the roles in alphabetical order, joined by `+`: compute, copy, matrix, "
       "store; a role is named by the first of matrix, copy, compute (for "
       "another role), store that it does"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  // Whether arithmetic is handed over rests on addresses, which one tier may
  // know better.
  info.perTier = {"roles"};
  return {info, detect};
}
} // namespace d2k::properties
