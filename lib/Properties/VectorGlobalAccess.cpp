// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vector_global_access: wide loads and stores of global memory by each thread.

#include "Engine/AsyncAnalyses.h"
#include "Engine/GlobalData.h"

#include <map>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// One global load or store that moves data.
struct Access {
  OpId op;
  int64_t bytes;
  Judgement judgement;
  /// What the instruction asks for, where less of it is used.
  int64_t asked = 0;
};

/// How often an access runs: loops of unknown trip count around it, and the
/// product of the known trip counts.
struct Weight {
  std::vector<uint32_t> unknownLoops;
  double known = 1;
};
} // namespace

static Weight getWeight(Detector &detector, OpId op) {
  const LoopNest &loops = detector.getKernel().getLoops();
  Weight weight;
  uint32_t loop = loops.getInnermost(detector.getIndex().getBlockOf(op));
  for (; loop != kNone; loop = loops.getLoop(loop).parent) {
    if (std::optional<int64_t> trip = loops.getLoop(loop).trip)
      weight.known *= double(*trip);
    else
      weight.unknownLoops.push_back(loop);
  }
  return weight;
}

/// Fraction of the bytes of `accesses` moved `bytes` at a time; nothing when it
/// depends on trip counts that are not known.
static std::optional<double> getShare(Detector &detector,
                                      llvm::ArrayRef<const Access *> accesses,
                                      int64_t bytes) {
  double all = 0, wide = 0;
  std::optional<Weight> first;
  bool sameWidth = true, comparable = true;
  for (const Access *access : accesses) {
    sameWidth &= access->bytes == bytes;
    Weight weight = getWeight(detector, access->op);
    if (!first)
      first = weight;
    comparable &= weight.unknownLoops == first->unknownLoops;
    double moved = double(access->bytes) * weight.known;
    all += moved;
    wide += access->bytes == bytes ? moved : 0;
  }
  if (sameWidth)
    return 1.0;
  if (!comparable || all == 0)
    return std::nullopt;
  return wide / all;
}

static void report(Detector &detector, llvm::StringRef direction,
                   llvm::ArrayRef<Access> accesses) {
  // Shares are over the main region, or over the whole kernel where the main
  // region has no access of this direction.
  llvm::SmallVector<const Access *> main, all;
  bool unknownRegion = false;
  for (const Access &access : accesses) {
    all.push_back(&access);
    Tristate inside = detector.getMainRegion().contains(access.op);
    unknownRegion |= inside == Tristate::Unknown;
    if (inside == Tristate::Yes)
      main.push_back(&access);
  }
  llvm::ArrayRef<const Access *> scope = main.empty() ? all : main;
  // An access that cannot be judged may belong to the bytes or not.
  bool sure = llvm::all_of(
      scope, [](const Access *access) { return access->judgement.isProved(); });
  std::map<int64_t, std::optional<double>> shares;
  for (const Access &access : accesses) {
    if (access.bytes < 8) {
      if (access.asked >= 8 && access.judgement.isProved())
        detector.add(
            Judgement::nearMiss(withChange(
                "loads " + std::to_string(access.asked) +
                    " bytes, of which only " + std::to_string(access.bytes) +
                    " are used: ptxas makes a narrower load of it",
                "use all of them")),
            access.op);
      continue;
    }
    AttributeMap attributes;
    attributes["direction"] = direction.str();
    attributes["bytes"] = access.bytes;
    if (sure &&
        !(unknownRegion && main.empty() && !all.empty() &&
          detector.getMainRegion().getKind() == MainRegion::Kind::Loops)) {
      auto [share, isNew] = shares.try_emplace(access.bytes);
      if (isNew)
        share->second = getShare(detector, scope, access.bytes);
      if (share->second)
        attributes["share"] = *share->second;
    }
    detector.conclude(access.judgement, std::move(attributes), access.op);
  }
}

/// The bytes of load `op` that ptxas keeps: an aligned part around the elements
/// that are used, a power of two of them.
static int64_t getUsedBytes(Detector &detector, OpId op, int64_t bytes) {
  const KernelIndex &index = detector.getIndex();
  uint32_t count = index.getNumResults(op);
  uint32_t low = count, high = 0;
  for (uint32_t i = 0; i < count; ++i) {
    ValueId result = index.getFirstResult(op) + i;
    if (index.getUsers(result).empty() ||
        detector.getProvenance().getReach(result) == Reach::None)
      continue;
    low = std::min(low, i);
    high = i;
  }
  if (low > high || count == 0)
    return bytes;
  uint32_t size = 1;
  while (low / size != high / size)
    size *= 2;
  return std::min(bytes, bytes / count * size);
}

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const MemoryRoots &memory = detector.getMemory();
  std::vector<Access> loads, stores;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    bool isLoad = llvm::isa<kern::LoadOp>(index.getOp(op));
    llvm::ArrayRef<AccessInfo> accesses = memory.getAccessesOf(op);
    if (accesses.empty() ||
        (!isLoad && !llvm::isa<kern::StoreOp>(index.getOp(op))))
      continue;
    if (std::optional<Judgement> judgement =
            judgeGlobalData(detector, memory.getFirstAccess(op))) {
      Access access{op, int64_t(*accesses[0].access.bytes),
                    std::move(*judgement)};
      if (isLoad && detector.getTier() == Tier::Ptx) {
        access.asked = access.bytes;
        access.bytes = getUsedBytes(detector, op, access.bytes);
      }
      (isLoad ? loads : stores).push_back(std::move(access));
    }
  }
  report(detector, "load", loads);
  report(detector, "store", stores);
}

namespace d2k::properties {
Property makeVectorGlobalAccess() {
  PropertyInfo info;
  info.id = "vector_global_access";
  info.group = 'A';
  info.summary =
      "each thread loads input data, or stores results, 8, 16 or 32 bytes at a "
      "time; copies that bypass registers are async_copy, and tables of "
      "indices "
      "are no data";
  info.attributes = {
      {"direction", AttrType::String, {"load", "store"}, "load or store"},
      {"bytes", AttrType::Integer, {}, "bytes of one access: 8, 16 or 32"},
      {"share",
       AttrType::Real,
       {},
       "fraction of the bytes of this direction moved at this width, in the "
       "main region, or in the kernel when the main region has none; not known "
       "when it depends on trip counts that are not constant"}};
  info.decidingTiers = {Tier::Sass, Tier::Ptx};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  // Unrolled loops, peeled heads and tails have other shares.
  info.perTier = {"share"};
  return {info, detect};
}
} // namespace d2k::properties
