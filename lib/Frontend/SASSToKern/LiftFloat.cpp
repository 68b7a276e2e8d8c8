// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point arithmetic of 32, 64 and twice 16 or 32 bits, and the special
// function unit.

#include "Lifter.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

static std::optional<kern::Rounding>
getRounding(const Instruction &instruction) {
  if (instruction.has("RM"))
    return kern::Rounding::Rm;
  if (instruction.has("RP"))
    return kern::Rounding::Rp;
  if (instruction.has("RZ"))
    return kern::Rounding::Rz;
  return kern::Rounding::Rn;
}

static unsigned bitsOf(ElementType type) {
  return type == ElementType::F64 || type == ElementType::F32X2 ? 64 : 32;
}

/// Sums, products and both, of one type.
static bool liftArithmetic(FunctionLifter &lifter,
                           const Instruction &instruction, ArithKind kind,
                           ElementType type, unsigned numInputs) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != numInputs)
    return false;
  SmallVector<Value, 3> inputs;
  for (const Operand *operand : parts.values)
    inputs.push_back(lifter.floating(*operand, type));
  lifter.emitArith(kind, type, inputs, {lifter.to(*parts.target, bitsOf(type))},
                   getRounding(instruction), instruction.has("SAT"),
                   instruction.has("FTZ") || instruction.has("FMZ"));
  return true;
}

static bool liftSingle(FunctionLifter &lifter, const Instruction &instruction) {
  switch (instruction.getOpcode()) {
  case Opcode::FADD:
  case Opcode::FADD32I:
  case Opcode::UFADD:
    return liftArithmetic(lifter, instruction, ArithKind::Add, ElementType::F32,
                          2);
  case Opcode::FMUL:
  case Opcode::FMUL32I:
  case Opcode::UFMUL:
    return liftArithmetic(lifter, instruction, ArithKind::Mul, ElementType::F32,
                          2);
  case Opcode::FFMA:
  case Opcode::FFMA32I:
  case Opcode::UFFMA:
    return liftArithmetic(lifter, instruction, ArithKind::Fma, ElementType::F32,
                          3);
  case Opcode::FADD2:
    return liftArithmetic(lifter, instruction, ArithKind::Add,
                          ElementType::F32X2, 2);
  case Opcode::FMUL2:
    return liftArithmetic(lifter, instruction, ArithKind::Mul,
                          ElementType::F32X2, 2);
  case Opcode::FFMA2:
    return liftArithmetic(lifter, instruction, ArithKind::Fma,
                          ElementType::F32X2, 3);
  case Opcode::DADD:
    return liftArithmetic(lifter, instruction, ArithKind::Add, ElementType::F64,
                          2);
  case Opcode::DMUL:
    return liftArithmetic(lifter, instruction, ArithKind::Mul, ElementType::F64,
                          2);
  case Opcode::DFMA:
    return liftArithmetic(lifter, instruction, ArithKind::Fma, ElementType::F64,
                          3);
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Two halves
//===----------------------------------------------------------------------===//

/// Bits of a pair of 16-bit numbers, the upper one printed first.
static uint64_t packHalves(double high, double low, bool isBf16) {
  auto bits = [&](double number) {
    llvm::APFloat value(number);
    bool losesInfo;
    value.convert(isBf16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.bitcastToAPInt().getZExtValue();
  };
  return bits(high) << 16 | bits(low);
}

static std::optional<double> getNumber(const Operand &operand) {
  if (operand.kind == OperandKind::Float)
    return operand.real;
  if (operand.kind == OperandKind::Integer)
    return static_cast<double>(operand.integer);
  return std::nullopt;
}

/// Values of the operands of an instruction on two halves: an immediate is two
/// numbers, which are printed as two operands.
static bool readHalves(FunctionLifter &lifter, const Parts &parts,
                       ElementType type, SmallVectorImpl<Value> &values) {
  for (unsigned i = 0; i < parts.values.size(); ++i) {
    const Operand &operand = *parts.values[i];
    std::optional<double> high = getNumber(operand);
    if (!high) {
      values.push_back(lifter.floating(operand, type));
      continue;
    }
    std::optional<double> low =
        i + 1 < parts.values.size() ? getNumber(*parts.values[i + 1]) : high;
    if (!low)
      return false;
    ++i;
    values.push_back(lifter.constant32(
        packHalves(*high, *low, type == ElementType::BF16X2)));
  }
  return true;
}

static bool liftHalf(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target ||
      !hasOnly(instruction, {"MMA", "FTZ", "SAT", "RELU", "BF16_V2", "BF16",
                             "F32", "FMZ", "BF16_V2_FMZ"}))
    return false;
  ElementType type = instruction.has("BF16_V2") || instruction.has("BF16")
                         ? ElementType::BF16X2
                         : ElementType::F16X2;
  ArithKind kind;
  unsigned numInputs = 2;
  switch (instruction.getOpcode()) {
  case Opcode::HADD2:
  case Opcode::HADD2_32I:
    kind = ArithKind::Add;
    break;
  case Opcode::HMUL2:
  case Opcode::HMUL2_32I:
    kind = ArithKind::Mul;
    break;
  default:
    kind = ArithKind::Fma;
    numInputs = 3;
    break;
  }
  // HADD2.F32 R, -RZ, R.H0_H0 widens one half.
  if (instruction.has("F32")) {
    if (kind != ArithKind::Add || parts.values.size() != 2 ||
        !isZero(*parts.values[0]) || !parts.values[1]->isRegister())
      return false;
    const Operand &half = *parts.values[1];
    if (half.negated || half.absolute)
      return false;
    Value word = lifter.plain(half);
    if (half.hasSuffix("H1_H1"))
      word = lifter.arith(ArithKind::Shr, ElementType::U32,
                          {word, lifter.constant32(16)});
    else if (!half.hasSuffix("H0_H0"))
      return false;
    kern::ConvertOp::Properties properties;
    properties.from = lifter.type(
        type == ElementType::BF16X2 ? ElementType::BF16 : ElementType::F16);
    properties.to = lifter.type(ElementType::F32);
    lifter.emit<kern::ConvertOp>(properties, {1}, {word},
                                 {lifter.to(*parts.target)});
    return true;
  }
  SmallVector<Value, 3> inputs;
  if (!readHalves(lifter, parts, type, inputs) || inputs.size() != numInputs)
    return false;
  // HFMA2 R, -RZ, RZ, x, y is how a constant is made.
  std::optional<uint64_t> a = FunctionLifter::getConstant(inputs[0]),
                          b = FunctionLifter::getConstant(inputs[1]);
  if (kind == ArithKind::Fma && a && b && (*a & 0x7fff7fff) == 0 && *b == 0) {
    lifter.assign(parts.target->reg, inputs[2]);
    return true;
  }
  lifter.emitArith(kind, type, inputs, {lifter.to(*parts.target)},
                   kern::Rounding::Rn, instruction.has("SAT"),
                   instruction.has("FTZ") || instruction.has("FMZ"));
  return true;
}

//===----------------------------------------------------------------------===//
// Comparisons, minima, special functions
//===----------------------------------------------------------------------===//

static bool liftFloatCompare(FunctionLifter &lifter,
                             const Instruction &instruction) {
  Parts parts(instruction);
  if (instruction.mnemonic->modifiers.empty() || parts.predicates.empty())
    return false;
  std::optional<kern::Compare> predicate;
  for (const std::string &modifier : instruction.mnemonic->modifiers)
    if (!predicate)
      predicate = getCompare(modifier);
  if (!predicate)
    return false;
  ElementType type = instruction.getOpcode() == Opcode::DSETP
                         ? ElementType::F64
                         : ElementType::F32;
  if (parts.values.size() != 2)
    return false;
  return emitCompare(lifter, instruction, parts, *predicate, type,
                     lifter.floating(*parts.values[0], type),
                     lifter.floating(*parts.values[1], type),
                     parts.predicates[0]);
}

/// HSETP2 compares both halves: the first predicate is that of the lower ones,
/// the second that of the upper ones, or with H0_H0 its opposite.
static bool liftHalfCompare(FunctionLifter &lifter,
                            const Instruction &instruction) {
  Parts parts(instruction);
  std::optional<kern::Compare> predicate;
  for (const std::string &modifier : instruction.mnemonic->modifiers)
    if (!predicate)
      predicate = getCompare(modifier);
  if (!predicate || parts.predicates.empty())
    return false;
  bool isBf16 = instruction.has("BF16_V2");
  ElementType type = isBf16 ? ElementType::BF16X2 : ElementType::F16X2;
  SmallVector<Value, 2> inputs;
  if (!readHalves(lifter, parts, type, inputs) || inputs.size() != 2)
    return false;
  for (const Operand *operand : parts.writtenPredicates)
    if (operand != parts.writtenPredicates[0] && !operand->reg.isConstant())
      return false;
  return emitCompare(lifter, instruction, parts, *predicate,
                     isBf16 ? ElementType::BF16 : ElementType::F16, inputs[0],
                     inputs[1], parts.predicates[0]);
}

/// FSET and HSET2 write numbers: with BF 1.0 and 0.0, else all bits and none;
/// of halves one each.
static bool liftFloatSet(FunctionLifter &lifter,
                         const Instruction &instruction) {
  Parts parts(instruction);
  std::optional<kern::Compare> predicate;
  for (const std::string &modifier : instruction.mnemonic->modifiers)
    if (!predicate)
      predicate = getCompare(modifier);
  if (!predicate || !parts.target || parts.predicates.size() != 1)
    return false;
  bool isHalf = instruction.getOpcode() == Opcode::HSET2;
  ElementType type = !isHalf                      ? ElementType::F32
                     : instruction.has("BF16_V2") ? ElementType::BF16X2
                                                  : ElementType::F16X2;
  SmallVector<Value, 3> inputs;
  if (isHalf) {
    SmallVector<Value, 2> halves;
    if (!readHalves(lifter, parts, type, halves) || halves.size() != 2)
      return false;
    inputs.append(halves.begin(), halves.end());
  } else {
    if (parts.values.size() != 2)
      return false;
    for (const Operand *operand : parts.values)
      inputs.push_back(lifter.floating(*operand, type));
  }
  kern::CompareOp::Properties properties;
  properties.predicate = lifter.attr<kern::CompareAttr>(*predicate);
  properties.type = lifter.type(type);
  properties.resultType = lifter.type(instruction.has("BF") ? type
                                      : isHalf              ? ElementType::U16X2
                                                            : ElementType::U32);
  std::optional<kern::BoolOp> combine = getBoolOp(instruction);
  bool isPlain = isTrue(*parts.predicates[0]) &&
                 (!combine || *combine == kern::BoolOp::And);
  if (!isPlain) {
    if (!combine)
      return false;
    properties.combine = lifter.attr<kern::BoolOpAttr>(*combine);
    inputs.push_back(lifter.predicate(*parts.predicates[0]));
  }
  lifter.emit<kern::CompareOp>(properties,
                               {static_cast<int32_t>(inputs.size())}, inputs,
                               {lifter.to(*parts.target)});
  return true;
}

/// FMNMX, HMNMX2: the minimum where the last predicate holds.
static bool liftFloatMinMax(FunctionLifter &lifter,
                            const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.predicates.empty())
    return false;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      return false;
  const Operand &which = *parts.predicates.back();
  bool isThree = instruction.getOpcode() == Opcode::FMNMX3 ||
                 instruction.getOpcode() == Opcode::VHMNMX;
  bool isHalf = instruction.getOpcode() == Opcode::HMNMX2 ||
                instruction.getOpcode() == Opcode::VHMNMX;
  ElementType type = !isHalf                      ? ElementType::F32
                     : instruction.has("BF16_V2") ? ElementType::BF16X2
                                                  : ElementType::F16X2;
  SmallVector<Value, 3> inputs;
  if (!readHalves(lifter, parts, type, inputs) && isHalf)
    return false;
  if (!isHalf) {
    inputs.clear();
    for (const Operand *operand : parts.values)
      inputs.push_back(lifter.floating(*operand, type));
  }
  if (inputs.size() != (isThree ? 3u : 2u))
    return false;
  ArithKind least = isThree ? ArithKind::Min3 : ArithKind::Min;
  ArithKind most = isThree ? ArithKind::Max3 : ArithKind::Max;
  if (isTrue(which) || isFalse(which)) {
    lifter.emitArith(isTrue(which) ? least : most, type, inputs,
                     {lifter.to(*parts.target)}, {}, false,
                     instruction.has("FTZ"));
    return true;
  }
  lifter.assign(parts.target->reg,
                lifter.select(lifter.predicate(which),
                              lifter.arith(least, type, inputs),
                              lifter.arith(most, type, inputs)));
  return true;
}

/// MUFU. The forms of 64 bits take and give the upper half of a number.
static bool liftSpecialFunction(FunctionLifter &lifter,
                                const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1 ||
      instruction.mnemonic->modifiers.empty())
    return false;
  std::string_view name = instruction.mnemonic->modifiers.front();
  std::optional<kern::MathKind> kind;
  if (name == "RCP" || name == "RCP64H")
    kind = kern::MathKind::Rcp;
  else if (name == "RSQ" || name == "RSQ64H")
    kind = kern::MathKind::Rsqrt;
  else if (name == "SQRT")
    kind = kern::MathKind::Sqrt;
  else if (name == "EX2")
    kind = kern::MathKind::Ex2;
  else if (name == "LG2")
    kind = kern::MathKind::Lg2;
  else if (name == "SIN")
    kind = kern::MathKind::Sin;
  else if (name == "COS")
    kind = kern::MathKind::Cos;
  else if (name == "TANH")
    kind = kern::MathKind::Tanh;
  if (!kind)
    return false;
  ElementType type = instruction.has("F16")       ? ElementType::F16
                     : instruction.has("BF16_V2") ? ElementType::BF16X2
                                                  : ElementType::F32;
  kern::MathOp::Properties properties;
  properties.kind = lifter.attr<kern::MathKindAttr>(*kind);
  properties.type = lifter.type(type);
  properties.rounding = lifter.attr<kern::RoundingAttr>(kern::Rounding::Approx);
  Value input = type == ElementType::F32 && name != "RCP64H" && name != "RSQ64H"
                    ? lifter.floating(*parts.values[0], type)
                    : lifter.plain(*parts.values[0]);
  lifter.emit<kern::MathOp>(properties, {1}, {input},
                            {lifter.to(*parts.target)});
  return true;
}

/// FCHK: whether a division needs the slow path.
static bool liftDivisionCheck(FunctionLifter &lifter,
                              const Instruction &instruction) {
  Parts parts(instruction);
  if (parts.writtenPredicates.size() != 1 || parts.values.size() != 2)
    return false;
  kern::CompareOp::Properties properties;
  properties.predicate =
      lifter.attr<kern::CompareAttr>(kern::Compare::Notanumber);
  properties.type = lifter.type(ElementType::F32);
  lifter.emit<kern::CompareOp>(
      properties, {2},
      {lifter.floating(*parts.values[0], ElementType::F32),
       lifter.floating(*parts.values[1], ElementType::F32)},
      {lifter.to(*parts.writtenPredicates[0])});
  return true;
}

LiftFn sasslift::findFloat(Opcode opcode) {
  switch (opcode) {
  case Opcode::FADD:
  case Opcode::FADD32I:
  case Opcode::UFADD:
  case Opcode::FMUL:
  case Opcode::FMUL32I:
  case Opcode::UFMUL:
  case Opcode::FFMA:
  case Opcode::FFMA32I:
  case Opcode::UFFMA:
  case Opcode::FADD2:
  case Opcode::FMUL2:
  case Opcode::FFMA2:
  case Opcode::DADD:
  case Opcode::DMUL:
  case Opcode::DFMA:
    return liftSingle;
  case Opcode::HADD2:
  case Opcode::HADD2_32I:
  case Opcode::HMUL2:
  case Opcode::HMUL2_32I:
  case Opcode::HFMA2:
  case Opcode::HFMA2_32I:
    return liftHalf;
  case Opcode::FSETP:
  case Opcode::UFSETP:
  case Opcode::DSETP:
    return liftFloatCompare;
  case Opcode::HSETP2:
    return liftHalfCompare;
  case Opcode::FSET:
  case Opcode::UFSET:
  case Opcode::HSET2:
    return liftFloatSet;
  case Opcode::FMNMX:
  case Opcode::UFMNMX:
  case Opcode::FMNMX3:
  case Opcode::HMNMX2:
  case Opcode::VHMNMX:
    return liftFloatMinMax;
  case Opcode::MUFU:
    return liftSpecialFunction;
  case Opcode::FCHK:
    return liftDivisionCheck;
  default:
    return nullptr;
  }
}
