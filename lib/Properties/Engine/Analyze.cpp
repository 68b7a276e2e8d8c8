// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs all detectors over the kernels of a module and gathers what is known
// about each kernel besides: loops, static shared memory, completeness.

#include "Engine/AnalyzeKernel.h"
#include "Engine/Detector.h"

#include "llvm/Demangle/Demangle.h"

#include <set>

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static void fillLoops(Detector &detector, KernelFacts &facts) {
  KernelContext &kernel = detector.getKernel();
  const MainRegion &region = kernel.getMainRegion();
  const LoopNest &loops = kernel.getLoops();
  for (auto [number, loop] : llvm::enumerate(loops.getLoops())) {
    KernelLoop entry;
    entry.id = loop.id;
    entry.depth = loop.depth;
    entry.trip = loop.trip;
    entry.main = region.isMainLoop(number);
    entry.spin = loop.spin;
    entry.where =
        detector.getPlace(kernel.getIndex().getOps(loop.header).first);
    facts.loops.push_back(std::move(entry));
  }
}

/// Most bytes that a thread writes by \p access over its whole run.
static std::optional<int64_t> getStoredBytes(KernelContext &kernel,
                                             const AccessInfo &access) {
  // Large enough for any output, small enough for products of three.
  constexpr int64_t kMost = int64_t(1) << 40;
  if (access.access.async || access.access.warpWide || !access.access.bytes ||
      access.access.form != kern::MemoryAccess::Form::Address ||
      kernel.getLoops().isIrreducible() || kernel.getLoops().isTooDeep())
    return std::nullopt;
  int64_t bytes = int64_t(*access.access.bytes);
  const LoopNest &loops = kernel.getLoops();
  for (uint32_t loop =
           loops.getInnermost(kernel.getIndex().getBlockOf(access.op));
       loop != kNone; loop = loops.getLoop(loop).parent) {
    const std::optional<int64_t> &trip = loops.getLoop(loop).trip;
    if (!trip || *trip > kMost || bytes > kMost)
      return std::nullopt;
    bytes *= *trip;
  }
  return bytes <= kMost ? std::optional(bytes) : std::nullopt;
}

/// What the kernel reads and writes through its parameters. Accesses without a
/// root, or through a pointer that it loads, may touch anything.
static void fillParameterUses(KernelContext &kernel, KernelFacts &facts) {
  const MemoryRoots &memory = kernel.getMemory();
  // Parameters written in a way that says nothing about how much.
  std::set<std::pair<unsigned, int64_t>> unlimited;
  std::map<std::pair<unsigned, int64_t>, ParameterUse> uses;
  for (const AccessInfo &access : memory.getAccesses()) {
    bool reads = access.access.read, writes = access.access.write;
    if (access.space != kern::Space::Global &&
        access.space != kern::Space::Unknown &&
        access.space != kern::Space::Generic)
      continue;
    bool unknown = access.roots.empty();
    for (RootId id : access.roots) {
      const Root &root = memory.getRoot(id);
      if ((root.kind == Root::Kind::Pointer ||
           root.kind == Root::Kind::Parameter) &&
          root.offset >= 0) {
        ParameterUse &use = uses[{root.number, root.offset}];
        use.parameter = root.number;
        use.offset = root.offset;
        use.reads |= reads;
        use.writes |= writes;
        if (!writes)
          continue;
        if (std::optional<int64_t> bytes = getStoredBytes(kernel, access))
          use.storedBytes = use.storedBytes.value_or(0) + *bytes;
        else
          unlimited.insert({root.number, root.offset});
      } else if (root.kind != Root::Kind::Symbol ||
                 root.space == kern::Space::Global) {
        // A global variable may be what another kernel wrote.
        unknown = true;
      }
    }
    facts.readsUnknown |= unknown && reads;
    facts.writesUnknown |= unknown && writes;
  }
  for (auto &[key, use] : uses) {
    if (unlimited.contains(key))
      use.storedBytes.reset();
    facts.parameterUses.push_back(use);
  }
}

/// Bytes of static shared memory by the function that declares them.
static llvm::DenseMap<mlir::StringAttr, int64_t>
getStaticShared(mlir::ModuleOp module) {
  llvm::DenseMap<mlir::StringAttr, int64_t> bytes;
  for (auto object : module.getOps<kern::ObjectOp>())
    if (object.getSpace() == kern::Space::Shared && object.getScopeAttr())
      bytes[object.getScopeAttr().getAttr()] += object.getSize().value_or(0);
  return bytes;
}

static uint64_t countOperations(kern::FuncOp func) {
  uint64_t count = 0;
  for (mlir::Block &block : func.getBody())
    count += block.getOperations().size();
  return count;
}

bool properties::exceedsLimit(kern::FuncOp func, const Options &options) {
  return options.maxOperations != 0 &&
         countOperations(func) > options.maxOperations;
}

void properties::analyzeKernel(KernelContext &kernel, const Options &options,
                               const SnippetProvider &snippets,
                               KernelFacts &facts) {
  Detector detector(kernel, options, snippets);
  fillLoops(detector, facts);
  if (kernel.getProvenance().getUnmodelled().empty())
    facts.completeTiers.insert(options.tier);
  fillParameterUses(kernel, facts);
  for (const Property &property : getProperties()) {
    if (!property.info.isDetectedAt(options.tier))
      continue;
    property.detect(detector);
    detector.finish(property.info.id, facts);
  }
  facts.normalize();
}

std::vector<KernelFacts>
properties::analyzeModule(mlir::ModuleOp module, const Options &options,
                          const SnippetProvider &snippets) {
  std::vector<kern::FuncOp> kernels;
  for (auto func : module.getOps<kern::FuncOp>())
    if (func.isEntry() && !func.getBody().empty())
      kernels.push_back(func);
  llvm::sort(kernels, [](kern::FuncOp a, kern::FuncOp b) {
    return a.getSymName() < b.getSymName();
  });

  llvm::DenseMap<mlir::StringAttr, int64_t> shared = getStaticShared(module);
  mlir::SymbolTableCollection symbols;
  std::vector<KernelFacts> result;
  for (kern::FuncOp func : kernels) {
    KernelFacts facts;
    facts.name = func.getSymName().str();
    facts.demangled = llvm::demangle(facts.name);
    if (options.kernelFilter &&
        !options.kernelFilter(facts.name, facts.demangled))
      continue;
    facts.sharedBytes = shared.lookup(func.getSymNameAttr());

    KernelContext kernel(func, symbols);
    if (exceedsLimit(func, options)) {
      Detector detector(kernel, options, snippets);
      for (const Property &property : getProperties()) {
        if (!property.info.isDetectedAt(options.tier))
          continue;
        Undecided entry;
        entry.property = property.info.id;
        entry.reason = "the kernel has " +
                       std::to_string(countOperations(func)) +
                       " operations, more than the limit of " +
                       std::to_string(options.maxOperations);
        entry.wouldDecide = "a higher limit";
        entry.where.push_back(detector.getPlace(func.getLoc()));
        facts.undecided.push_back(std::move(entry));
      }
    } else {
      analyzeKernel(kernel, options, snippets, facts);
    }
    result.push_back(std::move(facts));
  }
  return result;
}
