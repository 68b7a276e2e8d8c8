// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tcgen05: tensor memory, and products into it.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

/// `[taddr]`: base and offset of `kern.tmem_*`.
template <typename Properties>
static void addAddress(FunctionLifter &lifter, const ptx::Operand &operand,
                       Properties &properties) {
  FunctionLifter::Address address = lifter.address(operand);
  lifter.operands.push_back(address.base);
  properties.offset = lifter.module.number(address.offset);
}

static int32_t sizeSince(const FunctionLifter &lifter, size_t before) {
  return static_cast<int32_t>(lifter.operands.size() - before);
}

/// `32x32b` and the like.
static StringAttr shapeWord(Decoder &decoder) {
  const ptx::ModifierUse *use =
      decoder.mnemonic.find(ptx::ModifierCategory::Shape);
  return decoder.word(use ? ptx::getSpelling(use->kind) : "");
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static bool liftAlloc(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemAllocOp>(decoded);
  addAddress(lifter, instruction.operands[0], properties);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i32));
  lifter.finish<kern::TmemAllocOp>(properties, {1, 1}, decoded);
  return true;
}

static bool liftDealloc(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemDeallocOp>(decoded);
  for (unsigned i : {0u, 1u})
    lifter.operands.push_back(
        lifter.read(instruction.operands[i], lifter.module.i32));
  lifter.finish<kern::TmemDeallocOp>(properties, {1, 1}, decoded);
  return true;
}

static bool liftRelinquish(FunctionLifter &lifter, const ptx::Instruction &,
                           const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemRelinquishOp>(decoded);
  lifter.finish<kern::TmemRelinquishOp>(properties, {}, decoded);
  return true;
}

//===----------------------------------------------------------------------===//
// Loads, stores, copies
//===----------------------------------------------------------------------===//

/// `r{, reduced}, [taddr]{, split}`
static bool liftTmemLoad(FunctionLifter &lifter,
                         const ptx::Instruction &instruction,
                         const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::TmemLoadOp>(decoded);
  unsigned at = decoded.numWrites;
  if (!operands[at].is(OperandKind::Address))
    return false;
  addAddress(lifter, operands[at], properties);
  for (const ptx::Operand &operand : operands.drop_front(at + 1))
    lifter.operands.push_back(lifter.read(operand, lifter.module.i64));
  int32_t extra = sizeSince(lifter, 1);
  for (unsigned i = 0; i < at; ++i)
    lifter.addResults(operands[i], lifter.module.i32);
  lifter.finish<kern::TmemLoadOp>(properties, {1, extra}, decoded);
  return true;
}

static bool decodeTmemLoad(Decoder &decoder) {
  auto &properties = decoder.make<kern::TmemLoadOp>(liftTmemLoad);
  properties.shape = shapeWord(decoder);
  properties.count = decoder.number(multiplicityOf(decoder.mnemonic));
  properties.packed = decoder.unit(decoder.has(Modifier::Pack16b));
  if (decoder.mnemonic.opcode == Opcode::Tcgen05LdRed)
    properties.reduction =
        decoder.attr<kern::AtomicFunctionAttr>(atomicOf(decoder.mnemonic));
  return true;
}

/// `[taddr]{, split}, r`
static bool liftTmemStore(FunctionLifter &lifter,
                          const ptx::Instruction &instruction,
                          const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::TmemStoreOp>(decoded);
  addAddress(lifter, operands[0], properties);
  lifter.readAll(operands.back(), lifter.module.i32, lifter.operands);
  int32_t values = sizeSince(lifter, 1);
  int32_t extra = operands.size() > 2 ? 1 : 0;
  if (extra)
    lifter.operands.push_back(lifter.read(operands[1], lifter.module.i64));
  lifter.finish<kern::TmemStoreOp>(properties, {1, values, extra}, decoded);
  return true;
}

static bool decodeTmemStore(Decoder &decoder) {
  auto &properties = decoder.make<kern::TmemStoreOp>(liftTmemStore);
  properties.shape = shapeWord(decoder);
  properties.count = decoder.number(multiplicityOf(decoder.mnemonic));
  properties.packed = decoder.unit(decoder.has(Modifier::Unpack16b));
  return true;
}

static bool liftTmemCopy(FunctionLifter &lifter,
                         const ptx::Instruction &instruction,
                         const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemCopyOp>(decoded);
  addAddress(lifter, instruction.operands[0], properties);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], lifter.module.i64));
  lifter.finish<kern::TmemCopyOp>(properties, {1, 1}, decoded);
  return true;
}

static bool liftTmemShift(FunctionLifter &lifter,
                          const ptx::Instruction &instruction,
                          const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemShiftOp>(decoded);
  addAddress(lifter, instruction.operands[0], properties);
  lifter.finish<kern::TmemShiftOp>(properties, {1}, decoded);
  return true;
}

static bool liftTmemWait(FunctionLifter &lifter, const ptx::Instruction &,
                         const Decoded &decoded) {
  auto properties = copyProperties<kern::TmemWaitOp>(decoded);
  lifter.finish<kern::TmemWaitOp>(properties, {}, decoded);
  return true;
}

/// `[mbar]{, mask}`
static bool liftTmemCommit(FunctionLifter &lifter,
                           const ptx::Instruction &instruction,
                           const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::TmemCommitOp>(decoded);
  addAddress(lifter, operands[0], properties);
  int32_t hasMask = operands.size() > 1 ? 1 : 0;
  if (hasMask)
    lifter.operands.push_back(lifter.read(operands[1], lifter.module.i16));
  lifter.finish<kern::TmemCommitOp>(properties, {1, hasMask}, decoded);
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool liftTmemMma(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  ArrayRef<ptx::Operand> operands = instruction.operands;
  auto properties = copyProperties<kern::TmemMmaOp>(decoded);
  bool isTensorMemory = operands[1].is(OperandKind::Address);
  properties.aSource = kern::OperandSourceAttr::get(
      lifter.module.getContext(), isTensorMemory
                                      ? kern::OperandSource::TensorMemory
                                      : kern::OperandSource::Descriptor);
  auto addTensorAddress = [&](const ptx::Operand &operand) {
    lifter.operands.push_back(lifter.addressValue(operand));
  };
  addTensorAddress(operands[0]);
  if (isTensorMemory)
    addTensorAddress(operands[1]);
  else
    lifter.operands.push_back(lifter.read(operands[1], lifter.module.i64));
  lifter.operands.push_back(lifter.read(operands[2], lifter.module.i64));
  for (const ptx::Operand &operand : operands.drop_front(3)) {
    if (operand.is(OperandKind::Address))
      addTensorAddress(operand);
    else
      lifter.readAll(operand, lifter.module.i32, lifter.operands);
  }
  lifter.finish<kern::TmemMmaOp>(properties, {1, 1, 1, sizeSince(lifter, 3)},
                                 decoded);
  return true;
}

static bool decodeTmemMma(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  llvm::StringRef kind;
  for (const ptx::ModifierUse &use : mnemonic.modifiers) {
    llvm::StringRef word = ptx::getSpelling(use.kind);
    if (word.consume_front("kind::"))
      kind = word;
  }
  if (kind.empty())
    return false;
  Opcode opcode = mnemonic.opcode;
  auto &properties = decoder.make<kern::TmemMmaOp>(liftTmemMma);
  properties.inputKind = decoder.word(kind);
  properties.ctaGroup = decoder.number(ctaGroupOf(mnemonic));
  properties.sparse = decoder.unit(opcode == Opcode::Tcgen05MmaSp ||
                                   opcode == Opcode::Tcgen05MmaWsSp);
  properties.weightStationary = decoder.unit(opcode == Opcode::Tcgen05MmaWs ||
                                             opcode == Opcode::Tcgen05MmaWsSp);
  properties.scaling = decoder.attr<kern::ScaleKindAttr>(scalingOf(mnemonic));
  return true;
}

bool lift::decodeTensorMemory(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  auto group = decoder.number(ctaGroupOf(mnemonic));
  switch (ptx::getClass(mnemonic.opcode)) {
  case OpcodeClass::Tcgen05Alloc:
    decoder.make<kern::TmemAllocOp>(liftAlloc).ctaGroup = group;
    return true;
  case OpcodeClass::Tcgen05Dealloc:
    decoder.make<kern::TmemDeallocOp>(liftDealloc).ctaGroup = group;
    return true;
  case OpcodeClass::Tcgen05Relinquish:
    decoder.make<kern::TmemRelinquishOp>(liftRelinquish).ctaGroup = group;
    return true;
  case OpcodeClass::Tcgen05Load:
    return decodeTmemLoad(decoder);
  case OpcodeClass::Tcgen05Store:
    return decodeTmemStore(decoder);
  case OpcodeClass::Tcgen05Wait:
    decoder.make<kern::TmemWaitOp>(liftTmemWait).store =
        decoder.unit(mnemonic.opcode == Opcode::Tcgen05WaitSt);
    return true;
  case OpcodeClass::Tcgen05Copy: {
    auto &properties = decoder.make<kern::TmemCopyOp>(liftTmemCopy);
    properties.shape = shapeWord(decoder);
    properties.ctaGroup = group;
    return true;
  }
  case OpcodeClass::Tcgen05Shift:
    decoder.make<kern::TmemShiftOp>(liftTmemShift).ctaGroup = group;
    return true;
  case OpcodeClass::Tcgen05Commit: {
    auto &properties = decoder.make<kern::TmemCommitOp>(liftTmemCommit);
    properties.ctaGroup = group;
    properties.multicast =
        decoder.unit(decoder.has(Modifier::MulticastCluster));
    return true;
  }
  case OpcodeClass::Tcgen05Mma:
    return decodeTmemMma(decoder);
  default:
    return false;
  }
}
