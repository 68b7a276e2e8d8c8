// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tma: bulk and tensor copies by the TMA unit.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Blocks in a cluster when the kernel says so itself.
static std::optional<int64_t> getClusterSize(Detector &detector) {
  if (auto shape = detector.getFunc().getDirective3("kern.reqnctapercluster"))
    return (*shape)[0] * (*shape)[1] * (*shape)[2];
  return std::nullopt;
}

/// Whether a copy reaches other blocks; nothing when that is not known.
static std::optional<bool> isMulticast(Detector &detector,
                                       kern::BulkCopyOp op) {
  if (!op.getMulticast() || !op.getMulticastMask())
    return false;
  const KernelIndex &index = detector.getIndex();
  std::optional<int64_t> blocks = getClusterSize(detector);
  if (blocks == int64_t(1))
    return false;
  ValueId mask = index.getId(op.getMulticastMask());
  if (std::optional<uint64_t> bits = detector.getConstants().get(mask)) {
    uint64_t inside = *bits & 0xffff;
    if (blocks && *blocks < 16)
      inside &= (uint64_t(1) << *blocks) - 1;
    return llvm::popcount(inside) >= 2;
  }
  // 1 << rank is the own block. Conversions of the mask to 16 bits and of the
  // rank do not matter.
  auto skip = [&](ValueId value) {
    OpId def = index.getDef(value);
    while (def != kNone && llvm::isa<kern::ConvertOp>(index.getOp(def))) {
      value = index.getOperands(def)[0];
      def = index.getDef(value);
    }
    return value;
  };
  OpId def = index.getDef(skip(mask));
  if (def == kNone)
    return std::nullopt;
  auto shift = llvm::dyn_cast<kern::ArithOp>(index.getOp(def));
  if (!shift || shift.getKind() != kern::ArithKind::Shl)
    return std::nullopt;
  llvm::ArrayRef<ValueId> in = index.getOperands(def);
  std::optional<uint64_t> shifted = detector.getConstants().get(in[0]);
  OpId rank = index.getDef(skip(in[1]));
  if (shifted != uint64_t(1) || rank == kNone)
    return std::nullopt;
  auto special = llvm::dyn_cast<kern::SpecialOp>(index.getOp(rank));
  if (special && special.getReg() == "cluster_ctarank")
    return false;
  return std::nullopt;
}

static Judgement judgePrefetch(Detector &detector, kern::BulkCopyOp op) {
  // What is fetched into L2 must be read by the kernel itself.
  const MemoryRoots &memory = detector.getMemory();
  const KernelIndex &index = detector.getIndex();
  if (op.getSize() &&
      detector.getConstants().get(index.getId(op.getSize())) == uint64_t(0))
    return Judgement::nearMiss("prefetches 0 bytes");
  llvm::ArrayRef<RootId> roots =
      memory.getRoots(index.getId(op.getSrc().front()));
  if (roots.empty())
    return Judgement::undecided(
        "prefetches from an address whose origin is not known",
        "addresses whose origin can be followed");
  for (const AccessInfo &access : memory.getAccesses())
    if (access.access.read && llvm::any_of(access.roots, [&](RootId root) {
          return llvm::is_contained(roots, root);
        }))
      return Judgement::proved();
  return Judgement::nearMiss("prefetches what the kernel never reads");
}

static void detect(Detector &detector) {
  bool found = false;
  detector.forEach<kern::BulkCopyOp>([&](OpId id, kern::BulkCopyOp op) {
    bool toGlobal = op.getDstSpace() == kern::Space::Global;
    bool fromGlobal = op.getSrcSpace() == kern::Space::Global;
    AttributeMap attributes;
    attributes["dims"] = int64_t(op.getDims());
    uint32_t access = detector.getMemory().getFirstAccess(id);
    Judgement judgement = detector.judgeRuns(id);
    std::string kind;
    if (op.getKind() == kern::BulkKind::Prefetch) {
      kind = "prefetch";
      judgement = judgement.then([&] { return judgePrefetch(detector, op); });
    } else if (fromGlobal) {
      bool gather = op.getMode() == kern::TensorMode::TileGather4;
      kind = gather ? "gather" : "load";
      if (std::optional<bool> multicast = isMulticast(detector, op))
        attributes["multicast"] = *multicast;
      judgement = judgement.then([&] { return detector.judgeInput(access); })
                      .then([&] { return detector.judgeCopied(access + 1); })
                      .then([&] { return detector.judgeOneWay(); });
    } else if (toGlobal) {
      kind = op.getKind() == kern::BulkKind::Reduce ? "reduce" : "store";
      judgement = judgement.then([&] { return detector.judgeInput(access); })
                      .then([&] {
                        return detector.judgeReach(
                            detector.getProvenance().getWriteReach(access + 1),
                            "what it stores");
                      })
                      .then([&] { return detector.judgeOneWay(); });
    } else {
      // Between the shared memories of a cluster: distributed_smem.
      return;
    }
    found = true;
    attributes["op"] = kind;
    detector.conclude(judgement, std::move(attributes), id);
  });
  if (found)
    return;
  llvm::SmallVector<OpId, 4> maps;
  detector.forEach<kern::PrefetchOp>([&](OpId id, kern::PrefetchOp op) {
    if (op.getLevel() == kern::PrefetchLevel::Tensormap)
      maps.push_back(id);
  });
  if (!maps.empty())
    detector.addNearMiss("`prefetch.tensormap` at " + detector.describe(maps) +
                             " fetches a tensor map, but no copy uses one",
                         maps);
}

namespace d2k::properties {
Property makeTma() {
  PropertyInfo info;
  info.id = "tma";
  info.group = 'A';
  info.summary =
      "the TMA unit copies input data to shared memory or results to global "
      "memory; a prefetch counts when the kernel also reads what was fetched, "
      "`prefetch.tensormap` alone does not";
  info.attributes = {
      {"op",
       AttrType::String,
       {"load", "store", "reduce", "prefetch", "gather"},
       "what it does"},
      {"dims",
       AttrType::Integer,
       {},
       "dimensions of the tensor map, 1 to 5; 0 for a bulk copy without one"},
      {"multicast",
       AttrType::Boolean,
       {},
       "loads only: the copy also goes to other blocks of the cluster; not "
       "known when the mask is computed"},
      {"swizzle",
       AttrType::String,
       {"none", "32", "64", "128"},
       "bytes of the swizzle pattern, from the host's encode call"}};
  info.decidingTiers = {Tier::Source, Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
