// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tma: bulk and tensor copies by the TMA unit.

#include "Engine/Cluster.h"
#include "Engine/Detector.h"
#include "Engine/HostDetector.h"
#include "Engine/MovedBytes.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// A prefetch is of use when the data is loaded within so many iterations.
static constexpr int64_t kMaxAhead = 64;

namespace {
/// What a prefetched place is to one that is loaded.
enum class Nearness : uint8_t { Same, Other, Unknown };
} // namespace

/// Whether `ahead`, the distance from a load to a prefetch, is bridged by some
/// iterations of a loop that moves the load, whose address is `load`;
/// `touches` says whether what is left is a hit.
static bool isReached(LinearForms &forms, const LinearForm &load,
                      const LinearForm &ahead,
                      llvm::function_ref<bool(const LinearForm &)> touches) {
  for (const auto &[symbol, coefficient] : load.terms)
    if (forms.getLoop(symbol) != kNone)
      for (int64_t n = 1; n <= kMaxAhead; ++n)
        if (touches(ahead.plus(forms.getStep(symbol), -n * coefficient)))
          return true;
  return false;
}

static Nearness compare(LinearForms &forms, const LinearForm &prefetch,
                        const LinearForm &load,
                        llvm::function_ref<bool(const LinearForm &)> touches) {
  LinearForm ahead = prefetch.plus(load, -1);
  if (touches(ahead) || isReached(forms, load, ahead, touches))
    return Nearness::Same;
  bool still = llvm::all_of(load.terms, [&](const auto &term) {
    return forms.getKind(term.first) <= SymbolKind::Index;
  });
  return still && ahead.terms.empty() ? Nearness::Other : Nearness::Unknown;
}

/// A tensor prefetch and a tensor copy through the same map.
static Nearness compareBoxes(Detector &detector, kern::BulkCopyOp prefetch,
                             kern::BulkCopyOp load) {
  const KernelIndex &index = detector.getIndex();
  LinearForms &forms = detector.getKernel().getForms();
  auto get = [&](mlir::Value value) { return forms.get(index.getId(value)); };
  auto isZero = [](const LinearForm &form) {
    return form.isConstant() && form.low == 0;
  };
  LinearForm maps =
      get(prefetch.getSrc().front()).plus(get(load.getSrc().front()), -1);
  maps.low += prefetch.getSrcOffset() - load.getSrcOffset();
  maps.high += prefetch.getSrcOffset() - load.getSrcOffset();
  if (!isZero(maps) ||
      prefetch.getCoordinates().size() != load.getCoordinates().size())
    return Nearness::Unknown;
  // The box's size is the host's: places that differ by a constant may overlap.
  for (auto [there, here] :
       llvm::zip(prefetch.getCoordinates(), load.getCoordinates()))
    if (compare(forms, get(there), get(here), isZero) != Nearness::Same)
      return Nearness::Unknown;
  return Nearness::Same;
}

/// A prefetch of a plain range and a read of the same tensor.
static Nearness compareRanges(Detector &detector, kern::BulkCopyOp prefetch,
                              const AccessInfo &load) {
  const KernelIndex &index = detector.getIndex();
  LinearForms &forms = detector.getKernel().getForms();
  if (load.access.form != kern::MemoryAccess::Form::Address)
    return Nearness::Unknown;
  std::optional<uint64_t> size;
  if (prefetch.getSize())
    size = detector.getConstants().get(index.getId(prefetch.getSize()));
  LinearForm from = forms.get(index.getId(prefetch.getSrc().front()));
  from.low += prefetch.getSrcOffset();
  from.high += prefetch.getSrcOffset();
  LinearForm to = forms.get(index.getId(load.access.address));
  to.low += load.access.offset;
  to.high += load.access.offset;
  Nearness nearness = compare(forms, from, to, [&](const LinearForm &distance) {
    return distance.terms.empty() &&
           distance.low < int64_t(load.access.bytes.value_or(1)) &&
           distance.high + int64_t(size.value_or(1)) > 0;
  });
  // A range of unknown size may reach anything.
  bool known = size && load.access.bytes;
  return nearness == Nearness::Other && !known ? Nearness::Unknown : nearness;
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
  llvm::SmallVector<OpId, 4> unsure;
  for (const AccessInfo &access : memory.getAccesses()) {
    if (!access.access.read || !llvm::any_of(access.roots, [&](RootId root) {
          return llvm::is_contained(roots, root);
        }))
      continue;
    Nearness nearness = Nearness::Unknown;
    auto copy = llvm::dyn_cast<kern::BulkCopyOp>(index.getOp(access.op));
    if (copy && copy.getKind() == kern::BulkKind::Prefetch)
      continue;
    if (op.getDims() == 0)
      nearness = compareRanges(detector, op, access);
    else if (copy && copy.getDims() == op.getDims())
      nearness = compareBoxes(detector, op, copy);
    if (nearness == Nearness::Same)
      return Judgement::proved();
    if (nearness == Nearness::Unknown)
      unsure.push_back(access.op);
  }
  if (unsure.empty())
    return Judgement::nearMiss("prefetches what the kernel never reads");
  return Judgement::undecided(
      "may prefetch a part that the kernel never reads: its place is not that "
      "of " +
          detector.describe(unsure) +
          ", nor where a few more iterations take it",
      "the place written as that of the load plus a number of the loop's "
      "steps, "
      "or a profile of L2",
      unsure);
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
      judgement = judgement.then([&] { return judgeMovedBytes(detector, id); })
                      .then([&] { return detector.judgeInput(access); })
                      .then([&] { return detector.judgeCopied(access + 1); })
                      .then([&] { return detector.judgeOneWay(); });
    } else if (toGlobal) {
      kind = op.getKind() == kern::BulkKind::Reduce ? "reduce" : "store";
      judgement = judgement.then([&] { return judgeMovedBytes(detector, id); })
                      .then([&] { return detector.judgeInput(access); })
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

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

/// Adds the tensor maps in `argument` and in its fields to `maps`. Returns
/// false when there may be others: an argument that is not known.
static bool collectMaps(const cuda::Argument &argument,
                        const cuda::HostTrace &trace,
                        std::vector<const cuda::TensorMap *> &maps) {
  switch (argument.kind) {
  case cuda::Argument::Kind::TensorMap:
    if (!argument.tensorMap)
      return false;
    maps.push_back(&trace.tensorMaps[*argument.tensorMap]);
    return true;
  case cuda::Argument::Kind::Record: {
    bool known = true;
    for (const cuda::ArgumentField &field : argument.fields)
      known &= collectMaps(field.value, trace, maps);
    return known;
  }
  case cuda::Argument::Kind::Unknown:
    // Nothing of this size holds a map, which has 128 bytes.
    return argument.bytes > 0 && argument.bytes < 128;
  default:
    return true;
  }
}

/// The swizzle of the tensor maps that a copy of `kind` in `dims` dimensions
/// may go through: the one of all maps that reach the kernel and fit.
static std::optional<AttrValue> findSwizzle(const HostDetector &detector,
                                            size_t kernel, llvm::StringRef kind,
                                            int64_t dims) {
  std::set<int> modes;
  for (const cuda::HostTrace &trace : detector.getTraces())
    for (const cuda::Event *event : detector.getLaunches(trace)) {
      if (detector.findKernel(*event) != kernel)
        continue;
      std::vector<const cuda::TensorMap *> maps;
      for (const cuda::Argument &argument : event->arguments)
        if (!collectMaps(argument, trace, maps))
          return std::nullopt;
      bool stores = kind == "store" || kind == "reduce";
      for (const cuda::TensorMap *map : maps) {
        if (int64_t(map->dimensions.size()) != dims)
          continue;
        if (map->buffer) {
          // An input is not written; an output may be read.
          cuda::Buffer::Kind buffer = trace.buffers[*map->buffer].kind;
          if (stores && buffer == cuda::Buffer::Kind::Input)
            continue;
        }
        modes.insert(map->swizzleBytes);
      }
    }
  if (modes.size() != 1 || *modes.begin() < 0)
    return std::nullopt;
  return *modes.begin() == 0 ? std::string("none")
                             : std::to_string(*modes.begin());
}

static void detectHost(HostDetector &detector) {
  for (size_t i = 0; i < detector.getAnalysis().kernels.size(); ++i)
    detector.refine(
        i, "tma", "swizzle", [&](const Fact &fact) -> std::optional<AttrValue> {
          auto dims = fact.attributes.find("dims");
          auto op = fact.attributes.find("op");
          if (dims == fact.attributes.end() || op == fact.attributes.end() ||
              std::get<int64_t>(dims->second) == 0)
            return std::nullopt;
          return findSwizzle(detector, i, std::get<std::string>(op->second),
                             std::get<int64_t>(dims->second));
        });
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
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
