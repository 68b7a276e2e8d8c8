// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analyses whose headers few users of a KernelContext need.

#include "d2k/Analysis/KernelContext.h"

#include "BlockShape.h"

#include "d2k/Analysis/BarrierGroups.h"
#include "d2k/Analysis/LaneAddresses.h"
#include "d2k/Analysis/LaunchValues.h"
#include "d2k/Analysis/SharedObjects.h"

using namespace d2k;
using namespace d2k::analysis;

KernelContext::KernelContext(kern::FuncOp func,
                             mlir::SymbolTableCollection &symbols,
                             const LaunchDecisions *decisions)
    : func(func), symbols(symbols), decisions(decisions) {}

KernelContext::~KernelContext() = default;

const ConstantValues &KernelContext::getConstants() {
  return make(constants, getIndex(), decisions ? &decisions->known : nullptr);
}

const MemoryRoots &KernelContext::getMemory() {
  return make(memory, getIndex(), getConstants(), symbols,
              decisions ? &decisions->unread : nullptr);
}

LaneForms &KernelContext::getLaneForms() {
  auto make = [&](BlockShape shape) {
    return std::make_unique<LaneForms>(getIndex(), getConstants(),
                                       getDominance(), getLoops(), getMemory(),
                                       getUniformity(), shape);
  };
  if (laneForms)
    return *laneForms;
  laneForms = make(findBlockShape(getIndex()));
  if (laneForms->getShape().known)
    return *laneForms;
  if (std::optional<BlockShape> guess = guessBlockShape(*this, make))
    laneForms = make(*guess);
  return *laneForms;
}

LaneAddresses &KernelContext::getLaneAddresses() {
  if (!laneAddresses)
    laneAddresses = std::make_unique<LaneAddresses>(*this);
  return *laneAddresses;
}

const SharedObjects &KernelContext::getSharedObjects() {
  return make(sharedObjects, getIndex(), getMemory(), getLaneForms());
}

const BarrierGroups &KernelContext::getBarrierGroups() {
  return make(barrierGroups, *this);
}
