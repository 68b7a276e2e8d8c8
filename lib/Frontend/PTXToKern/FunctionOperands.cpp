// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of PTX as values of kern, and moves, which make none.

#include "Lifter.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using ptx::OperandKind;

/// True for a special register that is four values (`%tid`).
static bool isVector(ptx::SpecialRegister reg) {
  switch (reg) {
#define D2K_PTX_SPECIAL_REGISTER(Enum, Spelling, Bits, Components)             \
  case ptx::SpecialRegister::Enum:                                             \
    return Components == 4;
#define D2K_PTX_SPECIAL_REGISTER_FAMILY(Enum, Spelling, Bits, Count, Suffix)   \
  case ptx::SpecialRegister::Enum:                                             \
    return false;
#include "d2k/Frontend/PTX/PTXSpecialRegisters.def"
  }
  llvm_unreachable("no such special register");
}

//===----------------------------------------------------------------------===//
// Values of the function's start
//===----------------------------------------------------------------------===//

Value FunctionLifter::symbolAddress(const ptx::Entity *entity, bool isGeneric,
                                    IntegerType type) {
  if (type.getWidth() != 32 && type.getWidth() != 64)
    type = module.addressType;
  if (auto it = parameters.find(entity); it != parameters.end())
    return fit(it->second, type);
  Value &value = addresses[{entity, type.getWidth() + (isGeneric ? 1 : 0)}];
  if (value)
    return value;
  FlatSymbolRefAttr target;
  if (const auto *variable = dyn_cast<ptx::Variable>(entity)) {
    if (auto it = objects.find(variable); it != objects.end())
      target = it->second;
    else
      target = module.getSymbol(variable);
  } else if (const auto *callee = dyn_cast<ptx::FunctionSymbol>(entity)) {
    if (kern::FuncOp found = module.getFunction(callee))
      target = FlatSymbolRefAttr::get(found.getSymNameAttr());
  }
  if (!target)
    return value = undefined(type);
  OpBuilder builder(module.getContext());
  auto made =
      kern::AddressOfOp::create(builder, op.getLoc(), type, target,
                                isGeneric ? builder.getUnitAttr() : UnitAttr());
  ssa.insertInPrologue(made);
  return value = made;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

unsigned FunctionLifter::lanesOf(const ptx::Operand &operand,
                                 unsigned &first) const {
  first = 0;
  unsigned width = operand.getRegister()->getVectorWidth();
  if (width == 1 || operand.selector.kind != ptx::Selector::Component)
    return width;
  first = std::min(operand.selector.lane(0), width - 1);
  return 1;
}

Value FunctionLifter::fit(Value value, IntegerType type) {
  if (value.getType() == type)
    return value;
  auto word = [](Type t) { return bitsOf(t.getIntOrFloatBitWidth()); };
  kern::ConvertOp::Properties properties;
  MLIRContext *context = module.getContext();
  properties.from = kern::ElementTypeAttr::get(context, word(value.getType()));
  properties.to = kern::ElementTypeAttr::get(context, word(type));
  return synthesize<kern::ConvertOp>(properties, {value}, {1}, {type})
      ->getResult(0);
}

Value FunctionLifter::addOffset(Value base, int64_t offset) {
  if (offset == 0)
    return base;
  auto type = cast<IntegerType>(base.getType());
  kern::ArithOp::Properties properties;
  MLIRContext *context = module.getContext();
  properties.kind = kern::ArithKindAttr::get(context, kern::ArithKind::Add);
  properties.type = kern::ElementTypeAttr::get(
      context,
      type.getWidth() == 64 ? kern::ElementType::U64 : kern::ElementType::U32);
  Value values[] = {base, constant(static_cast<uint64_t>(offset), type)};
  return synthesize<kern::ArithOp>(properties, values, {2}, {type})
      ->getResult(0);
}

Value FunctionLifter::special(const ptx::Operand &operand, unsigned component) {
  llvm::SmallString<32> name;
  ptx::appendSpelling(operand.special, name);
  llvm::StringRef text = llvm::StringRef(name).drop_front();
  llvm::SmallString<32> spelled(text);
  if (component != ~0u) {
    spelled += '.';
    spelled += "xyzw"[component & 3];
  }
  kern::SpecialOp::Properties properties;
  properties.reg = StringAttr::get(module.getContext(), spelled);
  IntegerType type = module.integer(ptx::getBitWidth(operand.special.reg));
  return synthesize<kern::SpecialOp>(properties, {}, {}, {type})->getResult(0);
}

Value FunctionLifter::readPlain(const ptx::Operand &operand,
                                IntegerType immediate) {
  switch (operand.kind) {
  case OperandKind::Register: {
    unsigned first;
    lanesOf(operand, first);
    return ssa.read(variableOf(operand.getRegister(), first));
  }
  case OperandKind::Integer:
    return constant(operand.bits, immediate, !operand.isUnsigned);
  case OperandKind::Float32:
    if (immediate.getWidth() == 64)
      return constant(
          llvm::bit_cast<uint64_t>(static_cast<double>(
              llvm::bit_cast<float>(static_cast<uint32_t>(operand.bits)))),
          immediate);
    return constant(operand.bits, immediate);
  case OperandKind::Float64:
    if (immediate.getWidth() == 32)
      return constant(llvm::bit_cast<uint32_t>(static_cast<float>(
                          llvm::bit_cast<double>(operand.bits))),
                      immediate);
    if (immediate.getWidth() == 16) {
      llvm::APFloat value(llvm::bit_cast<double>(operand.bits));
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEhalf(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      return constant(value.bitcastToAPInt().getZExtValue(), immediate);
    }
    return constant(operand.bits, immediate);
  case OperandKind::Special:
    return fit(
        special(operand, operand.selector ? operand.selector.lane(0) : ~0u),
        immediate);
  case OperandKind::Symbol:
    return addOffset(
        symbolAddress(operand.entity, operand.isGeneric, immediate),
        operand.offset);
  case OperandKind::Address:
    return addressValue(operand);
  case OperandKind::Vector:
  case OperandKind::List:
  case OperandKind::Pair:
    if (operand.elementCount == 1)
      return readPlain(operand.elements().front(), immediate);
    return undefined(immediate);
  case OperandKind::Sink:
  case OperandKind::Difference:
  case OperandKind::Section:
  case OperandKind::Field:
  case OperandKind::Word:
    return undefined(immediate);
  }
  llvm_unreachable("operand of no kind");
}

Value FunctionLifter::read(const ptx::Operand &operand, IntegerType immediate) {
  Value value = readPlain(operand, immediate);
  if (!operand.is(OperandKind::Register) || !operand.isNegated)
    return value;
  kern::ArithOp::Properties properties;
  MLIRContext *context = module.getContext();
  properties.kind = kern::ArithKindAttr::get(context, kern::ArithKind::Not);
  properties.type =
      kern::ElementTypeAttr::get(context, kern::ElementType::Pred);
  return synthesize<kern::ArithOp>(properties, {value}, {1}, {value.getType()})
      ->getResult(0);
}

void FunctionLifter::readAll(const ptx::Operand &operand, IntegerType immediate,
                             SmallVectorImpl<Value> &values) {
  switch (operand.kind) {
  case OperandKind::Vector:
  case OperandKind::List:
  case OperandKind::Pair:
    for (const ptx::Operand &element : operand.elements())
      readAll(element, immediate, values);
    return;
  case OperandKind::Register: {
    unsigned first;
    unsigned lanes = lanesOf(operand, first);
    if (lanes == 1)
      break;
    for (unsigned lane = 0; lane < lanes; ++lane)
      values.push_back(
          ssa.read(variableOf(operand.getRegister(), first + lane)));
    return;
  }
  case OperandKind::Special:
    if (operand.selector || !isVector(operand.special.reg))
      break;
    for (unsigned component = 0; component < 4; ++component)
      values.push_back(special(operand, component));
    return;
  default:
    break;
  }
  values.push_back(read(operand, immediate));
}

FunctionLifter::Address FunctionLifter::address(const ptx::Operand &operand) {
  if (!operand.is(OperandKind::Address))
    return {read(operand, module.addressType), 0};
  const ptx::Operand &base = operand.base();
  if (base.is(OperandKind::Symbol))
    return {symbolAddress(base.entity, base.isGeneric, module.addressType),
            operand.offset + base.offset};
  return {read(base, module.addressType), operand.offset};
}

Value FunctionLifter::addressValue(const ptx::Operand &operand) {
  Address found = address(operand);
  return addOffset(found.base, found.offset);
}

void FunctionLifter::readRest(const ptx::Operand &operand,
                              IntegerType immediate,
                              SmallVectorImpl<Value> &values) {
  if (!operand.is(OperandKind::Address))
    return;
  for (const ptx::Operand &element : operand.elements().drop_front())
    readAll(element, immediate, values);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void FunctionLifter::addResult(uint32_t variable) {
  resultVariables.push_back(variable);
  resultTypes.push_back(ssa.getType(variable));
}

void FunctionLifter::addSink(IntegerType type) {
  resultVariables.push_back(kSink);
  resultTypes.push_back(type);
}

void FunctionLifter::addResults(const ptx::Operand &operand, IntegerType sink) {
  if (const ptx::Register *reg = operand.getRegister()) {
    unsigned first;
    unsigned lanes = lanesOf(operand, first);
    for (unsigned lane = 0; lane < lanes; ++lane)
      addResult(variableOf(reg, first + lane));
    return;
  }
  if (operand.is(OperandKind::Sink))
    return addSink(sink);
  if (operand.is(OperandKind::Address))
    return;
  for (const ptx::Operand &element : operand.elements())
    addResults(element, sink);
}

void FunctionLifter::assign(const ptx::Operand &operand, ValueRange values) {
  addResults(operand, module.i32);
  assert(resultVariables.size() == values.size() && "one value a register");
  for (auto [variable, value] : llvm::zip(resultVariables, values)) {
    if (variable == kSink)
      continue;
    Value written = fit(value, ssa.getType(variable));
    if (guard) {
      Value old = ssa.read(variable);
      kern::SelectOp::Properties properties;
      properties.type = kern::ElementTypeAttr::get(
          module.getContext(),
          bitsOf(written.getType().getIntOrFloatBitWidth()));
      Value inputs[] = {guard, isGuardNegated ? old : written,
                        isGuardNegated ? written : old};
      written = synthesize<kern::SelectOp>(properties, inputs, {1, 1, 1},
                                           {written.getType()})
                    ->getResult(0);
    }
    ssa.write(variable, written);
  }
}

bool FunctionLifter::liftMove(const ptx::Instruction &instruction,
                              const Decoded &decoded) {
  const ptx::Operand &target = instruction.operands[0];
  const ptx::Operand &from = instruction.operands[1];
  addResults(target, module.i32);
  unsigned numTargets = resultVariables.size();
  resultVariables.clear();
  resultTypes.clear();
  if (numTargets == 0)
    return false;
  unsigned numSources = from.is(OperandKind::Vector) ? from.elementCount : 1;
  SmallVector<Value, 8> values;
  if (numTargets == 1 && numSources > 1) {
    readAll(from, module.integer(decoded.bits / numSources), operands);
    addResults(target, decoded.sink);
    kern::PackOp::Properties properties;
    properties.mnemonic = decoded.spelling;
    finish<kern::PackOp>(properties, {static_cast<int32_t>(operands.size())},
                         decoded.name);
    return true;
  }
  readAll(from, module.integer(decoded.bits), values);
  if (values.size() == numTargets) {
    assign(target, values);
    return true;
  }
  if (values.size() != 1)
    return false;
  operands.push_back(values.front());
  addResults(target, module.integer(decoded.bits / numTargets));
  kern::UnpackOp::Properties properties;
  properties.mnemonic = decoded.spelling;
  finish<kern::UnpackOp>(properties, {1}, decoded.secondName);
  return true;
}
