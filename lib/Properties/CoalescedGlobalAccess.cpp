// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// coalesced_global_access: the lanes of a warp use whole sectors of global
// memory.

#include "Engine/GlobalData.h"

#include "d2k/Analysis/LaneAddresses.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// One global access that moves data.
struct Access {
  OpId op;
  std::optional<SectorCount> sectors;
  OpId blocker;
  Judgement judgement;
  /// Bytes that a warp moves with it while the kernel runs, when the trip
  /// counts around it are known.
  std::optional<double> moved;
};
} // namespace

/// How often `op` runs in one pass of the main region, or of the kernel.
static std::optional<double> getTrips(Detector &detector, OpId op) {
  const LoopNest &loops = detector.getKernel().getLoops();
  const MainRegion &region = detector.getMainRegion();
  double trips = 1;
  uint32_t loop = loops.getInnermost(detector.getIndex().getBlockOf(op));
  for (; loop != kNone; loop = loops.getLoop(loop).parent) {
    if (region.getKind() == MainRegion::Kind::Loops && region.isMainLoop(loop))
      return trips;
    if (!loops.getLoop(loop).trip)
      return std::nullopt;
    trips *= double(*loops.getLoop(loop).trip);
  }
  return trips;
}

static void report(Detector &detector, llvm::StringRef direction,
                   llvm::ArrayRef<Access> accesses) {
  // Where the main region has accesses of this direction, they are what counts.
  bool anyMain = false, unknownRegion = false;
  for (const Access &access : accesses) {
    Tristate inside = detector.getMainRegion().contains(access.op);
    anyMain |= inside == Tristate::Yes;
    unknownRegion |= inside == Tristate::Unknown;
  }
  llvm::SmallVector<const Access *> scope;
  for (const Access &access : accesses)
    if (!anyMain ||
        detector.getMainRegion().contains(access.op) == Tristate::Yes)
      scope.push_back(&access);
  double all = 0, good = 0;
  bool sure = true, same = true;
  for (const Access *access : scope) {
    if (access->sectors && access->sectors->broadcast)
      continue; // One word for all lanes has nothing to coalesce.
    sure &= access->sectors.has_value() && access->judgement.isProved();
    if (!access->sectors)
      continue;
    bool whole = access->sectors->isCoalesced();
    same &= whole;
    if (!access->moved) {
      sure = false;
      continue;
    }
    all += *access->moved;
    good += whole ? *access->moved : 0;
  }
  bool known = llvm::all_of(scope, [](const Access *access) {
    return access->sectors.has_value() && access->judgement.isProved();
  });
  for (const Access *access : scope) {
    if (!access->sectors) {
      Judgement judgement = Judgement::undecided(
          "has lane addresses that are not known" +
              (detector.getKernel().getLaneForms().isExhausted()
                   ? ": those of the whole kernel take too long to work out"
               : access->blocker == kNone
                   ? std::string()
                   : ": they depend on what " +
                         detector.describe(access->blocker) + " makes"),
          "addresses computed from the thread's number and numbers that a warp "
          "agrees on",
          access->blocker == kNone ? llvm::ArrayRef<OpId>()
                                   : llvm::ArrayRef<OpId>(access->blocker));
      detector.add(access->judgement.then([&] { return judgement; }),
                   access->op);
      continue;
    }
    if (access->sectors->broadcast)
      continue;
    if (!access->sectors->isCoalesced()) {
      Judgement judgement = Judgement::nearMiss(
          "touches " + std::to_string(access->sectors->touched) +
          " sectors of 32 bytes for " + std::to_string(access->sectors->bytes) +
          " bytes of a warp, which would fit into " +
          std::to_string(access->sectors->least));
      detector.add(access->judgement.then([&] { return judgement; }),
                   access->op);
      continue;
    }
    AttributeMap attributes;
    attributes["direction"] = direction.str();
    if (same && known && !unknownRegion)
      attributes["share"] = 1.0;
    else if (sure && all > 0 && !unknownRegion)
      attributes["share"] = good / all;
    detector.conclude(access->judgement, std::move(attributes), access->op);
  }
}

static void detect(Detector &detector) {
  const MemoryRoots &memory = detector.getMemory();
  LaneAddresses &lanes = detector.getKernel().getLaneAddresses();
  std::vector<Access> loads, stores;
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &info = accesses[i];
    if (!info.isGlobal() || info.access.barrier || info.access.atomic ||
        info.access.warpWide || !info.access.bytes ||
        info.access.form != kern::MemoryAccess::Form::Address)
      continue;
    std::optional<Judgement> judgement = judgeGlobalData(detector, i);
    if (!judgement)
      continue;
    Access access{info.op, {}, kNone, std::move(*judgement), {}};
    access.sectors = lanes.getSectors(i);
    access.blocker = access.sectors ? kNone : lanes.getBlocker();
    if (std::optional<double> trips = getTrips(detector, info.op);
        trips && access.sectors)
      access.moved = *trips * access.sectors->bytes;
    bool isStore = llvm::isa<kern::StoreOp>(detector.getIndex().getOp(info.op));
    (isStore ? stores : loads).push_back(std::move(access));
  }
  report(detector, "load", loads);
  report(detector, "store", stores);
}

namespace d2k::properties {
Property makeCoalescedGlobalAccess() {
  PropertyInfo info;
  info.id = "coalesced_global_access";
  info.group = 'A';
  info.summary =
      "over the 32 lane addresses the 32-byte sectors touched are at most 1.25 "
      "times the minimum for the bytes used; bases and run-time strides are "
      "taken for multiples of a sector, and a word that all lanes read is no "
      "such access";
  info.attributes = {
      {"direction",
       AttrType::String,
       {"load", "store"},
       "which way the data goes; asynchronous copies load"},
      {"share",
       AttrType::Real,
       {},
       "fraction of the bytes of this direction that are coalesced, in the "
       "main region, or in the kernel when the main region has none; not known "
       "when it depends on trip counts that are not constant"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  // Unrolled loops, peeled heads and tails have other shares.
  info.perTier = {"share"};
  return {info, detect};
}
} // namespace d2k::properties
