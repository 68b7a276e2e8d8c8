// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between number formats.

#include "Lifter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;

std::optional<ElementType> sasslift::getElement(std::string_view text) {
  return llvm::StringSwitch<std::optional<ElementType>>(
             llvm::StringRef(text.data(), text.size()))
      .Case("F64", ElementType::F64)
      .Case("F32", ElementType::F32)
      .Case("TF32", ElementType::TF32)
      .Case("F16", ElementType::F16)
      .Case("BF16", ElementType::BF16)
      .Case("S64", ElementType::S64)
      .Case("U64", ElementType::U64)
      .Case("S32", ElementType::S32)
      .Case("U32", ElementType::U32)
      .Case("S16", ElementType::S16)
      .Case("U16", ElementType::U16)
      .Case("S8", ElementType::S8)
      .Case("U8", ElementType::U8)
      .Case("S4", ElementType::S4)
      .Case("U4", ElementType::U4)
      .Case("E4M3", ElementType::E4M3)
      .Case("E5M2", ElementType::E5M2)
      .Case("E3M2", ElementType::E3M2)
      .Case("E2M3", ElementType::E2M3)
      .Case("E2M1", ElementType::E2M1)
      .Default(std::nullopt);
}

/// The type modifiers in order.
static SmallVector<ElementType, 2> getTypes(const Instruction &instruction) {
  SmallVector<ElementType, 2> types;
  for (const std::string &modifier : instruction.mnemonic->modifiers)
    if (std::optional<ElementType> type = getElement(modifier))
      types.push_back(*type);
  return types;
}

static std::optional<kern::Rounding> getRounding(const Instruction &instruction,
                                                 bool toInteger) {
  using kern::Rounding;
  if (instruction.has("TRUNC"))
    return Rounding::Rzi;
  if (instruction.has("FLOOR"))
    return Rounding::Rmi;
  if (instruction.has("CEIL"))
    return Rounding::Rpi;
  if (instruction.has("RZ"))
    return Rounding::Rz;
  if (instruction.has("RM"))
    return Rounding::Rm;
  if (instruction.has("RP"))
    return Rounding::Rp;
  return toInteger ? Rounding::Rni : Rounding::Rn;
}

/// Conversion of one number; what is not named is 32 bits wide.
static bool liftScalar(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1)
    return false;
  SmallVector<ElementType, 2> types = getTypes(instruction);
  ElementType to, from;
  bool toInteger = false, fromInteger = false;
  switch (instruction.getOpcode()) {
  case Opcode::F2I:
  case Opcode::UF2I: {
    // F2I.S64.F64.TRUNC: the result first.
    toInteger = true;
    to = ElementType::S32;
    from = ElementType::F32;
    for (ElementType type : types)
      (kern::isFloat(type) ? from : to) = type;
    break;
  }
  case Opcode::I2F:
  case Opcode::UI2F:
  case Opcode::I2FP:
  case Opcode::UI2FP:
    fromInteger = true;
    to = ElementType::F32;
    from = ElementType::S32;
    for (ElementType type : types)
      (kern::isFloat(type) ? to : from) = type;
    break;
  case Opcode::F2F:
  case Opcode::UF2F:
    if (types.size() != 2)
      return false;
    to = types[0];
    from = types[1];
    break;
  case Opcode::FRND:
  case Opcode::UFRND:
    to = from = types.empty() ? ElementType::F32 : types[0];
    toInteger = true;
    break;
  case Opcode::I2I:
  case Opcode::UI2I:
    if (types.empty())
      return false;
    to = types[0];
    from = types.size() > 1 ? types[1] : ElementType::S32;
    fromInteger = toInteger = true;
    break;
  default:
    return false;
  }
  const Operand &operand = *parts.values[0];
  unsigned fromBits = kern::getBits(from), toBits = kern::getBits(to);
  Value input = fromInteger || fromBits < 32
                    ? lifter.integer(operand, fromBits == 64 ? 64 : 32)
                    : lifter.floating(operand, from);
  // One half or byte of the register.
  for (unsigned i = 1; i < 4; ++i)
    if (operand.hasSuffix("B" + std::to_string(i)))
      input = lifter.arith(ArithKind::Shr, ElementType::U32,
                           {input, lifter.constant32(8 * i)});
  if (operand.hasSuffix("H1") || operand.hasSuffix("H1_H1"))
    input = lifter.arith(ArithKind::Shr, ElementType::U32,
                         {input, lifter.constant32(16)});
  kern::ConvertOp::Properties properties;
  properties.to = lifter.type(to);
  properties.from = lifter.type(from);
  if (!(fromInteger && toInteger))
    properties.rounding =
        lifter.attr<kern::RoundingAttr>(getRounding(instruction, toInteger));
  properties.saturate = lifter.unit(instruction.has("SAT"));
  properties.flushDenormals = lifter.unit(instruction.has("FTZ"));
  lifter.emit<kern::ConvertOp>(
      properties, {1}, {input},
      {lifter.to(*parts.target, toBits == 64 ? 64 : 32)});
  return true;
}

/// F2FP: numbers packed into one register, the first into the upper part.
static bool liftPack(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  SmallVector<ElementType, 2> types = getTypes(instruction);
  if (!parts.target || parts.values.empty())
    return false;
  // F2FP.PACK_AB packs two halves.
  if (types.empty() && hasOnly(instruction, {"PACK_AB", "RZ", "RELU"}))
    types.push_back(ElementType::F16);
  if (types.empty())
    return false;
  ElementType one = types.front(),
              from = types.size() > 1 ? types.back() : ElementType::F32;
  ElementType to;
  switch (one) {
  case ElementType::F16:
    to = ElementType::F16X2;
    break;
  case ElementType::BF16:
    to = ElementType::BF16X2;
    break;
  case ElementType::E4M3:
    to = ElementType::E4M3X2;
    break;
  case ElementType::E5M2:
    to = ElementType::E5M2X2;
    break;
  case ElementType::E2M3:
    to = ElementType::E2M3X2;
    break;
  case ElementType::E3M2:
    to = ElementType::E3M2X2;
    break;
  case ElementType::E2M1:
    to = ElementType::E2M1X2;
    break;
  case ElementType::TF32:
    to = ElementType::TF32;
    break;
  default:
    return false;
  }
  // F2FP.F16.E4M3.UNPACK_B widens two numbers of a register.
  if (instruction.has("UNPACK_B")) {
    switch (from) {
    case ElementType::E4M3:
      from = ElementType::E4M3X2;
      break;
    case ElementType::E5M2:
      from = ElementType::E5M2X2;
      break;
    case ElementType::E2M3:
      from = ElementType::E2M3X2;
      break;
    case ElementType::E3M2:
      from = ElementType::E3M2X2;
      break;
    case ElementType::E2M1:
      from = ElementType::E2M1X2;
      break;
    default:
      return false;
    }
  }
  SmallVector<Value, 3> inputs;
  for (const Operand *operand : parts.values)
    inputs.push_back(kern::isFloat(from) && from == ElementType::F32
                         ? lifter.floating(*operand, ElementType::F32)
                         : lifter.plain(*operand));
  kern::ConvertOp::Properties properties;
  properties.to = lifter.type(to);
  properties.from = lifter.type(from);
  properties.rounding = lifter.attr<kern::RoundingAttr>(
      getRounding(instruction, /*toInteger=*/false));
  properties.saturate = lifter.unit(instruction.has("SATFINITE"));
  properties.relu = lifter.unit(instruction.has("RELU"));
  lifter.emit<kern::ConvertOp>(properties,
                               {static_cast<int32_t>(inputs.size())}, inputs,
                               {lifter.to(*parts.target)});
  return true;
}

/// I2IP, F2IP: numbers narrowed and packed.
static bool liftIntegerPack(FunctionLifter &lifter,
                            const Instruction &instruction) {
  Parts parts(instruction);
  SmallVector<ElementType, 2> types = getTypes(instruction);
  if (!parts.target || types.size() < 2 || parts.values.empty())
    return false;
  SmallVector<Value, 3> inputs;
  for (const Operand *operand : parts.values)
    inputs.push_back(lifter.plain(*operand));
  kern::ConvertOp::Properties properties;
  properties.to = lifter.type(types[0]);
  properties.from = lifter.type(types[1]);
  properties.saturate = lifter.unit(instruction.has("SAT"));
  lifter.emit<kern::ConvertOp>(properties,
                               {static_cast<int32_t>(inputs.size())}, inputs,
                               {lifter.to(*parts.target)});
  return true;
}

/// Four numbers of a narrow format.
static std::optional<ElementType> getFour(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<ElementType>>(text)
      .Case("E4M3x4", ElementType::E4M3X4)
      .Case("E5M2x4", ElementType::E5M2X4)
      .Case("E3M2x4", ElementType::E3M2X4)
      .Case("E2M3x4", ElementType::E2M3X4)
      .Case("E2M1x4", ElementType::E2M1X4)
      .Default(std::nullopt);
}

/// QMUL4.D.A.B: four products; A is converted to the format of D and B. `N7654`
/// takes the upper four of eight A's in a register, `B1` one B for all.
static bool liftFourProducts(FunctionLifter &lifter,
                             const Instruction &instruction) {
  Parts parts(instruction);
  SmallVector<ElementType, 3> types;
  for (const std::string &modifier : instruction.mnemonic->modifiers) {
    if (std::optional<ElementType> type = getFour(modifier))
      types.push_back(*type);
    else if (modifier != "SATFINITE")
      return false;
  }
  if (!parts.target || parts.values.size() != 2 || types.size() != 3 ||
      types[0] != types[2])
    return false;
  const Operand &first = *parts.values[0], &second = *parts.values[1];
  auto hasOther = [](const Operand &operand,
                     std::initializer_list<std::string_view> known) {
    return operand.negated || operand.absolute ||
           llvm::any_of(operand.suffixes, [&](const std::string &suffix) {
             return !llvm::is_contained(known, suffix);
           });
  };
  if (hasOther(first, {"N3210", "N7654"}) ||
      hasOther(second, {"B0", "B1", "B2", "B3"}))
    return false;
  Value a = lifter.integer(first), b = lifter.integer(second);
  if (first.hasSuffix("N7654"))
    a = lifter.arith(ArithKind::Shr, ElementType::U32,
                     {a, lifter.constant32(16)});
  if (types[1] != types[0])
    a = lifter.convert(types[1], types[0], a, lifter.module.i32);
  for (unsigned i = 0; i < 4; ++i)
    if (second.hasSuffix("B" + std::to_string(i)))
      b = lifter.arith(ArithKind::Prmt, ElementType::B32,
                       {b, b, lifter.constant32(0x1111 * i)});
  lifter.emitArith(ArithKind::Mul, types[0], {a, b}, {lifter.to(*parts.target)},
                   {}, instruction.has("SATFINITE"));
  return true;
}

LiftFn sasslift::findConvert(Opcode opcode) {
  switch (opcode) {
  case Opcode::F2I:
  case Opcode::UF2I:
  case Opcode::I2F:
  case Opcode::UI2F:
  case Opcode::I2FP:
  case Opcode::UI2FP:
  case Opcode::F2F:
  case Opcode::UF2F:
  case Opcode::FRND:
  case Opcode::UFRND:
  case Opcode::I2I:
  case Opcode::UI2I:
    return liftScalar;
  case Opcode::F2FP:
  case Opcode::UF2FP:
    return liftPack;
  case Opcode::I2IP:
  case Opcode::UI2IP:
  case Opcode::F2IP:
  case Opcode::UF2IP:
    return liftIntegerPack;
  case Opcode::QMUL4:
    return liftFourProducts;
  default:
    return nullptr;
  }
}
