// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// distributed_smem: data in the shared memory of another block of the cluster.

#include "Engine/Cluster.h"
#include "Engine/Detector.h"
#include "Engine/HostDetector.h"
#include "Engine/TileOrder.h"

#include "d2k/Analysis/LaneAddresses.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

namespace {
/// Whose memory an address names.
enum class Owner : uint8_t {
  /// That of the block itself.
  Own,
  /// Another block's, whatever the cluster.
  Other,
  /// Another block's when the cluster has several.
  OtherIfAny,
  /// A rank that is computed from data or parameters.
  Unknown,
};
} // namespace

/// Skips conversions.
static ValueId skipConversions(const KernelIndex &index, ValueId value) {
  OpId def = index.getDef(value);
  while (def != kNone && index.getGuard(def) == kNone &&
         llvm::isa<kern::ConvertOp>(index.getOp(def))) {
    value = index.getOperands(def)[0];
    def = index.getDef(value);
  }
  return value;
}

static bool isOwnRank(const KernelIndex &index, ValueId value) {
  OpId def = index.getDef(skipConversions(index, value));
  if (def == kNone)
    return false;
  auto special = llvm::dyn_cast<kern::SpecialOp>(index.getOp(def));
  return special && special.getReg() == "cluster_ctarank";
}

/// Whether `value` is computed from ranks, indices and constants alone, loops
/// over them included.
static bool isRankArithmetic(Detector &detector, ValueId value,
                             std::vector<bool> &seen) {
  const KernelIndex &index = detector.getIndex();
  if (value == kNone)
    return false;
  if (seen[value] || detector.getConstants().get(value))
    return true;
  seen[value] = true;
  OpId def = index.getDef(value);
  if (def == kNone) {
    llvm::ArrayRef<KernelIndex::Incoming> incoming = index.getIncoming(value);
    return !incoming.empty() && llvm::all_of(incoming, [&](const auto &in) {
      return isRankArithmetic(detector, in.value, seen);
    });
  }
  mlir::Operation *op = index.getOp(def);
  if (llvm::isa<kern::SpecialOp>(op))
    return true;
  if (!llvm::isa<kern::ArithOp, kern::ConvertOp, kern::CompareOp,
                 kern::SelectOp, kern::ShuffleOp>(op))
    return false;
  return llvm::all_of(index.getOperands(def), [&](ValueId operand) {
    return isRankArithmetic(detector, operand, seen);
  });
}

/// `value` in the block of rank `own`, of a cluster of `blocks`; nothing when
/// it is not made of ranks and constants by a few kinds of arithmetic.
static std::optional<uint64_t> evaluateRank(Detector &detector, ValueId value,
                                            uint64_t own, uint64_t blocks,
                                            unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 16;
  const KernelIndex &index = detector.getIndex();
  value = skipConversions(index, value);
  if (std::optional<uint64_t> constant = detector.getConstants().get(value))
    return constant;
  OpId def = index.getDef(value);
  if (def == kNone || index.getGuard(def) != kNone || depth == kMaxDepth)
    return std::nullopt;
  if (auto special = llvm::dyn_cast<kern::SpecialOp>(index.getOp(def))) {
    if (special.getReg() == "cluster_ctarank")
      return own;
    if (special.getReg() == "cluster_nctarank")
      return blocks;
    return std::nullopt;
  }
  auto arith = llvm::dyn_cast<kern::ArithOp>(index.getOp(def));
  if (!arith || kern::isFloat(arith.getType()))
    return std::nullopt;
  llvm::SmallVector<uint32_t, 3> in;
  for (ValueId operand : index.getOperands(def)) {
    std::optional<uint64_t> number =
        evaluateRank(detector, operand, own, blocks, depth + 1);
    if (!number)
      return std::nullopt;
    in.push_back(uint32_t(*number));
  }
  using kern::ArithKind;
  switch (arith.getKind()) {
  case ArithKind::Add:
    return in[0] + in[1];
  case ArithKind::Sub:
    return in[0] - in[1];
  case ArithKind::MulLo:
    return in[0] * in[1];
  case ArithKind::And:
    return in[0] & in[1];
  case ArithKind::Or:
    return in[0] | in[1];
  case ArithKind::Xor:
    return in[0] ^ in[1];
  case ArithKind::Rem:
    if (in[1] == 0)
      return std::nullopt;
    return in[0] % in[1];
  default:
    return std::nullopt;
  }
}

/// Whose memory `rank` names in every block of a cluster whose size is known;
/// nothing when it is not the same for all.
static std::optional<Owner> judgeEachRank(Detector &detector, ValueId rank) {
  std::optional<int64_t> blocks = getClusterSize(detector);
  if (!blocks || *blocks < 2)
    return std::nullopt;
  int64_t numOwn = 0;
  for (int64_t own = 0; own < *blocks; ++own) {
    std::optional<uint64_t> other =
        evaluateRank(detector, rank, uint64_t(own), uint64_t(*blocks));
    if (!other)
      return std::nullopt;
    numOwn += *other == uint64_t(own);
  }
  if (numOwn != 0 && numOwn != *blocks)
    return std::nullopt;
  return numOwn == 0 ? Owner::Other : Owner::Own;
}

static Owner judgeRank(Detector &detector, ValueId rank) {
  const KernelIndex &index = detector.getIndex();
  if (isOwnRank(index, rank))
    return Owner::Own;
  if (std::optional<Owner> owner = judgeEachRank(detector, rank))
    return *owner;
  if (std::optional<uint64_t> constant = detector.getConstants().get(rank))
    return *constant != 0 ? Owner::Other : Owner::OtherIfAny;
  OpId def = index.getDef(skipConversions(index, rank));
  if (def != kNone)
    if (auto arith = llvm::dyn_cast<kern::ArithOp>(index.getOp(def));
        arith && arith.getKind() == kern::ArithKind::Xor) {
      llvm::ArrayRef<ValueId> in = index.getOperands(def);
      for (unsigned i : {0u, 1u})
        if (isOwnRank(index, in[i]) &&
            detector.getConstants().get(in[1 - i]).value_or(0) != 0)
          return Owner::Other;
    }
  std::vector<bool> seen(index.getNumValues(), false);
  return isRankArithmetic(detector, rank, seen) ? Owner::OtherIfAny
                                                : Owner::Unknown;
}

/// Whose memory `address` names: that of the mapped ones among what it is
/// computed from.
static Owner judgeAddress(Detector &detector, ValueId address) {
  const KernelIndex &index = detector.getIndex();
  Owner owner = Owner::Own;
  std::vector<bool> seen(index.getNumValues(), false);
  llvm::SmallVector<ValueId, 8> work = {address};
  while (!work.empty()) {
    ValueId value = work.pop_back_val();
    if (value == kNone || seen[value])
      continue;
    seen[value] = true;
    OpId def = index.getDef(value);
    if (def == kNone) {
      for (const KernelIndex::Incoming &in : index.getIncoming(value))
        work.push_back(in.value);
      continue;
    }
    mlir::Operation *op = index.getOp(def);
    if (auto map = llvm::dyn_cast<kern::MapSharedOp>(op)) {
      Owner here = judgeRank(detector, index.getId(map.getRank()));
      owner = owner == Owner::Own ? here : std::max(owner, here);
    } else if (llvm::isa<kern::ArithOp, kern::ConvertOp, kern::SpaceCastOp,
                         kern::SelectOp, kern::PackOp, kern::UnpackOp,
                         kern::ShuffleOp>(op)) {
      llvm::append_range(work, index.getOperands(def));
    }
  }
  return owner;
}

/// What the access does; nothing for what is no access to data.
static std::optional<std::string> getKind(mlir::Operation *op,
                                          const AccessInfo &info) {
  if (info.access.barrier)
    return std::nullopt;
  if (llvm::isa<kern::LoadOp>(op))
    return "load";
  if (llvm::isa<kern::AtomicOp>(op))
    return "atomic";
  if (llvm::isa<kern::StoreOp, kern::MatrixStoreOp>(op))
    return "store";
  if (auto store = llvm::dyn_cast<kern::AsyncStoreOp>(op))
    return store.getReduction() ? "atomic" : "store";
  if (auto copy = llvm::dyn_cast<kern::BulkCopyOp>(op))
    if (info.access.write && copy.getSrcSpace() != kern::Space::Global)
      return copy.getKind() == kern::BulkKind::Reduce ? "atomic" : "store";
  return std::nullopt;
}

/// Whether ordinary store \p access fills all of the array that it writes.
static bool fillsArray(Detector &detector, uint32_t access) {
  const MemoryRoots &memory = detector.getMemory();
  const AccessInfo &info = memory.getAccesses()[access];
  KernelContext &kernel = detector.getKernel();
  if (info.roots.size() != 1 || !kernel.getLaneForms().getShape().known ||
      detector.getIndex().getGuard(info.op) != kNone)
    return false;
  auto array = llvm::dyn_cast_or_null<kern::ObjectOp>(
      memory.getRoot(info.roots[0]).symbol);
  std::optional<unsigned> bytes =
      kernel.getLaneAddresses().getLaneBytes(access);
  if (!array || !array.getSize() || !bytes)
    return false;
  std::shared_ptr<const Touches> touches =
      detector.getTileOrder().getTouches(access);
  if (!touches)
    return false;
  std::vector<ByteRun> runs =
      touches->getRuns(*bytes, 0, touches->first.size());
  return runs.size() == 1 &&
         runs[0].second - runs[0].first >= int64_t(*array.getSize());
}

/// A store of the block itself that always fills the array of remote store
/// \p access anew before anything reads it; kNone when there is none.
static OpId findOverwriter(Detector &detector, uint32_t access) {
  const KernelIndex &index = detector.getIndex();
  const MemoryRoots &memory = detector.getMemory();
  const Dominance &dominance = detector.getKernel().getDominance();
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  const AccessInfo &remote = accesses[access];
  if (remote.roots.size() != 1)
    return kNone;
  auto isBefore = [&](OpId first, OpId second) {
    BlockId a = index.getBlockOf(first), b = index.getBlockOf(second);
    return a == b ? first < second : dominance.dominates(a, b);
  };
  auto isSameArray = [&](const AccessInfo &info) {
    return info.roots.empty() ||
           llvm::is_contained(info.roots, remote.roots[0]);
  };
  for (uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessInfo &own = accesses[i];
    BlockId block = index.getBlockOf(own.op);
    if (!llvm::isa<kern::StoreOp>(index.getOp(own.op)) ||
        own.access.space == kern::Space::SharedCluster || !own.access.address ||
        // Another block's store is no store of the owner.
        judgeAddress(detector, index.getId(own.access.address)) != Owner::Own ||
        own.roots != remote.roots ||
        (block == index.getBlockOf(remote.op)
             ? own.op < remote.op
             : !dominance.postDominates(block, index.getBlockOf(remote.op))) ||
        !fillsArray(detector, i))
      continue;
    if (llvm::all_of(accesses, [&](const AccessInfo &reader) {
          return !reader.access.read || reader.access.barrier ||
                 reader.isGlobal() || !isSameArray(reader) ||
                 isBefore(own.op, reader.op);
        }))
      return own.op;
  }
  return kNone;
}

/// Whether the data comes from an input and gets to an output.
static Judgement judgeData(Detector &detector, OpId id, uint32_t access) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  mlir::Operation *op = index.getOp(id);
  if (llvm::isa<kern::LoadOp>(op)) {
    Reach reach = Reach::None;
    for (uint32_t i = 0; i < index.getNumResults(id); ++i)
      reach =
          std::max(reach, provenance.getReach(index.getFirstResult(id) + i));
    return detector.judgeInput(access).then(
        [&] { return detector.judgeReach(reach, "what it loads"); });
  }
  if (llvm::isa<kern::BulkCopyOp>(op))
    return detector.judgeInput(access - 1).then([&] {
      return detector.judgeReach(provenance.getWriteReach(access),
                                 "what it stores");
    });
  bool data = false;
  for (ValueId operand : index.getOperands(id))
    data |= !provenance.getTerms(operand).empty();
  if (!data)
    return Judgement::nearMiss("stores what was not made from any input of "
                               "the kernel");
  if (OpId over = findOverwriter(detector, access); over != kNone)
    return Judgement::nearMiss("stores what " + detector.describe(over) +
                                   " overwrites before anyone reads it",
                               {over});
  return detector.judgeReach(provenance.getWriteReach(access),
                             "what it stores");
}

/// Whether the cluster has another block.
static Judgement judgeOwner(Detector &detector, Owner owner) {
  std::optional<int64_t> blocks = getClusterSize(detector);
  if (owner == Owner::Own || blocks == int64_t(1))
    return Judgement::nearMiss(
        owner == Owner::Own
            ? "goes to the block's own shared memory through a cluster address"
            : "can only go to the block's own shared memory: the cluster has "
              "one block");
  if (owner == Owner::Unknown)
    return Judgement::undecided(
        "goes to a block whose rank depends on data or parameters",
        "a rank that is computed from the block's own");
  return Judgement::proved();
}

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const MemoryRoots &memory = detector.getMemory();
  std::optional<int64_t> blocks = getClusterSize(detector);
  llvm::ArrayRef<AccessInfo> accesses = memory.getAccesses();
  for (uint32_t access = 0; access < accesses.size(); ++access) {
    const AccessInfo &info = accesses[access];
    mlir::Operation *op = index.getOp(info.op);
    std::optional<std::string> kind = getKind(op, info);
    if (!kind || !info.access.address)
      continue;
    Owner owner = judgeAddress(detector, index.getId(info.access.address));
    bool cluster = info.access.space == kern::Space::SharedCluster;
    if (owner == Owner::Own && !cluster)
      continue;
    AttributeMap attributes;
    attributes["op"] = *kind;
    Judgement judgement =
        detector.judgeRuns(info.op)
            .then([&] { return judgeOwner(detector, owner); })
            .then([&] { return judgeData(detector, info.op, access); })
            .then([&] { return detector.judgeOneWay(); });
    if (judgement.isProved() && owner == Owner::OtherIfAny && !blocks) {
      LaunchClaim claim;
      claim.attributes = attributes;
      detector.addLaunchClaim(std::move(claim), {info.op});
      judgement = Judgement::undecided(
          "goes to another block's shared memory if the cluster has more than "
          "one block, which is set at the launch",
          "host code: the cluster dimension attribute of the launch");
    }
    detector.conclude(judgement, std::move(attributes), info.op);
  }
  detector.forEach<kern::BulkCopyOp>([&](OpId id, kern::BulkCopyOp op) {
    if (!op.getMulticast() || op.getSrcSpace() != kern::Space::Global ||
        op.getKind() != kern::BulkKind::Copy)
      return;
    uint32_t access = memory.getFirstAccess(id);
    AttributeMap attributes;
    attributes["op"] = std::string("multicast");
    std::optional<bool> others = isMulticast(detector, op);
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              if (!others)
                return Judgement::undecided(
                    "copies to blocks that a computed mask names",
                    "a constant mask");
              if (!*others)
                return Judgement::nearMiss(
                    "has a mask that names the own block only");
              return Judgement::proved();
            })
            .then([&] { return detector.judgeInput(access); })
            .then([&] { return detector.judgeCopied(access + 1); })
            .then([&] { return detector.judgeOneWay(); });
    detector.conclude(judgement, std::move(attributes), id);
  });
}

/// The cluster that a launch attribute sets.
static void detectHost(HostDetector &detector) {
  std::set<size_t> launched, open;
  for (const cuda::HostTrace &trace : detector.getTraces())
    for (const cuda::Event *event : detector.getLaunches(trace)) {
      std::optional<size_t> index = detector.findKernel(*event);
      if (!index)
        continue;
      int64_t blocks = 1;
      bool known = true;
      for (const cuda::Quantity &extent : event->cluster) {
        blocks *= extent.value.value_or(1);
        known &= extent.value.has_value();
      }
      for (const LaunchClaim &claim :
           detector.getAnalysis().kernels[*index].launchClaims) {
        if (claim.property != "distributed_smem" ||
            !detector.isOpen(trace, *index, claim.property))
          continue;
        launched.insert(*index);
        std::vector<SourceLocation> where = claim.where;
        where.push_back(event->where);
        std::string at =
            "the launch at " + HostDetector::describe(event->where);
        if (blocks > 1 && event->certain) {
          detector.addFact(trace, index, claim.attributes, where);
        } else if (blocks > 1) {
          open.insert(*index);
          detector.addEvent(trace, index, *event, claim.attributes);
        } else if (!known) {
          open.insert(*index);
          detector.addUndecided(trace, index,
                                at + " sets a cluster that is not known",
                                kLaunchList, where);
        } else {
          detector.addNearMiss(index,
                               at + " makes no clusters of more than one "
                                    "block: the block reaches its own shared "
                                    "memory only",
                               where);
        }
      }
    }
  for (size_t kernel : launched)
    if (!open.contains(kernel))
      detector.settle(kernel);
}

namespace d2k::properties {
Property makeDistributedSmem() {
  PropertyInfo info;
  info.id = "distributed_smem";
  info.group = 'A';
  info.summary =
      "data on its way from an input to an output is accessed in another "
      "block's shared memory; a remote barrier arrive alone is not";
  info.attributes = {{"op",
                      AttrType::String,
                      {"load", "store", "atomic", "multicast"},
                      "kind of access; multicast: a copy from global memory to "
                      "several blocks"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
