// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// occupancy: how many blocks of the kernel an SM holds at once. Registers and
// static shared memory are in the machine code; the block's size and dynamic
// shared memory belong to the launch, and without them nothing is claimed. The
// launch is known from the host code under each workload, or from what stands
// beside the machine code.

#include "Engine/Detector.h"
#include "Engine/HostDetector.h"

#include "d2k/Analysis/Occupancy.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// A launch of `threads` a block with `shared` bytes, static and dynamic.
static AttributeMap describeLaunch(const SmLimits &limits, int64_t threads,
                                   int64_t registers, int64_t shared) {
  Occupancy occupancy = computeOccupancy(limits, {threads, registers, shared});
  AttributeMap attributes;
  attributes["blocks"] = occupancy.blocks;
  attributes["limiter"] = std::string(getLimiterName(occupancy.limiter));
  attributes["registers"] = registers;
  attributes["shared_bytes"] = shared;
  return attributes;
}

static void detect(Detector &detector) {
  kern::FuncOp func = detector.getFunc();
  auto module = func->getParentOfType<mlir::ModuleOp>();
  auto target = module->getAttrOfType<mlir::StringAttr>("kern.target");
  std::optional<SmLimits> limits =
      getSmLimits(target ? target.getValue() : llvm::StringRef());
  if (!limits)
    return detector.addKernelUndecided(
        "the limits of an SM of " +
            (target ? target.getValue().str() : "an unknown target") +
            " are not known",
        "a target from sm_80 to sm_121");
  std::optional<int64_t> registers = func.getDirective("kern.registers");
  std::optional<int64_t> fixedShared = func.getDirective("kern.static_shared");
  if (!registers || !fixedShared)
    return detector.addKernelUndecided(
        "the machine code does not say how many registers and how much shared "
        "memory the kernel has",
        "the cubin, instead of its disassembly");

  std::optional<int64_t> threads = func.getDirective("kern.launch_threads");
  if (auto required = func.getDirective3("kern.reqntid"))
    threads = (*required)[0] * (*required)[1] * (*required)[2];
  std::optional<int64_t> dynamic =
      func.getDirective("kern.launch_dynamic_shared");
  if (!threads || !dynamic || *threads < 1 || *threads > 1024) {
    // What the registers alone allow is true of every launch. Blocks of four
    // warps fill an SM before it has as many blocks as it can hold.
    Occupancy filled = computeOccupancy(*limits, {128, *registers, 0});
    int64_t most = filled.limiter == OccupancyLimiter::Registers
                       ? filled.blocks * 4
                       : limits->warps;
    return detector.addKernelUndecided(
        std::string(threads   ? "the dynamic shared memory of the launch is"
                    : dynamic ? "the block's size is"
                              : "the block's size and dynamic shared memory of "
                                "the launch are") +
            " not known; its " + std::to_string(*registers) +
            " registers a thread allow " +
            (most < limits->warps ? "at most " + std::to_string(most) + " of "
                                  : "all ") +
            std::to_string(limits->warps) + " warps",
        "the launch's configuration, from host code or a profile");
  }
  detector.addKernelFact(
      describeLaunch(*limits, *threads, *registers, *fixedShared + *dynamic));
}

/// The threads of a block, or nothing with the expression that stopped it.
static std::optional<int64_t> findThreads(const cuda::Event &launch,
                                          std::string &unknown) {
  int64_t threads = 1;
  for (const cuda::Quantity &extent : launch.block) {
    if (!extent.value) {
      unknown = extent.unknown;
      return std::nullopt;
    }
    // No launch has more, and the product stays small.
    if (*extent.value < 1 || *extent.value > 1024)
      return std::nullopt;
    threads *= *extent.value;
  }
  return threads <= 1024 ? std::optional(threads) : std::nullopt;
}

/// Combines what the machine code says with each launch of the host code.
static void detectHost(HostDetector &detector) {
  const Analysis &analysis = detector.getAnalysis();
  auto sass = analysis.tiers.find(Tier::Sass);
  std::optional<SmLimits> limits = getSmLimits(analysis.target);
  if (!limits || sass == analysis.tiers.end() ||
      (sass->second.state != TierState::Ok &&
       sass->second.state != TierState::Partial))
    return;
  for (const cuda::HostTrace &trace : detector.getTraces())
    for (const cuda::Event *launch : detector.getLaunches(trace)) {
      std::optional<size_t> index = detector.findKernel(*launch);
      if (!index)
        continue;
      const KernelFacts &kernel = analysis.kernels[*index];
      // Without code of the kernel, or with a fact from what stands beside it.
      if (!kernel.registers || !kernel.sharedBytes ||
          llvm::any_of(kernel.facts, [](const Fact &fact) {
            return fact.property == "occupancy";
          }))
        continue;
      detector.settle(*index);
      std::string unknown;
      std::optional<int64_t> threads = findThreads(*launch, unknown);
      bool isBlockKnown = unknown.empty();
      if (isBlockKnown && !threads)
        continue;
      if (isBlockKnown && !launch->dynamicShared.value)
        unknown = launch->dynamicShared.unknown;
      if (!unknown.empty()) {
        detector.addUndecided(
            trace, index,
            std::string(isBlockKnown ? "the dynamic shared memory"
                                     : "the block") +
                " of the launch at " + HostDetector::describe(launch->where) +
                " depends on " + unknown,
            kLaunchList, {launch->where});
        continue;
      }
      detector.addEvent(
          trace, index, *launch,
          describeLaunch(*limits, *threads, *kernel.registers,
                         *kernel.sharedBytes + *launch->dynamicShared.value));
    }
}

namespace d2k::properties {
Property makeOccupancy() {
  PropertyInfo info;
  info.id = "occupancy";
  info.group = 'C';
  info.summary = "the resident blocks of a multiprocessor are known, under the "
                 "largest carve-out of shared memory";
  info.attributes = {
      {"blocks", AttrType::Integer, {}, "resident blocks"},
      {"limiter",
       AttrType::String,
       {"registers", "shared", "threads", "blocks"},
       "what allows no more"},
      {"registers", AttrType::Integer, {}, "registers of a thread"},
      {"shared_bytes",
       AttrType::Integer,
       {},
       "shared memory of a block, static and dynamic"}};
  info.decidingTiers = {Tier::Sass};
  info.detectorTiers = {Tier::Sass};
  return {info, detect, detectHost};
}
} // namespace d2k::properties
