// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, comparisons, conversions, selects, moves and address arithmetic.

#include "LiftCompute.h"
#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::lift;
using kern::ArithKind;
using kern::ElementType;
using kern::MathKind;
using ptx::Modifier;
using ptx::Opcode;
using ptx::OpcodeClass;
using ptx::OperandKind;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Arithmetic that reads or writes the carry flag.
static bool liftCarry(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::ArithOp>(decoded);
  lifter.addResults(instruction.operands[0], decoded.sink);
  for (unsigned i = 1; i < instruction.operands.size(); ++i)
    lifter.readAll(instruction.operands[i], decoded.immediateOf(i),
                   lifter.operands);
  if (decoded.readsCarry)
    lifter.operands.push_back(lifter.readCarry());
  if (decoded.writesCarry)
    lifter.addCarryResult();
  lifter.finish<kern::ArithOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

/// min and max of two or three values.
static bool liftMinMax(FunctionLifter &lifter,
                       const ptx::Instruction &instruction,
                       const Decoded &decoded) {
  auto properties = copyProperties<kern::ArithOp>(decoded);
  if (instruction.operands.size() == 4)
    properties.kind = kern::ArithKindAttr::get(
        lifter.module.getContext(), properties.kind.getValue() == ArithKind::Min
                                        ? ArithKind::Min3
                                        : ArithKind::Max3);
  return liftValues<kern::ArithOp>(lifter, instruction, decoded, properties);
}

/// Scalar video instructions select bytes and halves of their operands.
static bool liftVideo(FunctionLifter &lifter,
                      const ptx::Instruction &instruction,
                      const Decoded &decoded) {
  auto properties = copyProperties<kern::ArithOp>(decoded);
  lifter.addResults(instruction.operands[0], decoded.sink);
  SmallVector<Attribute, 4> selectors;
  bool hasSelector = false;
  for (const ptx::Operand &operand : instruction.operands) {
    llvm::SmallString<8> text;
    const ptx::Selector &selector = operand.selector;
    if (operand.is(OperandKind::Register) && operand.isMinus) {
      hasSelector = true;
      text += '-';
    }
    if (operand.is(OperandKind::Register) && selector &&
        selector.kind != ptx::Selector::Component) {
      hasSelector = true;
      text += selector.kind == ptx::Selector::Bytes ? 'b' : 'h';
      for (unsigned i = 0; i < selector.count; ++i)
        text += static_cast<char>('0' + selector.lane(i));
    }
    selectors.push_back(StringAttr::get(lifter.module.getContext(), text));
  }
  for (unsigned i = 1; i < instruction.operands.size(); ++i)
    lifter.readAll(instruction.operands[i], decoded.immediateOf(i),
                   lifter.operands);
  Operation *op = lifter.finish<kern::ArithOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  if (op && hasSelector)
    op->setAttr("kern.selectors",
                ArrayAttr::get(lifter.module.getContext(), selectors));
  return true;
}

static void decodeArithAs(Decoder &decoder, ArithKind kind, LiftFn lift) {
  ElementType type = elementOf(decoder.mnemonic);
  // The mode of prmt and the like have a single, fixed width.
  if (type == ElementType::NONE)
    type = ElementType::B32;
  auto &properties = decoder.make<kern::ArithOp>(lift);
  properties.kind = decoder.attr<kern::ArithKindAttr>(kind);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.rounding =
      decoder.attr<kern::RoundingAttr>(roundingOf(decoder.mnemonic));
  properties.saturate = decoder.unit(decoder.has(Modifier::Sat) ||
                                     decoder.has(Modifier::Satfinite));
  properties.flushDenormals = decoder.unit(decoder.has(Modifier::Ftz));
  decoder.immediates(decoder.registerOf(type));
  decoder.out.sink = decoder.registerOf(type);
}

static void decodeMath(Decoder &decoder, MathKind kind) {
  ElementType type = elementOf(decoder.mnemonic);
  auto &properties = decoder.make<kern::MathOp>(liftCompute<kern::MathOp>);
  properties.kind = decoder.attr<kern::MathKindAttr>(kind);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.rounding =
      decoder.attr<kern::RoundingAttr>(roundingOf(decoder.mnemonic));
  properties.flushDenormals = decoder.unit(decoder.has(Modifier::Ftz));
  decoder.immediates(decoder.registerOf(type));
  decoder.out.sink = decoder.registerOf(type);
}

/// The kind of a product: `.lo`, `.hi`, `.wide` or none.
static ArithKind pick(Decoder &decoder, ArithKind lo, ArithKind hi,
                      ArithKind wide, ArithKind none) {
  return decoder.has(Modifier::Lo)     ? lo
         : decoder.has(Modifier::Hi)   ? hi
         : decoder.has(Modifier::Wide) ? wide
                                       : none;
}

static bool decodeArith(Decoder &decoder) {
  Decoded &out = decoder.out;
  LiftFn plain = liftCompute<kern::ArithOp>;
  bool isFloat = kern::isFloat(elementOf(decoder.mnemonic));
  bool setsCarry = decoder.has(Modifier::Cc);
  auto plainAs = [&](ArithKind kind) {
    decodeArithAs(decoder, kind, plain);
    return true;
  };
  auto carryAs = [&](ArithKind kind, bool reads) {
    decodeArithAs(decoder, kind, liftCarry);
    out.readsCarry = reads;
    out.writesCarry = setsCarry;
    return true;
  };
  /// The third operand and what follows are `.b32`, whatever the type.
  auto withWordsFrom = [&](unsigned operand) {
    for (unsigned i = operand - 1; i < 4; ++i)
      out.immediate[i] = decoder.integer(32);
    return true;
  };
  switch (decoder.mnemonic.opcode) {
  case Opcode::Add:
    return setsCarry ? carryAs(ArithKind::AddCarry, false)
                     : plainAs(ArithKind::Add);
  case Opcode::Sub:
    return setsCarry ? carryAs(ArithKind::SubCarry, false)
                     : plainAs(ArithKind::Sub);
  case Opcode::Addc:
    return carryAs(ArithKind::AddCarry, true);
  case Opcode::Subc:
    return carryAs(ArithKind::SubCarry, true);
  case Opcode::Mul: {
    plainAs(pick(decoder, ArithKind::MulLo, ArithKind::MulHi,
                 ArithKind::MulWide,
                 isFloat ? ArithKind::Mul : ArithKind::MulLo));
    if (decoder.has(Modifier::Wide))
      out.sink = decoder.integer(2 * out.immediate[0].getWidth());
    return true;
  }
  case Opcode::Mad: {
    if (setsCarry)
      return carryAs(decoder.has(Modifier::Hi) ? ArithKind::MadCarryHi
                                               : ArithKind::MadCarryLo,
                     false);
    plainAs(pick(decoder, ArithKind::MadLo, ArithKind::MadHi,
                 ArithKind::MadWide,
                 isFloat ? ArithKind::Fma : ArithKind::MadLo));
    if (decoder.has(Modifier::Wide)) {
      out.sink = decoder.integer(2 * out.immediate[0].getWidth());
      out.immediate[2] = out.immediate[3] = out.sink;
    }
    return true;
  }
  case Opcode::Madc:
    return carryAs(decoder.has(Modifier::Hi) ? ArithKind::MadCarryHi
                                             : ArithKind::MadCarryLo,
                   true);
  case Opcode::Mul24:
    return plainAs(ArithKind::Mul24);
  case Opcode::Mad24:
    return plainAs(ArithKind::Mad24);
  case Opcode::Sad:
    return plainAs(ArithKind::Sad);
  case Opcode::Div:
    if (isFloat) {
      decodeMath(decoder, MathKind::Div);
      return true;
    }
    return plainAs(ArithKind::Div);
  case Opcode::Rem:
    return plainAs(ArithKind::Rem);
  case Opcode::Abs:
    return plainAs(ArithKind::Abs);
  case Opcode::Neg:
    return plainAs(ArithKind::Neg);
  case Opcode::Min:
    decodeArithAs(decoder, ArithKind::Min, liftMinMax);
    return true;
  case Opcode::Max:
    decodeArithAs(decoder, ArithKind::Max, liftMinMax);
    return true;
  case Opcode::Popc:
    plainAs(ArithKind::Popc);
    out.sink = decoder.integer(32);
    return true;
  case Opcode::Clz:
    plainAs(ArithKind::Clz);
    out.sink = decoder.integer(32);
    return true;
  case Opcode::Bfind:
    plainAs(ArithKind::Bfind);
    out.sink = decoder.integer(32);
    return true;
  case Opcode::Fns:
    return plainAs(ArithKind::Fns);
  case Opcode::Brev:
    return plainAs(ArithKind::Brev);
  case Opcode::Bfe:
    plainAs(ArithKind::Bfe);
    return withWordsFrom(2);
  case Opcode::Bfi:
    plainAs(ArithKind::Bfi);
    return withWordsFrom(3);
  case Opcode::Szext:
    return plainAs(ArithKind::Szext);
  case Opcode::Bmsk:
    return plainAs(ArithKind::Bmsk);
  case Opcode::Dp4a:
    return plainAs(ArithKind::Dp4a);
  case Opcode::Dp2a:
    return plainAs(ArithKind::Dp2a);
  case Opcode::Copysign:
    return plainAs(ArithKind::Copysign);
  case Opcode::Fma:
    return plainAs(ArithKind::Fma);
  case Opcode::And:
    return plainAs(ArithKind::And);
  case Opcode::Or:
    return plainAs(ArithKind::Or);
  case Opcode::Xor:
    return plainAs(ArithKind::Xor);
  case Opcode::Not:
    return plainAs(ArithKind::Not);
  case Opcode::Cnot:
    return plainAs(ArithKind::Cnot);
  case Opcode::Lop3:
    return plainAs(ArithKind::Lop3);
  case Opcode::Shf:
    return plainAs(decoder.has(Modifier::R) ? ArithKind::ShfRight
                                            : ArithKind::ShfLeft);
  case Opcode::Shl:
    plainAs(ArithKind::Shl);
    return withWordsFrom(2);
  case Opcode::Shr:
    plainAs(ArithKind::Shr);
    return withWordsFrom(2);
  case Opcode::Prmt:
    return plainAs(ArithKind::Prmt);
  default:
    return false;
  }
}

static bool decodeSpecialFunction(Decoder &decoder) {
  switch (decoder.mnemonic.opcode) {
  case Opcode::Ex2:
    decodeMath(decoder, MathKind::Ex2);
    return true;
  case Opcode::Lg2:
    decodeMath(decoder, MathKind::Lg2);
    return true;
  case Opcode::Sin:
    decodeMath(decoder, MathKind::Sin);
    return true;
  case Opcode::Cos:
    decodeMath(decoder, MathKind::Cos);
    return true;
  case Opcode::Tanh:
    decodeMath(decoder, MathKind::Tanh);
    return true;
  case Opcode::Rcp:
    decodeMath(decoder, MathKind::Rcp);
    return true;
  case Opcode::Rsqrt:
    decodeMath(decoder, MathKind::Rsqrt);
    return true;
  case Opcode::Sqrt:
    decodeMath(decoder, MathKind::Sqrt);
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Comparison and selection
//===----------------------------------------------------------------------===//

static bool liftCompare(FunctionLifter &lifter,
                        const ptx::Instruction &instruction,
                        const Decoded &decoded) {
  auto properties = copyProperties<kern::CompareOp>(decoded);
  ArrayRef<ptx::Operand> operands = instruction.operands;
  lifter.addResults(operands[0], decoded.sink);
  for (unsigned i = 1; i < operands.size() && i < 3; ++i)
    lifter.operands.push_back(lifter.read(operands[i], decoded.immediateOf(i)));
  if (operands.size() > 3) {
    lifter.operands.push_back(lifter.readPlain(operands[3], lifter.module.i1));
    if (operands[3].isNegated)
      properties.combineNegated = UnitAttr::get(lifter.module.getContext());
  }
  lifter.finish<kern::CompareOp>(
      properties, {static_cast<int32_t>(lifter.operands.size())}, decoded);
  return true;
}

static bool decodeCompare(Decoder &decoder) {
  std::optional<kern::Compare> predicate = compareOf(decoder.mnemonic);
  if (!predicate)
    return false;
  bool isSet = decoder.mnemonic.opcode == Opcode::Set;
  ElementType type = elementOf(decoder.mnemonic, isSet ? 1 : 0);
  if (type == ElementType::NONE)
    return false;
  auto &properties = decoder.make<kern::CompareOp>(liftCompare);
  properties.predicate = decoder.attr<kern::CompareAttr>(*predicate);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  properties.combine = decoder.attr<kern::BoolOpAttr>(boolOf(decoder.mnemonic));
  if (isSet)
    properties.resultType = decoder.element(0);
  decoder.immediates(decoder.registerOf(type));
  decoder.out.sink = isSet ? decoder.registerOf(elementOf(decoder.mnemonic))
                           : decoder.integer(1);
  return true;
}

static bool liftSelect(FunctionLifter &lifter,
                       const ptx::Instruction &instruction,
                       const Decoded &decoded) {
  auto properties = copyProperties<kern::SelectOp>(decoded);
  ArrayRef<ptx::Operand> operands = instruction.operands;
  Value on = lifter.read(operands[1], decoded.immediate[0]);
  Value off = lifter.read(operands[2], decoded.immediate[1]);
  lifter.operands.push_back(lifter.read(operands[3], decoded.immediate[2]));
  lifter.operands.push_back(on);
  lifter.operands.push_back(off);
  lifter.addResults(operands[0], decoded.sink);
  lifter.finish<kern::SelectOp>(properties, {1, 1, 1}, decoded);
  return true;
}

static bool decodeSelect(Decoder &decoder) {
  ElementType type = elementOf(decoder.mnemonic);
  auto &properties = decoder.make<kern::SelectOp>(liftSelect);
  properties.type = decoder.attr<kern::ElementTypeAttr>(type);
  decoder.immediates(decoder.registerOf(type));
  decoder.out.immediate[2] =
      decoder.integer(decoder.mnemonic.opcode == Opcode::Selp ? 1 : 32);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

//===----------------------------------------------------------------------===//
// Moves and conversions
//===----------------------------------------------------------------------===//

static bool liftMove(FunctionLifter &lifter,
                     const ptx::Instruction &instruction,
                     const Decoded &decoded) {
  return lifter.liftMove(instruction, decoded);
}

static bool decodeMove(Decoder &decoder) {
  ElementType type = elementOf(decoder.mnemonic);
  if (type == ElementType::NONE)
    return false;
  decoder.make<kern::PackOp>(liftMove);
  decoder.out.secondName =
      OperationName(kern::UnpackOp::getOperationName(), decoder.context());
  decoder.out.bits = kern::getBits(type);
  decoder.out.sink = decoder.registerOf(type);
  return true;
}

static bool decodeConvert(Decoder &decoder) {
  const ptx::Mnemonic &mnemonic = decoder.mnemonic;
  ElementType to = elementOf(mnemonic, 0), from = elementOf(mnemonic, 1);
  if (to == ElementType::NONE || from == ElementType::NONE)
    return false;
  auto &properties =
      decoder.make<kern::ConvertOp>(liftCompute<kern::ConvertOp>);
  properties.to = decoder.attr<kern::ElementTypeAttr>(to);
  properties.from = decoder.attr<kern::ElementTypeAttr>(from);
  properties.rounding = decoder.attr<kern::RoundingAttr>(roundingOf(mnemonic));
  properties.saturate = decoder.unit(decoder.has(Modifier::Sat) ||
                                     decoder.has(Modifier::Satfinite));
  properties.relu = decoder.unit(decoder.has(Modifier::Relu));
  properties.flushDenormals = decoder.unit(decoder.has(Modifier::Ftz));
  decoder.immediates(decoder.registerOf(from));
  decoder.out.sink = decoder.registerOf(to);
  return true;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static bool liftSpaceCast(FunctionLifter &lifter,
                          const ptx::Instruction &instruction,
                          const Decoded &decoded) {
  auto properties = copyProperties<kern::SpaceCastOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], decoded.immediate[0]));
  lifter.addResults(instruction.operands[0], decoded.sink);
  lifter.finish<kern::SpaceCastOp>(properties, {1}, decoded);
  return true;
}

static bool liftMapShared(FunctionLifter &lifter,
                          const ptx::Instruction &instruction,
                          const Decoded &decoded) {
  auto properties = copyProperties<kern::MapSharedOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], decoded.immediate[0]));
  lifter.operands.push_back(
      lifter.read(instruction.operands[2], decoded.immediate[1]));
  lifter.addResults(instruction.operands[0], decoded.sink);
  lifter.finish<kern::MapSharedOp>(properties, {1, 1}, decoded);
  return true;
}

static bool decodeAddressConvert(Decoder &decoder) {
  IntegerType type = decoder.registerOf(elementOf(decoder.mnemonic));
  decoder.immediates(type);
  decoder.out.sink = type;
  if (decoder.mnemonic.opcode == Opcode::Mapa) {
    decoder.make<kern::MapSharedOp>(liftMapShared);
    decoder.out.immediate[1] = decoder.integer(32);
    return true;
  }
  kern::Space space = spaceOf(decoder.mnemonic);
  bool isFromGeneric = decoder.has(Modifier::To);
  auto &properties = decoder.make<kern::SpaceCastOp>(liftSpaceCast);
  properties.from = decoder.space(isFromGeneric ? kern::Space::Generic : space);
  properties.to = decoder.space(isFromGeneric ? space : kern::Space::Generic);
  return true;
}

static bool liftAddressQuery(FunctionLifter &lifter,
                             const ptx::Instruction &instruction,
                             const Decoded &decoded) {
  auto properties = copyProperties<kern::AddressQueryOp>(decoded);
  lifter.operands.push_back(
      lifter.read(instruction.operands[1], decoded.immediate[0]));
  lifter.addResults(instruction.operands[0], decoded.sink);
  lifter.finish<kern::AddressQueryOp>(properties, {1}, decoded);
  return true;
}

static bool decodeAddressQuery(Decoder &decoder) {
  auto &properties = decoder.make<kern::AddressQueryOp>(liftAddressQuery);
  decoder.immediates(decoder.module.addressType);
  if (decoder.mnemonic.opcode == Opcode::Getctarank) {
    properties.query = decoder.word("cta_rank");
    decoder.immediates(decoder.registerOf(elementOf(decoder.mnemonic)));
    return true;
  }
  properties.query = decoder.word(
      ("is_" + kern::stringifySpace(spaceOf(decoder.mnemonic))).str());
  decoder.out.sink = decoder.integer(1);
  return true;
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

bool lift::decodeCompute(Decoder &decoder) {
  switch (ptx::getClass(decoder.mnemonic.opcode)) {
  case OpcodeClass::Arith:
    return decodeArith(decoder);
  case OpcodeClass::SpecialFunction:
    return decodeSpecialFunction(decoder);
  case OpcodeClass::Video:
    decodeArithAs(decoder, ArithKind::Video, liftVideo);
    decoder.immediates(decoder.integer(32));
    decoder.out.sink = decoder.integer(32);
    return true;
  case OpcodeClass::Compare:
    return decodeCompare(decoder);
  case OpcodeClass::Select:
    return decodeSelect(decoder);
  case OpcodeClass::Move:
    return decodeMove(decoder);
  case OpcodeClass::Convert:
    return decodeConvert(decoder);
  case OpcodeClass::AddressConvert:
    return decodeAddressConvert(decoder);
  case OpcodeClass::AddressQuery:
    return decodeAddressQuery(decoder);
  default:
    return false;
  }
}
