// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers of threads, fences, and what changes the state of the machine.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using kern::BarrierAction;
using kern::FenceKind;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// `{d,} id{, threads}{, {!}p}`
static bool liftBarrier(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::BarrierOp>(decoded);
  bool isReduction = decoded.numWrites == 1;
  if (isReduction)
    lifter.addResults(operands[0], decoded.sink);
  operands = operands.drop_front(decoded.numWrites);
  const ptx::Operand *input = nullptr;
  if (isReduction) {
    input = &operands.back();
    operands = operands.drop_back();
  }
  if (operands.empty() || operands.size() > 2)
    return false;
  for (const ptx::Operand &operand : operands)
    lifter.operands.push_back(lifter.read(operand, lifter.module.i32));
  if (input) {
    lifter.operands.push_back(lifter.readPlain(*input, lifter.module.i1));
    if (input->isNegated)
      properties.inputNegated = UnitAttr::get(lifter.module.getContext());
  }
  lifter.finish<kern::BarrierOp>(
      properties,
      {1, static_cast<int32_t>(operands.size()) - 1, isReduction ? 1 : 0},
      decoded);
  return true;
}

static bool decodeBarrier(Decoder &decoder, BarrierAction action) {
  auto &properties = decoder.make<kern::BarrierOp>(liftBarrier);
  if (ptx::getClass(decoder.mnemonic.opcode) == OpcodeClass::BarrierReduce)
    action = decoder.has(Modifier::Popc)  ? BarrierAction::RedPopc
             : decoder.has(Modifier::And) ? BarrierAction::RedAnd
                                          : BarrierAction::RedOr;
  properties.action = decoder.attr<kern::BarrierActionAttr>(action);
  // `bar` is `barrier.aligned`.
  bool isAligned =
      decoder.has(Modifier::Aligned) ||
      ptx::getSpelling(decoder.mnemonic.opcode).starts_with("bar.");
  properties.aligned = decoder.unit(isAligned);
  decoder.out.sink = decoder.integer(action == BarrierAction::RedPopc ? 32 : 1);
  return true;
}

static bool liftWarpBarrier(FunctionLifter &lifter,
                            const ptx::Instruction &instruction,
                            const Decoded &decoded) {
  auto properties = copyProperties<kern::WarpBarrierOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[0], lifter.module.i32));
  lifter.finish<kern::WarpBarrierOp>(properties, {1}, decoded);
  return true;
}

/// An operation without operands of its own.
template <typename OpT>
static bool liftBare(FunctionLifter &lifter, const ptx::Instruction &,
                     const Decoded &decoded) {
  auto properties = copyProperties<OpT>(decoded);
  lifter.finish<OpT>(properties, {}, decoded);
  return true;
}

static bool decodeClusterBarrier(Decoder &decoder, BarrierAction action) {
  auto &properties =
      decoder.make<kern::ClusterBarrierOp>(liftBare<kern::ClusterBarrierOp>);
  properties.action = decoder.attr<kern::BarrierActionAttr>(action);
  properties.aligned = decoder.unit(decoder.has(Modifier::Aligned));
  properties.semantics = decoder.semantics();
  return true;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

static bool liftFence(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::FenceOp>(decoded);
  for (const ptx::Operand &operand : instruction.operands)
    lifter.operands.push_back(operand.is(OperandKind::Address)
                                  ? lifter.addressValue(operand)
                                  : lifter.read(operand, lifter.module.i32));
  lifter.finish<kern::FenceOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

static FenceKind fenceOf(const ptx::Mnemonic &mnemonic) {
  switch (mnemonic.opcode) {
  case Opcode::Membar:
    return FenceKind::Thread;
  case Opcode::FenceMbarrierInit:
    return FenceKind::MbarrierInit;
  case Opcode::WgmmaFence:
    return FenceKind::Wgmma;
  case Opcode::Tcgen05FenceBeforeThreadSync:
    return FenceKind::Tcgen05Before;
  case Opcode::Tcgen05FenceAfterThreadSync:
    return FenceKind::Tcgen05After;
  case Opcode::FenceProxy:
  case Opcode::MembarProxy:
    return mnemonic.has(Modifier::Alias) ? FenceKind::ProxyAlias
           : mnemonic.has(Modifier::TensormapGeneric)
               ? FenceKind::ProxyTensormap
               : FenceKind::ProxyAsync;
  default:
    break;
  }
  // `.acq_rel` is the default of `fence`.
  return mnemonic.has(Modifier::Sc)        ? FenceKind::Sc
         : mnemonic.has(Modifier::Acquire) ? FenceKind::Acquire
         : mnemonic.has(Modifier::Release) ? FenceKind::Release
                                           : FenceKind::AcqRel;
}

static bool decodeFence(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  auto &properties = decoder.make<kern::FenceOp>(liftFence);
  FenceKind kind = fenceOf(mnemonic);
  properties.kind = decoder.attr<kern::FenceKindAttr>(kind);
  properties.scope = decoder.scope();
  if (kind == FenceKind::ProxyAsync || kind == FenceKind::ProxyTensormap)
    properties.semantics = decoder.semantics();
  if (decoder.has(Modifier::SyncRestrictSharedCta))
    properties.space = decoder.space(kern::Space::Shared);
  else if (decoder.has(Modifier::SyncRestrictSharedCluster))
    properties.space = decoder.space(kern::Space::SharedCluster);
  else if (mnemonic.space() != Modifier::Unknown)
    properties.space = decoder.space(spaceOf(mnemonic));
  return true;
}

//===----------------------------------------------------------------------===//
// Machine state
//===----------------------------------------------------------------------===//

static bool liftRegisterBudget(FunctionLifter &lifter,
                               const ptx::Instruction &instruction,
                               const Decoded &decoded) {
  std::optional<int64_t> count = instruction.operands[0].getInteger();
  if (!count)
    return false;
  auto properties = copyProperties<kern::SetMaxRegistersOp>(decoded);
  properties.count = lifter.module.number(*count);
  lifter.finish<kern::SetMaxRegistersOp>(properties, {}, decoded);
  return true;
}

static bool liftSleep(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::SleepOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[0], lifter.module.i32));
  lifter.finish<kern::SleepOp>(properties, {1}, decoded);
  return true;
}

static bool liftMonitor(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  auto properties = copyProperties<kern::MonitorOp>(decoded);
  for (const ptx::Operand &operand : instruction.operands)
    lifter.operands.push_back(lifter.read(operand, lifter.module.i32));
  lifter.finish<kern::MonitorOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

static bool liftStack(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::StackOp>(decoded);
  for (auto [i, operand] : llvm::enumerate(instruction.operands)) {
    if (i < decoded.numWrites)
      lifter.addResults(operand, decoded.sink);
    else
      lifter.operands.push_back(lifter.read(operand, decoded.immediateOf(i)));
  }
  lifter.finish<kern::StackOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

bool lift::decodeSync(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  switch (ptx::getClass(mnemonic.opcode)) {
  case OpcodeClass::Barrier:
    return decodeBarrier(decoder, BarrierAction::Sync);
  case OpcodeClass::BarrierArrive:
    return decodeBarrier(decoder, BarrierAction::Arrive);
  case OpcodeClass::BarrierReduce:
    return decodeBarrier(decoder, BarrierAction::RedOr);
  case OpcodeClass::WarpBarrier:
    decoder.make<kern::WarpBarrierOp>(liftWarpBarrier);
    return true;
  case OpcodeClass::ClusterArrive:
    return decodeClusterBarrier(decoder, BarrierAction::Arrive);
  case OpcodeClass::ClusterWait:
    return decodeClusterBarrier(decoder, BarrierAction::Wait);
  case OpcodeClass::Fence:
  case OpcodeClass::ProxyFence:
  case OpcodeClass::WgmmaFence:
  case OpcodeClass::Tcgen05Fence:
    return decodeFence(decoder);
  case OpcodeClass::GridDependency:
    decoder.make<kern::GridDependencyOp>(liftBare<kern::GridDependencyOp>)
        .side = decoder.attr<kern::GridDependencyAttr>(
        mnemonic.opcode == Opcode::GriddepcontrolWait
            ? kern::GridDependency::Wait
            : kern::GridDependency::LaunchDependents);
    return true;
  case OpcodeClass::RegisterBudget:
    decoder.make<kern::SetMaxRegistersOp>(liftRegisterBudget).action =
        decoder.attr<kern::RegisterActionAttr>(mnemonic.opcode ==
                                                       Opcode::SetmaxnregInc
                                                   ? kern::RegisterAction::Inc
                                                   : kern::RegisterAction::Dec);
    return true;
  case OpcodeClass::Sleep:
    decoder.make<kern::SleepOp>(liftSleep);
    return true;
  case OpcodeClass::Trap:
    decoder.make<kern::TrapOp>(liftBare<kern::TrapOp>);
    return true;
  case OpcodeClass::Debug:
    if (mnemonic.opcode == Opcode::Brkpt)
      decoder.make<kern::TrapOp>(liftBare<kern::TrapOp>);
    else
      decoder.make<kern::MonitorOp>(liftMonitor);
    return true;
  case OpcodeClass::Stack: {
    auto &properties = decoder.make<kern::StackOp>(liftStack);
    properties.action = decoder.word(ptx::getSpelling(mnemonic.opcode));
    kern::ElementType type = elementOf(mnemonic);
    decoder.immediates(decoder.registerOf(type));
    decoder.out.sink = decoder.registerOf(type);
    return true;
  }
  default:
    return false;
  }
}
