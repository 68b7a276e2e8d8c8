// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits: logic of registers and predicates, shifts, permutations, choices, and
// moves, which make no operation.

#include "Lifter.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

//===----------------------------------------------------------------------===//
// Truth tables
//===----------------------------------------------------------------------===//

/// The table of a function of three when input `index` (0 is the most
/// significant) is constantly `value`, spread so that it does not matter.
static uint8_t fixInput(uint8_t table, unsigned index, bool value) {
  unsigned bit = 4 >> index;
  uint8_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    unsigned from = value ? i | bit : i & ~bit;
    if (table >> from & 1)
      result |= 1 << i;
  }
  return result;
}

static constexpr uint8_t kTables[] = {0xf0, 0xcc, 0xaa};

/// The function with truth table `table` of three values, in as few operations
/// as it takes; `ones` is the constant with all bits set.
static Value makeLogic(FunctionLifter &lifter, uint8_t table,
                       MutableArrayRef<Value> inputs, ElementType type,
                       IntegerType width) {
  uint64_t ones = width.getWidth() == 1 ? 1 : 0xffffffffu;
  for (unsigned i = 0; i < 3; ++i) {
    std::optional<uint64_t> number = FunctionLifter::getConstant(inputs[i]);
    if (number && (*number == 0 || *number == ones))
      table = fixInput(table, i, *number != 0);
  }
  if (table == 0 || table == 0xff)
    return lifter.constant(table ? ones : 0, width);
  for (unsigned i = 0; i < 3; ++i) {
    if (table == kTables[i])
      return inputs[i];
    if (table == uint8_t(~kTables[i]))
      return width.getWidth() == 1
                 ? lifter.negate(inputs[i])
                 : lifter.arith(ArithKind::Not, type, {inputs[i]});
  }
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned j = i + 1; j < 3; ++j)
      for (auto [kind, of] :
           {std::pair(ArithKind::And, uint8_t(kTables[i] & kTables[j])),
            std::pair(ArithKind::Or, uint8_t(kTables[i] | kTables[j])),
            std::pair(ArithKind::Xor, uint8_t(kTables[i] ^ kTables[j]))})
        if (table == of)
          return lifter.arith(kind, type, {inputs[i], inputs[j]});
  // Of one value and constants: some of its bits, some of these turned over.
  if (width.getWidth() == 32) {
    std::optional<unsigned> open;
    uint64_t numbers[3] = {0, 0, 0};
    unsigned unknown = 0;
    for (unsigned i = 0; i < 3; ++i) {
      std::optional<uint64_t> number = FunctionLifter::getConstant(inputs[i]);
      numbers[i] = number.value_or(0);
      if (number || fixInput(table, i, false) == fixInput(table, i, true))
        continue;
      open = i;
      ++unknown;
    }
    if (unknown == 1) {
      auto evaluate = [&](uint64_t value) {
        uint64_t result = 0;
        for (unsigned i = 0; i < 8; ++i) {
          uint64_t part = (table >> i & 1) ? ones : 0;
          for (unsigned j = 0; j < 3; ++j) {
            uint64_t of = j == *open ? value : numbers[j];
            part &= (i >> (2 - j) & 1) ? of : ~of;
          }
          result |= part;
        }
        return result & ones;
      };
      uint64_t turned = evaluate(0), kept = turned ^ evaluate(ones);
      Value value = inputs[*open];
      if (kept != ones)
        value = lifter.arith(ArithKind::And, type,
                             {value, lifter.constant32(kept)});
      return turned == 0 ? value
                         : lifter.arith(ArithKind::Xor, type,
                                        {value, lifter.constant32(turned)});
    }
  }
  return lifter.arith(
      ArithKind::Lop3, type,
      {inputs[0], inputs[1], inputs[2], lifter.constant32(table)});
}

/// LOP3: a register, and a predicate that says whether it is not zero.
static bool liftLop3(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 4 ||
      parts.values[3]->kind != OperandKind::Integer ||
      !hasOnly(instruction, {"LUT", "PAND"}))
    return false;
  Value inputs[3];
  for (unsigned i = 0; i < 3; ++i)
    inputs[i] = lifter.integer(*parts.values[i]);
  uint8_t table = static_cast<uint8_t>(parts.values[3]->integer);
  const Operand *outcome =
      parts.writtenPredicates.empty() ? nullptr : parts.writtenPredicates[0];
  bool hasOutcome = outcome && !outcome->reg.isConstant();
  Value value =
      makeLogic(lifter, table, inputs, ElementType::B32, lifter.module.i32);
  lifter.assign(parts.target->reg, value);
  if (!hasOutcome)
    return true;
  kern::CompareOp::Properties properties;
  properties.predicate = lifter.attr<kern::CompareAttr>(kern::Compare::Ne);
  properties.type = lifter.type(ElementType::B32);
  SmallVector<Value, 3> operands = {value, lifter.constant32(0)};
  const Operand *with =
      parts.predicates.empty() ? nullptr : parts.predicates.back();
  bool isAnd = instruction.has("PAND");
  if (with && !(isAnd ? isTrue(*with) : isFalse(*with))) {
    operands.push_back(lifter.predicate(*with));
    properties.combine = lifter.attr<kern::BoolOpAttr>(
        isAnd ? kern::BoolOp::And : kern::BoolOp::Or);
  }
  lifter.emit<kern::CompareOp>(properties,
                               {static_cast<int32_t>(operands.size())},
                               operands, {lifter.to(*outcome)});
  return true;
}

/// A predicate, or whether a register is negative: `R4.SIGN`.
static Value getCondition(FunctionLifter &lifter, const Operand &operand) {
  if (operand.reg.isPredicate())
    return lifter.predicate(operand);
  Value isNegative =
      lifter.compare(kern::Compare::Lt, ElementType::S32,
                     lifter.read(operand.reg), lifter.constant32(0));
  return operand.inverted ? lifter.negate(isNegative) : isNegative;
}

/// PLOP3: two functions of the same three predicates.
static bool liftPlop3(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  SmallVector<const Operand *, 2> tables;
  SmallVector<const Operand *, 3> conditions;
  for (const Operand *operand : parts.read)
    (operand->kind == OperandKind::Integer ? tables.push_back(operand)
                                           : conditions.push_back(operand));
  if (conditions.size() != 3 || tables.empty() ||
      parts.writtenPredicates.empty() || !hasOnly(instruction, {"LUT"}) ||
      !llvm::all_of(conditions, [](const Operand *operand) {
        return operand->isRegister() && !operand->negated;
      }))
    return false;
  Value inputs[3];
  for (unsigned k = 0; k < 3; ++k)
    inputs[k] = getCondition(lifter, *conditions[k]);
  SmallVector<Value, 2> outcomes;
  for (auto [i, operand] : llvm::enumerate(parts.writtenPredicates)) {
    if (i >= tables.size())
      return operand->reg.isConstant();
    outcomes.push_back(
        operand->reg.isConstant()
            ? Value()
            : makeLogic(lifter, static_cast<uint8_t>(tables[i]->integer),
                        inputs, ElementType::Pred, lifter.module.i1));
  }
  // Both functions read the old predicates.
  for (auto [i, outcome] : llvm::enumerate(outcomes))
    if (outcome)
      lifter.assign(parts.writtenPredicates[i]->reg, outcome);
  return true;
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// SHF d, low, count, high: one word of the 64-bit number after a shift.
static bool liftFunnel(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3 ||
      !hasOnly(instruction, {"L", "R", "U32", "S32", "U64", "S64", "HI", "W"}))
    return false;
  bool isLeft = instruction.has("L"), isHigh = instruction.has("HI");
  bool isSigned = instruction.has("S32") || instruction.has("S64");
  bool isWide = instruction.has("U64") || instruction.has("S64");
  const Operand &low = *parts.values[0], &high = *parts.values[2];
  Dest result = lifter.to(*parts.target);
  Value by = lifter.integer(*parts.values[1]);
  std::optional<uint64_t> count = FunctionLifter::getConstant(by);
  // With .W counts are modulo 32.
  if (instruction.has("W") && !(count && *count < 32))
    by = lifter.arith(ArithKind::And, ElementType::B32,
                      {by, lifter.constant32(31)});
  // A shift of one word.
  if (isLeft && !isHigh) {
    lifter.emitArith(ArithKind::Shl, ElementType::B32,
                     {lifter.integer(low), by}, {result});
    return true;
  }
  if (!isLeft && isHigh) {
    lifter.emitArith(ArithKind::Shr,
                     isSigned ? ElementType::S32 : ElementType::U32,
                     {lifter.integer(high), by}, {result});
    return true;
  }
  // Counts beyond 31 move whole words, which the function of 32 bits does not.
  if (!instruction.has("W") && !(count && *count < 32) && isWide) {
    Value number = lifter.combine(lifter.integer(low), lifter.integer(high));
    Value shifted = lifter.arith(isLeft ? ArithKind::Shl : ArithKind::Shr,
                                 isSigned ? ElementType::S64 : ElementType::U64,
                                 {number, by});
    kern::UnpackOp::Properties properties;
    Dest none{lifter.module.i32, Register()};
    SmallVector<Dest, 2> results = {result, none};
    if (isHigh)
      std::swap(results[0], results[1]);
    lifter.emit<kern::UnpackOp>(properties, {1}, {shifted}, results);
    return true;
  }
  lifter.emitArith(isLeft ? ArithKind::ShfLeft : ArithKind::ShfRight,
                   ElementType::B32,
                   {lifter.integer(low), lifter.integer(high), by}, {result});
  return true;
}

static bool liftShift(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 2 ||
      !hasOnly(instruction, {"U32", "S32", "64", "U64", "S64", "W"}))
    return false;
  bool isWide = parts.target->width == 2;
  bool isLeft = instruction.getOpcode() == Opcode::USHL ||
                instruction.getOpcode() == Opcode::SHL;
  bool isSigned = instruction.has("S32") || instruction.has("S64");
  ElementType type = isLeft   ? (isWide ? ElementType::B64 : ElementType::B32)
                     : isWide ? (isSigned ? ElementType::S64 : ElementType::U64)
                     : isSigned ? ElementType::S32
                                : ElementType::U32;
  lifter.emitArith(isLeft ? ArithKind::Shl : ArithKind::Shr, type,
                   {lifter.integer(*parts.values[0], isWide ? 64 : 32),
                    lifter.integer(*parts.values[1])},
                   {lifter.to(*parts.target, isWide ? 64 : 32)});
  return true;
}

//===----------------------------------------------------------------------===//
// Permutations and choices
//===----------------------------------------------------------------------===//

/// Whether `value` is computed from the address of the shared memory window,
/// within few steps.
static bool isWindowAddress(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<kern::AddressOfOp, kern::MapSharedOp>(op))
    return true;
  if (!isa<kern::ArithOp, kern::SelectOp, kern::UnpackOp, kern::PackOp>(op))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isWindowAddress(operand, depth - 1);
  });
}

/// Selector that puts the lowest byte of the first operand on top of the other
/// three of the second: the rank of a block over a shared memory address.
static constexpr uint64_t kMapShared = 0x654;

/// The selectors of the four values of a mode of PRMT, the first in the lowest
/// 16 bits (PTX ISA, "prmt": forward and backward extraction, replication,
/// clamped edges).
static std::optional<uint64_t> getSelectors(std::string_view mode) {
  static constexpr std::pair<std::string_view, uint64_t> kModes[] = {
      {"F4E", 0x6543543243213210}, {"B4E", 0x0123701267015670},
      {"RC8", 0x3333222211110000}, {"ECL", 0x3333322232113210},
      {"ECR", 0x3210221011100000}, {"RC16", 0x3232101032321010},
  };
  for (const auto &[name, selectors] : kModes)
    if (mode == name)
      return selectors;
  return std::nullopt;
}

static bool liftPermute(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3)
    return false;
  if (!instruction.mnemonic->modifiers.empty()) {
    std::optional<uint64_t> selectors =
        getSelectors(instruction.mnemonic->getFirst());
    if (!selectors || instruction.mnemonic->modifiers.size() != 1)
      return false;
    Value number = lifter.integer(*parts.values[1]), selector;
    if (std::optional<uint64_t> known = FunctionLifter::getConstant(number)) {
      selector = lifter.constant32(*selectors >> (16 * (*known & 3)) & 0xffff);
    } else {
      number = lifter.arith(ArithKind::And, ElementType::B32,
                            {number, lifter.constant32(3)});
      number = lifter.arith(ArithKind::Shl, ElementType::B32,
                            {number, lifter.constant32(4)});
      selector = lifter.convert(
          ElementType::U64, ElementType::U32,
          lifter.arith(
              ArithKind::Shr, ElementType::U64,
              {lifter.constant(*selectors, lifter.module.i64), number}),
          lifter.module.i32);
    }
    lifter.emitArith(ArithKind::Prmt, ElementType::B32,
                     {lifter.integer(*parts.values[0]),
                      lifter.integer(*parts.values[2]), selector},
                     {lifter.to(*parts.target)});
    return true;
  }
  Value a = lifter.integer(*parts.values[0]),
        selector = lifter.integer(*parts.values[1]),
        b = lifter.integer(*parts.values[2]);
  if (FunctionLifter::getConstant(selector) == kMapShared &&
      isWindowAddress(b)) {
    lifter.emit<kern::MapSharedOp>({}, {1, 1}, {b, a},
                                   {lifter.to(*parts.target)});
    return true;
  }
  lifter.emitArith(ArithKind::Prmt, ElementType::B32, {a, b, selector},
                   {lifter.to(*parts.target)});
  return true;
}

static bool liftSelect(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 2 ||
      parts.predicates.size() != 1 || !hasOnly(instruction, {"64", "FTZ"}))
    return false;
  bool isFloat = instruction.getOpcode() == Opcode::FSEL ||
                 instruction.getOpcode() == Opcode::UFSEL;
  bool isWide = parts.target->width == 2;
  auto read = [&](const Operand &operand) {
    return isFloat ? lifter.floating(operand, ElementType::F32)
                   : lifter.integer(operand, isWide ? 64 : 32);
  };
  const Operand &which = *parts.predicates[0];
  Value a = read(*parts.values[0]), b = read(*parts.values[1]);
  // An inverted condition swaps the choices.
  Operand upright = which;
  upright.inverted = which.reg.isConstant() && which.inverted;
  if (which.inverted && !upright.inverted)
    std::swap(a, b);
  kern::SelectOp::Properties properties;
  properties.type = lifter.type(isFloat  ? ElementType::F32
                                : isWide ? ElementType::B64
                                         : ElementType::B32);
  lifter.emit<kern::SelectOp>(properties, {1, 1, 1},
                              {lifter.predicate(upright), a, b},
                              {lifter.to(*parts.target, isWide ? 64 : 32)});
  return true;
}

/// P2R: predicates into the bits of a register that a mask names.
static bool liftPredicatesToRegister(FunctionLifter &lifter,
                                     const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3 ||
      !hasOnly(instruction, {"B1", "B2", "B3"}) ||
      parts.values[0]->kind != OperandKind::PredicateSet)
    return false;
  std::optional<uint64_t> mask =
      FunctionLifter::getConstant(lifter.integer(*parts.values[2]));
  if (!mask)
    return false;
  unsigned shift = instruction.has("B1")   ? 8
                   : instruction.has("B2") ? 16
                   : instruction.has("B3") ? 24
                                           : 0;
  RegisterFile file = instruction.getOpcode() == Opcode::UP2UR
                          ? RegisterFile::UniformPredicate
                          : RegisterFile::Predicate;
  Value word = lifter.arith(
      ArithKind::And, ElementType::B32,
      {lifter.integer(*parts.values[1]),
       lifter.constant32(~((*mask & 0xff) << shift) & 0xffffffffu)});
  for (uint16_t i = 0; i < 7; ++i)
    if (*mask >> i & 1) {
      Value bit = lifter.select(lifter.read(Register{file, i}),
                                lifter.constant32(uint64_t(1) << (i + shift)),
                                lifter.constant32(0));
      word = lifter.arith(ArithKind::Or, ElementType::B32, {word, bit});
    }
  lifter.assign(parts.target->reg, word);
  return true;
}

/// R2P: the bits that a mask names into predicates.
static bool liftRegisterToPredicates(FunctionLifter &lifter,
                                     const Instruction &instruction) {
  if (!hasOnly(instruction, {"B1", "B2", "B3"}) ||
      instruction.operands.empty() ||
      instruction.operands[0].kind != OperandKind::PredicateSet)
    return false;
  SmallVector<const Operand *, 2> values;
  for (const Operand &operand : instruction.operands)
    if (operand.kind != OperandKind::PredicateSet)
      values.push_back(&operand);
  if (values.empty())
    return false;
  std::optional<uint64_t> mask = 0x7f;
  if (values.size() > 1)
    mask = FunctionLifter::getConstant(lifter.integer(*values[1]));
  if (!mask)
    return false;
  unsigned shift = instruction.has("B1")   ? 8
                   : instruction.has("B2") ? 16
                   : instruction.has("B3") ? 24
                                           : 0;
  RegisterFile file = instruction.getOpcode() == Opcode::UR2UP
                          ? RegisterFile::UniformPredicate
                          : RegisterFile::Predicate;
  Value word = lifter.integer(*values[0]);
  for (uint16_t i = 0; i < 7; ++i)
    if (*mask >> i & 1) {
      Value bit =
          lifter.arith(ArithKind::And, ElementType::B32,
                       {word, lifter.constant32(uint64_t(1) << (i + shift))});
      lifter.assign(Register{file, i},
                    lifter.compare(kern::Compare::Ne, ElementType::B32, bit,
                                   lifter.constant32(0)));
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static bool liftMove(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.empty() ||
      !parts.writtenPredicates.empty() ||
      !hasOnly(instruction, {"64", "U32", "SPILL"}))
    return false;
  if (parts.target->width == 2)
    lifter.assignWide(parts.target->reg, lifter.integer(*parts.values[0], 64));
  else
    lifter.assign(parts.target->reg, lifter.integer(*parts.values[0]));
  return true;
}

/// R2UR moves to a uniform register what is the same in all lanes. With a
/// predicate, or as BROADCAST, it takes the value of one lane; the predicate
/// says which lanes have another one, and with OR had before.
static bool liftLaneMove(FunctionLifter &lifter,
                         const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1 ||
      !hasOnly(instruction, {"BROADCAST", "FILL", "OR"}))
    return false;
  const Operand *others = nullptr;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      others = operand;
  Value own = lifter.integer(*parts.values[0]);
  if (!others && !instruction.has("BROADCAST")) {
    lifter.assign(parts.target->reg, own);
    return true;
  }
  // What the predicate was is only known where a guard may keep it.
  if (instruction.has("OR") && !(others && lifter.isGuarded()))
    return false;
  kern::ShuffleOp::Properties properties;
  properties.mode = lifter.attr<kern::ShuffleModeAttr>(kern::ShuffleMode::Idx);
  Value chosen =
      lifter
          .emit<kern::ShuffleOp>(
              properties, {3},
              {own, lifter.special("elected_lane", lifter.module.i32),
               lifter.constant32(0x1f)},
              {lifter.to(*parts.target)})
          ->getResult(0);
  if (!others)
    return true;
  Value differs =
      lifter.compare(kern::Compare::Ne, ElementType::B32, own, chosen);
  if (instruction.has("OR"))
    differs = lifter.arith(ArithKind::Or, ElementType::Pred,
                           {lifter.read(others->reg), differs});
  lifter.assign(others->reg, differs);
  return true;
}

static bool liftSpecial(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1 ||
      parts.values[0]->kind != OperandKind::SpecialRegister)
    return false;
  llvm::StringRef name = parts.values[0]->name;
  unsigned width = parts.target->width;
  if (width > 2)
    return false;
  if (width == 2) {
    // The pair of a counter, or two zeros.
    std::string wide = name == "SR_CLOCKLO"         ? "clock64"
                       : name == "SR_GLOBALTIMERLO" ? "globaltimer"
                                                    : name.str();
    lifter.assignWide(parts.target->reg,
                      lifter.special(wide, lifter.module.i64));
    return true;
  }
  lifter.assign(parts.target->reg, lifter.special(name, lifter.module.i32));
  return true;
}

/// LEPC: the address of a place in the code, which a call returns to.
static bool liftCodeAddress(FunctionLifter &lifter,
                            const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.target->width != 2)
    return false;
  lifter.assignWide(parts.target->reg,
                    lifter.special("code_address", lifter.module.i64));
  return true;
}

LiftFn sasslift::findLogic(Opcode opcode) {
  switch (opcode) {
  case Opcode::LOP3:
  case Opcode::ULOP3:
    return liftLop3;
  case Opcode::PLOP3:
  case Opcode::UPLOP3:
    return liftPlop3;
  case Opcode::SHF:
  case Opcode::USHF:
    return liftFunnel;
  case Opcode::SHL:
  case Opcode::SHR:
  case Opcode::USHL:
  case Opcode::USHR:
    return liftShift;
  case Opcode::PRMT:
  case Opcode::UPRMT:
    return liftPermute;
  case Opcode::SEL:
  case Opcode::USEL:
  case Opcode::FSEL:
  case Opcode::UFSEL:
    return liftSelect;
  case Opcode::P2R:
  case Opcode::UP2UR:
    return liftPredicatesToRegister;
  case Opcode::R2P:
  case Opcode::UR2UP:
    return liftRegisterToPredicates;
  case Opcode::MOV:
  case Opcode::UMOV:
  case Opcode::MOV32I:
    return liftMove;
  case Opcode::R2UR:
    return liftLaneMove;
  case Opcode::LEPC:
  case Opcode::ULEPC:
    return liftCodeAddress;
  case Opcode::S2R:
  case Opcode::S2UR:
  case Opcode::CS2R:
  case Opcode::CS2UR:
    return liftSpecial;
  default:
    return nullptr;
  }
}
