// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor memory: products into it (UTC*MMA), loads, stores, copies, commits,
// and the bit mask by which it is allocated.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using kern::Space;
using sass::OperandKind;

/// `tmem[UR19+0x20]`: the register, and the offset in columns.
static std::optional<FunctionLifter::Address>
getTensorAddress(FunctionLifter &lifter, const Operand &operand) {
  const sass::Address &address = operand.address;
  if (operand.kind != OperandKind::TensorMemory || !address.base.isConstant())
    return std::nullopt;
  return FunctionLifter::Address{lifter.read(address.uniform), address.offset};
}

static std::optional<Value> getDescriptor(FunctionLifter &lifter,
                                          const Operand &operand) {
  if (operand.kind != OperandKind::Descriptor ||
      operand.address.uniform.isConstant())
    return std::nullopt;
  return lifter.readWide(operand.address.uniform);
}

static int64_t getGroupSize(const Instruction &instruction) {
  return instruction.has("2CTA") ? 2 : 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The PTX word for the kind of product. UTCHMMA is f16 and tf32: which of them
/// is in the instruction descriptor, bits 7 to 9 (PTX ISA, "Instruction
/// descriptor"), where it is a constant here; else the word is empty.
static llvm::StringRef getKind(const Instruction &instruction,
                               std::optional<uint64_t> descriptor) {
  bool isScaled = instruction.has("SF") || instruction.has("1X") ||
                  instruction.has("2X") || instruction.has("4X");
  switch (instruction.getOpcode()) {
  case Opcode::UTCHMMA:
    if (!descriptor)
      return "";
    return (*descriptor >> 7 & 7) == 2 ? "tf32" : "f16";
  case Opcode::UTCIMMA:
    return "i8";
  case Opcode::UTCQMMA:
    return isScaled ? "mxf8f6f4" : "f8f6f4";
  default:
    return instruction.has("4X") ? "mxf4nvf4" : "mxf4";
  }
}

/// D += A B: A and B by descriptor, or A in tensor memory; then D, another
/// address, the instruction descriptor and the predicate that keeps D.
static bool liftProduct(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  const std::vector<Operand> &operands = instruction.operands;
  if (operands.size() < 5)
    return false;
  std::optional<Value> a = getDescriptor(lifter, operands[0]);
  bool isRegisters = !a;
  std::optional<FunctionLifter::Address> aAddress, acc;
  if (isRegisters) {
    aAddress = getTensorAddress(lifter, operands[0]);
    if (!aAddress)
      return false;
    a = aAddress->base;
  }
  std::optional<Value> b = getDescriptor(lifter, operands[1]);
  acc = getTensorAddress(lifter, operands[2]);
  if (!b || !acc || acc->offset != 0 || (aAddress && aAddress->offset != 0))
    return false;
  SmallVector<Value, 8> extra;
  std::optional<uint64_t> descriptor;
  SmallVector<Value, 4> rest;
  for (const Operand &operand : llvm::drop_begin(operands, 3)) {
    if (operand.kind == OperandKind::Descriptor) {
      Value word = lifter.read(operand.address.uniform);
      descriptor = FunctionLifter::getConstant(word);
      extra.push_back(word);
    } else if (operand.kind == OperandKind::TensorMemory) {
      rest.push_back(lifter.read(operand.address.uniform));
    } else if (operand.isRegister() && !operand.reg.isPredicate()) {
      for (unsigned i = 0; i < operand.width; ++i)
        rest.push_back(lifter.read(operand.reg.getNext(i)));
    }
  }
  if (extra.empty())
    return false;
  // Analyses expect the instruction descriptor first.
  extra.append(rest);
  for (const Operand *operand : parts.predicates)
    extra.push_back(lifter.predicate(*operand));
  kern::TmemMmaOp::Properties properties;
  llvm::StringRef kind = getKind(instruction, descriptor);
  properties.inputKind = lifter.word(kind);
  properties.ctaGroup = lifter.number(getGroupSize(instruction));
  properties.sparse = lifter.unit(instruction.has("SP"));
  properties.scaling = lifter.attr<kern::ScaleKindAttr>(
      kind == "mxf8f6f4"   ? kern::ScaleKind::Mxf8f6f4
      : kind == "mxf4"     ? kern::ScaleKind::Mxf4
      : kind == "mxf4nvf4" ? kern::ScaleKind::Mxf4nvf4
                           : kern::ScaleKind::None);
  properties.weightStationary = lifter.unit(instruction.has("WS"));
  properties.aSource = lifter.attr<kern::OperandSourceAttr>(
      isRegisters ? kern::OperandSource::TensorMemory
                  : kern::OperandSource::Descriptor);
  SmallVector<Value, 12> inputs = {acc->base, *a, *b};
  inputs.append(extra);
  lifter.emit<kern::TmemMmaOp>(
      properties, {1, 1, 1, static_cast<int32_t>(extra.size())}, inputs);
  return true;
}

//===----------------------------------------------------------------------===//
// Loads, stores, copies
//===----------------------------------------------------------------------===//

/// Shape word of PTX and repetitions.
static std::pair<llvm::StringRef, int64_t>
getShape(const Instruction &instruction) {
  llvm::StringRef shape = "32x32b";
  int64_t count = 1;
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    llvm::StringRef text = modifier;
    if (text == "16dp64bit")
      shape = "16x64b";
    else if (text == "16dp128bit")
      shape = "16x128b";
    else if (text == "16dp256bit")
      shape = "16x256b";
    else if (text.starts_with("16dp32bit"))
      shape = "16x32bx2";
    else if (text.consume_front("x"))
      text.getAsInteger(10, count);
  }
  return {shape, count};
}

static bool liftLoad(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  // With STAT the first result is the least or largest of the others.
  bool isReduced = instruction.has("STAT");
  if (!parts.target || parts.values.size() != 1 ||
      parts.written.size() != (isReduced ? 2 : 1))
    return false;
  std::optional<FunctionLifter::Address> at =
      getTensorAddress(lifter, *parts.values[0]);
  if (!at)
    return false;
  auto [shape, count] = getShape(instruction);
  kern::TmemLoadOp::Properties properties;
  properties.shape = lifter.word(shape);
  properties.count = lifter.number(count);
  properties.packed = lifter.unit(instruction.has("PACK16BIT"));
  properties.offset = lifter.number(at->offset);
  const Operand &data = *parts.written.back();
  SmallVector<Dest, 33> results;
  for (unsigned i = 0; i < data.width; ++i)
    results.push_back(lifter.to(data.reg.getNext(i)));
  if (isReduced) {
    std::optional<kern::AtomicFunction> function =
        getAtomicFunction(instruction);
    if (!function)
      return false;
    properties.reduction = lifter.attr<kern::AtomicFunctionAttr>(*function);
    results.push_back(lifter.to(*parts.target));
  }
  lifter.emit<kern::TmemLoadOp>(properties, {1, 0}, {at->base}, results);
  return true;
}

static bool liftStore(FunctionLifter &lifter, const Instruction &instruction) {
  if (instruction.operands.size() != 2)
    return false;
  std::optional<FunctionLifter::Address> at =
      getTensorAddress(lifter, instruction.operands[0]);
  if (!at)
    return false;
  auto [shape, count] = getShape(instruction);
  kern::TmemStoreOp::Properties properties;
  properties.shape = lifter.word(shape);
  properties.count = lifter.number(count);
  properties.packed = lifter.unit(instruction.has("UNPACK16BIT"));
  properties.offset = lifter.number(at->offset);
  SmallVector<Value, 32> inputs = {at->base};
  const Operand &data = instruction.operands[1];
  lifter.readGroup(data, std::max<unsigned>(data.width, 1), inputs);
  lifter.emit<kern::TmemStoreOp>(
      properties, {1, static_cast<int32_t>(inputs.size()) - 1, 0}, inputs);
  return true;
}

static bool liftCopy(FunctionLifter &lifter, const Instruction &instruction) {
  if (instruction.operands.size() != 2)
    return false;
  std::optional<FunctionLifter::Address> at =
      getTensorAddress(lifter, instruction.operands[0]);
  std::optional<Value> from = getDescriptor(lifter, instruction.operands[1]);
  if (!at || !from)
    return false;
  std::string shape;
  for (const std::string &modifier : instruction.mnemonic->modifiers)
    if (llvm::StringRef(modifier).contains("dp"))
      shape = modifier;
  kern::TmemCopyOp::Properties properties;
  properties.shape = lifter.word(shape);
  properties.ctaGroup = lifter.number(getGroupSize(instruction));
  properties.offset = lifter.number(at->offset);
  lifter.emit<kern::TmemCopyOp>(properties, {1, 1}, {at->base, *from});
  return true;
}

static bool liftShift(FunctionLifter &lifter, const Instruction &instruction) {
  if (instruction.operands.size() != 1)
    return false;
  std::optional<FunctionLifter::Address> at =
      getTensorAddress(lifter, instruction.operands[0]);
  if (!at)
    return false;
  kern::TmemShiftOp::Properties properties;
  properties.ctaGroup = lifter.number(getGroupSize(instruction));
  properties.offset = lifter.number(at->offset);
  lifter.emit<kern::TmemShiftOp>(properties, {1}, {at->base});
  return true;
}

/// UTCBAR [mbarrier], flags, mask.
static bool liftCommit(FunctionLifter &lifter, const Instruction &instruction) {
  if (instruction.operands.empty() ||
      instruction.operands[0].kind != OperandKind::Memory)
    return false;
  FunctionLifter::Address at =
      lifter.address(instruction.operands[0].address, Space::Shared);
  bool isMulticast = instruction.has("MULTICAST");
  kern::TmemCommitOp::Properties properties;
  properties.ctaGroup = lifter.number(getGroupSize(instruction));
  properties.multicast = lifter.unit(isMulticast);
  properties.offset = lifter.number(at.offset);
  SmallVector<Value, 2> inputs = {at.base};
  if (isMulticast) {
    if (instruction.operands.size() < 3)
      return false;
    inputs.push_back(lifter.plain(instruction.operands[2]));
  }
  lifter.emit<kern::TmemCommitOp>(properties, {1, isMulticast ? 1 : 0}, inputs);
  return true;
}

/// UTCATOMSWS: finds free units of tensor memory and takes them, or gives them
/// back. A unit is 32 columns.
static bool liftAllocation(FunctionLifter &lifter,
                           const Instruction &instruction) {
  Parts parts(instruction);
  bool takes = instruction.has("FIND_AND_SET");
  bool changes = instruction.has("AND") || instruction.has("OR");
  if (parts.values.size() != 1 || takes == changes)
    return false;
  kern::TmemStateOp::Properties properties;
  properties.action = lifter.word(takes                    ? "reserve"
                                  : instruction.has("AND") ? "release"
                                                           : "set");
  properties.ctaGroup = lifter.number(getGroupSize(instruction));
  SmallVector<Dest, 2> results;
  if (parts.target)
    results.push_back(lifter.to(*parts.target));
  for (const Operand *operand : parts.writtenPredicates)
    results.push_back(lifter.to(*operand));
  lifter.emit<kern::TmemStateOp>(properties, {1},
                                 {lifter.plain(*parts.values[0])}, results);
  return true;
}

LiftFn sasslift::findTensorMemory(Opcode opcode) {
  switch (opcode) {
  case Opcode::UTCHMMA:
  case Opcode::UTCIMMA:
  case Opcode::UTCQMMA:
  case Opcode::UTCOMMA:
    return liftProduct;
  case Opcode::LDTM:
    return liftLoad;
  case Opcode::STTM:
    return liftStore;
  case Opcode::UTCCP:
    return liftCopy;
  case Opcode::UTCSHIFT:
    return liftShift;
  case Opcode::UTCBAR:
    return liftCommit;
  case Opcode::UTCATOMSWS:
    return liftAllocation;
  default:
    return nullptr;
  }
}
