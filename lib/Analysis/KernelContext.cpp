// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analyses whose headers few users of a KernelContext need.

#include "d2k/Analysis/KernelContext.h"

#include "d2k/Analysis/LaneAddresses.h"
#include "d2k/Analysis/SharedObjects.h"

using namespace d2k;
using namespace d2k::analysis;

KernelContext::KernelContext(kern::FuncOp func,
                             mlir::SymbolTableCollection &symbols)
    : func(func), symbols(symbols) {}

KernelContext::~KernelContext() = default;

LaneForms &KernelContext::getLaneForms() {
  if (!laneForms)
    laneForms = std::make_unique<LaneForms>(
        getIndex(), getConstants(), getDominance(), getLoops(), getMemory(),
        getUniformity(), findBlockShape(getIndex()));
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
