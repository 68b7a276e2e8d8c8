// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// smem_bank_conflict: how many accesses of shared memory one access becomes.

#include "Engine/Detector.h"

#include "d2k/Analysis/LaneAddresses.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// How the access is called; empty for those that have no lanes.
static std::string getKind(mlir::Operation *op) {
  if (llvm::isa<kern::LoadOp>(op))
    return "load";
  if (llvm::isa<kern::StoreOp, kern::AsyncCopyOp>(op))
    return "store";
  if (auto load = llvm::dyn_cast<kern::MatrixLoadOp>(op))
    return load.getOp() == "ldmatrix" ? "ldmatrix" : "";
  if (auto store = llvm::dyn_cast<kern::MatrixStoreOp>(op))
    return store.getOp() == "stmatrix" ? "stmatrix" : "";
  return "";
}

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  const MemoryRoots &memory = detector.getMemory();
  LaneAddresses &lanes = detector.getKernel().getLaneAddresses();
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (info.space != kern::Space::Shared || info.access.barrier ||
        info.access.atomic || (info.access.read && info.access.write))
      continue;
    std::string kind = getKind(index.getOp(info.op));
    if (kind.empty())
      continue;
    Judgement judgement;
    if (info.access.read) {
      // Words that only steer, such as the address of tensor memory.
      Reach reach = Reach::None;
      for (uint32_t r = 0; r < index.getNumResults(info.op); ++r)
        reach = std::max(
            reach, provenance.getReach(index.getFirstResult(info.op) + r));
      if (reach == Reach::Control ||
          (provenance.getRead(i).empty() && !provenance.isReadUnknown(i)))
        continue;
      judgement = detector.judgeInput(i).then(
          [&] { return detector.judgeReach(reach, "what it loads"); });
    } else {
      if (provenance.getWriteReach(i) == Reach::Control)
        continue;
      judgement =
          detector.judgeReach(provenance.getWriteReach(i), "what it stores");
    }
    // Nobody reaches for conflicts: an access without effect is none that
    // nearly has some.
    if (judgement.verdict == Judgement::Verdict::NearMiss)
      continue;
    judgement = judgement.then([&] { return detector.judgeModelled(); });
    std::optional<unsigned> degree = lanes.getConflicts(i);
    OpId blocker = lanes.getBlocker();
    if (!degree) {
      detector.add(judgement.then([&] {
        return Judgement::undecided(
            "has lane addresses that are not known" +
                (detector.getKernel().getLaneForms().isExhausted()
                     ? ": those of the whole kernel take too long to work out"
                 : blocker == kNone
                     ? std::string()
                     : ": they depend on what " + detector.describe(blocker) +
                           " makes"),
            "addresses computed from the thread's number, with strides "
            "that are constant",
            blocker == kNone ? llvm::ArrayRef<OpId>()
                             : llvm::ArrayRef<OpId>(blocker));
      }),
                   info.op);
      continue;
    }
    AttributeMap attributes;
    attributes["degree"] = int64_t(*degree);
    attributes["op"] = kind;
    detector.conclude(judgement, std::move(attributes), info.op);
  }
}

namespace d2k::properties {
Property makeSmemBankConflict() {
  PropertyInfo info;
  info.id = "smem_bank_conflict";
  info.group = 'A';
  info.summary =
      "the conflict degree of an access to shared memory that carries data is "
      "known from its lane addresses: the most words of one bank among the "
      "lanes that are served together";
  info.attributes = {
      {"degree", AttrType::Integer, {}, "accesses that one becomes; 1 is none"},
      {"op",
       AttrType::String,
       {"load", "store", "ldmatrix", "stmatrix"},
       "kind of access; an asynchronous copy stores"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
