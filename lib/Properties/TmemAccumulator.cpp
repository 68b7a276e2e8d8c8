// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tmem_accumulator: the matrix unit sums into tensor memory that the kernel
// allocates, reads back and frees.

#include "Engine/Detector.h"
#include "Engine/TensorMemorySums.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Columns of one unit that machine code allocates.
static constexpr int64_t kUnitColumns = 32;

/// Columns that the allocation `op` takes, when constant.
static std::optional<int64_t> getColumns(Detector &detector, OpId op) {
  const KernelIndex &index = detector.getIndex();
  auto constant = [&](mlir::Value value) {
    return detector.getConstants().get(index.getId(value));
  };
  if (auto alloc = llvm::dyn_cast<kern::TmemAllocOp>(index.getOp(op))) {
    if (std::optional<uint64_t> columns = constant(alloc.getColumns()))
      return int64_t(*columns);
    return std::nullopt;
  }
  auto state = llvm::dyn_cast<kern::TmemStateOp>(index.getOp(op));
  if (!state || state.getInputs().empty())
    return std::nullopt;
  if (std::optional<uint64_t> units = constant(state.getInputs()[0]))
    return kUnitColumns * int64_t(*units);
  return std::nullopt;
}

/// How many accumulators the products `ops` use in turn: the values of the ring
/// index in their addresses. Nothing when addresses differ in another way, or
/// cannot be followed.
static std::optional<int64_t> getStages(Detector &detector,
                                        llvm::ArrayRef<OpId> ops) {
  LaneForms &forms = detector.getKernel().getLaneForms();
  const KernelIndex &index = detector.getIndex();
  std::optional<int64_t> stages;
  std::optional<int64_t> place;
  for (OpId id : ops) {
    auto op = llvm::cast<kern::TmemMmaOp>(index.getOp(id));
    if (op.getAcc().empty())
      return std::nullopt;
    const LaneForm &form = forms.get(index.getId(op.getAcc()[0]));
    if (!form.known || !form.rest.isSame())
      return std::nullopt;
    int64_t here = 1;
    for (const auto &[symbol, factor] : form.terms) {
      const LaneSymbol &what = forms.getSymbol(symbol);
      if (what.kind == LaneSymbolKind::Base)
        continue;
      if (what.kind != LaneSymbolKind::Ring || here != 1)
        return std::nullopt;
      here = what.values.size();
    }
    // Accumulators at two constant places may be used in turn or together.
    if ((stages && *stages != here) ||
        (place && here == 1 && *place != form.rest.getSame()))
      return std::nullopt;
    stages = here;
    place = form.rest.getSame();
  }
  return stages;
}

namespace {
/// What the kernel does with its tensor memory beside multiplying.
struct TensorMemoryUse {
  llvm::SmallVector<OpId, 4> loads;
  llvm::SmallVector<OpId, 2> releases;
  /// Roots of what is released, all of them when it is not known which.
  llvm::SmallVector<RootId, 2> released;
  bool releasesAny = false;
};
} // namespace

static TensorMemoryUse findUse(Detector &detector) {
  TensorMemoryUse use;
  const KernelIndex &index = detector.getIndex();
  for (OpId id = 0; id < index.getNumOps(); ++id) {
    if (!detector.getConstants().mayRun(id))
      continue;
    mlir::Operation *op = index.getOp(id);
    if (llvm::isa<kern::TmemLoadOp>(op)) {
      use.loads.push_back(id);
    } else if (auto dealloc = llvm::dyn_cast<kern::TmemDeallocOp>(op)) {
      use.releases.push_back(id);
      llvm::ArrayRef<RootId> roots =
          detector.getMemory().getRoots(index.getId(dealloc.getAddress()));
      llvm::append_range(use.released, roots);
      // An address without an origin is that of the only allocation, or else
      // the accumulator's is not found either.
      use.releasesAny |= roots.empty();
    } else if (auto state = llvm::dyn_cast<kern::TmemStateOp>(op);
               state && state.getAction() == "release") {
      // The mask is computed from the address.
      use.releases.push_back(id);
      use.releasesAny = true;
    }
  }
  return use;
}

static bool shareRoot(llvm::ArrayRef<RootId> a, llvm::ArrayRef<RootId> b) {
  return llvm::any_of(a, [&](RootId id) { return llvm::is_contained(b, id); });
}

/// Whether the accumulator in `roots` is allocated, read back and freed.
static Judgement judgeLife(Detector &detector, llvm::ArrayRef<RootId> roots,
                           const TensorMemoryUse &use) {
  const MemoryRoots &memory = detector.getMemory();
  bool allocated = !roots.empty() && llvm::all_of(roots, [&](RootId root) {
    return memory.getRoot(root).kind == Root::Kind::TensorMemory;
  });
  if (!allocated)
    return Judgement::undecided(
        "sums into tensor memory whose allocation was not found",
        "an accumulator address that comes from tcgen05.alloc");
  bool isRead = llvm::any_of(use.loads, [&](OpId load) {
    return llvm::any_of(memory.getAccessesOf(load), [&](const AccessInfo &at) {
      return shareRoot(at.roots, roots);
    });
  });
  if (!isRead)
    return Judgement::nearMiss(
        "sums into tensor memory that no tcgen05.ld reads back");
  if (use.releasesAny || shareRoot(use.released, roots))
    return Judgement::proved();
  if (use.releases.empty())
    return Judgement::nearMiss(
        "sums into tensor memory that is never freed: the next block of the "
        "multiprocessor waits for it");
  return Judgement::undecided(
      "sums into tensor memory, and what " + detector.describe(use.releases) +
          " frees may be another allocation",
      "the address that tcgen05.alloc gave as operand of tcgen05.dealloc",
      use.releases);
}

static void detect(Detector &detector) {
  std::optional<TensorMemoryUse> use;
  std::optional<int64_t> stages;
  llvm::SmallVector<OpId, 8> products;
  detector.forEach<kern::TmemMmaOp>([&](OpId id, kern::TmemMmaOp) {
    if (detector.getConstants().mayRun(id))
      products.push_back(id);
  });
  if (!products.empty())
    stages = getStages(detector, products);
  detector.forEach<kern::TmemMmaOp>([&](OpId id, kern::TmemMmaOp) {
    if (!use)
      use = findUse(detector);
    const Provenance &provenance = detector.getProvenance();
    llvm::ArrayRef<RootId> roots;
    for (const AccessInfo &access : detector.getMemory().getAccessesOf(id))
      if (access.access.write && access.space == kern::Space::TensorMemory)
        roots = access.roots;
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              auto [a, b] = provenance.getProductOperands(id);
              if (!a.empty() && !b.empty())
                return Judgement::proved();
              if (provenance.areProductOperandsUnknown(id))
                return Judgement::undecided(
                    "multiplies what may be no input",
                    "addresses whose origin can be followed");
              return Judgement::nearMiss("multiplies no input data");
            })
            .then([&] { return judgeLife(detector, roots, *use); })
            .then([&] { return judgeSumsKept(detector, id); })
            .then([&] {
              return detector.judgeReach(provenance.getProductReach(id),
                                         "its result");
            })
            .then([&] { return detector.judgeSoleWay(ProductClass::Tcgen05); });
    AttributeMap attributes;
    std::optional<int64_t> columns;
    for (RootId root : roots) {
      std::optional<int64_t> here =
          getColumns(detector, detector.getMemory().getRoot(root).number);
      // Machine code tries to allocate in several places.
      if (!here || (columns && columns != here)) {
        columns.reset();
        break;
      }
      columns = here;
    }
    if (columns)
      attributes["columns"] = *columns;
    if (stages)
      attributes["stages"] = *stages;
    detector.conclude(judgement, std::move(attributes), id);
  });
}

namespace d2k::properties {
Property makeTmemAccumulator() {
  PropertyInfo info;
  info.id = "tmem_accumulator";
  info.group = 'B';
  info.summary = "accumulators live in tensor memory that the kernel "
                 "allocates, that the matrix unit writes, and that is read "
                 "back on the way to the output and freed";
  info.attributes = {
      {"columns", AttrType::Integer, {}, "allocated columns of 32 bits"},
      {"stages",
       AttrType::Integer,
       {},
       "accumulators used in turn; not known when the address of one does not "
       "step through a ring that can be followed"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
