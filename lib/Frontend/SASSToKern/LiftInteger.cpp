// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic: sums with carries, products, shifts that are part of
// address computations, comparisons, minima.

#include "Lifter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;
using sass::OperandKind;

Parts::Parts(const Instruction &instruction) {
  for (const Operand &operand : instruction.operands) {
    bool isPredicate = operand.isRegister() && operand.reg.isPredicate();
    if (operand.isRegister() && operand.writes()) {
      written.push_back(&operand);
      if (isPredicate)
        writtenPredicates.push_back(&operand);
      else if (!target)
        target = &operand;
      if (!operand.reads())
        continue;
    }
    read.push_back(&operand);
    if (isPredicate)
      predicates.push_back(&operand);
    else
      values.push_back(&operand);
  }
}

bool sasslift::hasOnly(const Instruction &instruction,
                       std::initializer_list<std::string_view> known) {
  return llvm::all_of(instruction.mnemonic->modifiers,
                      [&](const std::string &modifier) {
                        return llvm::is_contained(known, modifier);
                      });
}

bool sasslift::isZero(const Operand &operand) {
  if (operand.inverted)
    return false;
  if (operand.isRegister())
    return !operand.reg.isPredicate() && operand.reg.isConstant();
  return operand.kind == OperandKind::Integer && operand.integer == 0;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A sum of up to three terms, with what is carried in and out.
struct Sum {
  FunctionLifter &lifter;
  const Parts &parts;
  ElementType type = ElementType::U32;
  /// Terms other than zero; those to be subtracted last.
  SmallVector<const Operand *, 3> terms;
  SmallVector<Value, 2> carriesIn;
  /// Predicates that get a carry.
  SmallVector<Register, 2> carriesOut;

  Sum(FunctionLifter &lifter, const Parts &parts)
      : lifter(lifter), parts(parts) {
    for (const Operand *operand : parts.values)
      if (!isZero(*operand) && !operand->negated)
        terms.push_back(operand);
    for (const Operand *operand : parts.values)
      if (!isZero(*operand) && operand->negated)
        terms.push_back(operand);
    for (const Operand *operand : parts.predicates)
      if (!isFalse(*operand))
        carriesIn.push_back(lifter.predicate(*operand));
    for (const Operand *operand : parts.writtenPredicates)
      if (!operand->reg.isConstant())
        carriesOut.push_back(operand->reg);
  }

  /// A term without its minus.
  Value get(unsigned index) const {
    Operand upright = *terms[index];
    upright.negated = false;
    return lifter.integer(upright);
  }
  bool isNegated(unsigned index) const { return terms[index]->negated; }

  void lift() {
    if (!carriesIn.empty())
      return liftCarryIn();
    if (!carriesOut.empty())
      return liftCarryOut();
    Dest result = lifter.to(*parts.target);
    switch (terms.size()) {
    case 0:
      return lifter.assign(parts.target->reg, lifter.constant32(0));
    case 1:
      return lifter.assign(parts.target->reg, lifter.integer(*terms[0]));
    default:
      break;
    }
    Value sum = isNegated(0) ? lifter.integer(*terms[0]) : get(0);
    for (unsigned i = 1; i + 1 < terms.size(); ++i)
      sum = lifter.arith(isNegated(i) ? ArithKind::Sub : ArithKind::Add, type,
                         {sum, get(i)});
    unsigned last = terms.size() - 1;
    lifter.emitArith(isNegated(last) ? ArithKind::Sub : ArithKind::Add, type,
                     {sum, get(last)}, {result});
  }

  /// The last step; its carry, which is the opposite of a borrow.
  Value finish(Value sum, unsigned index) {
    bool isSub = index < terms.size() && isNegated(index);
    Value by = index < terms.size() ? get(index) : lifter.constant32(0);
    kern::ArithOp::Properties properties;
    properties.kind = lifter.attr<kern::ArithKindAttr>(
        isSub ? ArithKind::SubCarry : ArithKind::AddCarry);
    properties.type = lifter.type(type);
    Operation *op = lifter.emit<kern::ArithOp>(
        properties, {2}, {sum, by},
        {lifter.to(*parts.target), {lifter.module.i1, Register()}});
    return isSub ? lifter.negate(op->getResult(1)) : op->getResult(1);
  }

  void liftCarryOut() {
    Value sum = terms.empty()  ? lifter.constant32(0)
                : isNegated(0) ? lifter.constant32(0)
                               : get(0);
    unsigned next = !terms.empty() && !isNegated(0) ? 1 : 0;
    SmallVector<Value, 2> carries;
    while (next + 1 < terms.size()) {
      bool isSub = isNegated(next);
      auto [partial, carry] =
          lifter.arithCarry(isSub ? ArithKind::SubCarry : ArithKind::AddCarry,
                            type, {sum, get(next)});
      sum = partial;
      carries.push_back(isSub ? lifter.negate(carry) : carry);
      ++next;
    }
    carries.push_back(finish(sum, next));
    spread(carries);
  }

  /// Two carries add up to what the pair of predicates adds in the next sum; a
  /// single predicate is used where at most one of them can be set.
  void spread(ArrayRef<Value> carries) {
    Value all;
    for (Value carry : carries.drop_front(
             carriesOut.size() > 1 && carries.size() > 1 ? 1 : 0))
      all = all ? lifter.arith(ArithKind::Or, ElementType::Pred, {all, carry})
                : carry;
    if (carriesOut.size() == 1)
      return lifter.assign(carriesOut[0], all);
    lifter.assign(carriesOut[0], carries.front());
    lifter.assign(carriesOut[1], carries.size() > 1
                                     ? all
                                     : lifter.constant(0, lifter.module.i1));
  }

  void liftCarryIn() {
    auto term = [&](unsigned index) {
      return index < terms.size() ? lifter.integer(*terms[index])
                                  : lifter.constant32(0);
    };
    Value sum = term(0);
    SmallVector<Value, 2> carries;
    unsigned steps = std::max<unsigned>(terms.size() > 1 ? terms.size() - 1 : 1,
                                        carriesIn.size());
    for (unsigned i = 0; i + 1 < steps; ++i) {
      SmallVector<Value, 3> inputs = {sum, term(i + 1)};
      if (i < carriesIn.size())
        inputs.push_back(carriesIn[i]);
      auto [partial, carry] =
          lifter.arithCarry(ArithKind::AddCarry, type, inputs);
      sum = partial;
      carries.push_back(carry);
    }
    SmallVector<Value, 3> inputs = {sum, term(steps)};
    if (steps - 1 < carriesIn.size())
      inputs.push_back(carriesIn[steps - 1]);
    SmallVector<Dest, 2> results = {lifter.to(*parts.target)};
    if (!carriesOut.empty())
      results.push_back({lifter.module.i1, Register()});
    kern::ArithOp::Properties properties;
    properties.kind = lifter.attr<kern::ArithKindAttr>(ArithKind::AddCarry);
    properties.type = lifter.type(type);
    Operation *op = lifter.emit<kern::ArithOp>(
        properties, {static_cast<int32_t>(inputs.size())}, inputs, results);
    if (carriesOut.empty())
      return;
    carries.push_back(op->getResult(1));
    spread(carries);
  }
};
} // namespace

/// IADD3 and its kin. 64-bit sums have no carries.
static bool liftSum(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || !hasOnly(instruction, {"X", "64"}))
    return false;
  if (parts.target->width != 2) {
    Sum(lifter, parts).lift();
    return true;
  }
  if (llvm::any_of(
          parts.writtenPredicates,
          [](const Operand *operand) { return !operand->reg.isConstant(); }) ||
      llvm::any_of(parts.predicates,
                   [](const Operand *operand) { return !isFalse(*operand); }))
    return false;
  Value sum = lifter.constant(0, lifter.module.i64);
  for (const Operand *operand : parts.values)
    sum = lifter.addWide(sum, lifter.integer(*operand, 64));
  lifter.assignWide(parts.target->reg, sum);
  return true;
}

/// ISCADD is an older spelling of LEA: `a << s + b`.
static bool liftLea(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || !hasOnly(instruction, {"HI", "X", "SX32", "64"}))
    return false;
  bool isHigh = instruction.has("HI"), isSigned = instruction.has("SX32");
  unsigned count = isHigh && !isSigned ? 4 : 3;
  if (parts.values.size() != count ||
      parts.values.back()->kind != OperandKind::Integer)
    return false;
  uint64_t shift = parts.values.back()->integer & 31;
  const Operand &index = *parts.values[0], &base = *parts.values[1];
  if (instruction.has("64") || parts.target->width == 2) {
    if (isHigh || instruction.has("X") || !parts.writtenPredicates.empty())
      return false;
    Value scaled =
        lifter.arith(ArithKind::Shl, ElementType::B64,
                     {lifter.integer(index, 64), lifter.constant32(shift)});
    lifter.assignWide(parts.target->reg,
                      lifter.addWide(scaled, lifter.integer(base, 64)));
    return true;
  }
  Value a = lifter.integer(index), b = lifter.integer(base);
  // The window of the own block in the cluster's shared memory.
  if (auto special = a.getDefiningOp<kern::SpecialOp>();
      special && special.getReg() == "cluster_ctarank" && shift == 24 &&
      !isHigh && !instruction.has("X")) {
    std::optional<uint64_t> offset = FunctionLifter::getConstant(b);
    bool isReserved = offset && *offset < kReservedShared;
    lifter.emitArith(ArithKind::Add, ElementType::U32,
                     {lifter.sharedWindow(isReserved), b},
                     {lifter.to(*parts.target)});
    return true;
  }
  Value scaled = a;
  if (isHigh) {
    Value high = isSigned ? lifter.arith(ArithKind::Shr, ElementType::S32,
                                         {a, lifter.constant32(31)})
                          : lifter.integer(*parts.values[2]);
    scaled = lifter.arith(ArithKind::ShfLeft, ElementType::B32,
                          {a, high, lifter.constant32(shift)});
  } else if (shift != 0) {
    scaled = lifter.arith(ArithKind::Shl, ElementType::B32,
                          {a, lifter.constant32(shift)});
  }
  SmallVector<Value, 3> inputs = {scaled, b};
  for (const Operand *operand : parts.predicates)
    if (!isFalse(*operand))
      inputs.push_back(lifter.predicate(*operand));
  SmallVector<Dest, 2> results = {lifter.to(*parts.target)};
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      results.push_back(lifter.to(*operand));
  if (results.size() > 2 || inputs.size() > 3)
    return false;
  lifter.emitArith(inputs.size() + results.size() > 3 ? ArithKind::AddCarry
                                                      : ArithKind::Add,
                   ElementType::U32, inputs, results);
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool liftMad(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3 ||
      !hasOnly(instruction,
               {"MOV", "U32", "IADD", "SHL", "X", "HI", "WIDE", "S32"}))
    return false;
  const Operand &a = *parts.values[0], &b = *parts.values[1],
                &c = *parts.values[2];
  ElementType type =
      instruction.has("U32") ? ElementType::U32 : ElementType::S32;
  SmallVector<Register, 2> carriesOut;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      carriesOut.push_back(operand->reg);
  SmallVector<Value, 1> carriesIn;
  for (const Operand *operand : parts.predicates)
    if (!isFalse(*operand))
      carriesIn.push_back(lifter.predicate(*operand));
  if (carriesIn.size() > 1 || carriesOut.size() > 1)
    return false;
  bool hasProduct = !isZero(a) && !isZero(b);

  if (instruction.has("WIDE")) {
    Register target = parts.target->reg;
    Value sum = lifter.integer(c, 64);
    bool hasSum = !isZero(c);
    if (carriesIn.empty() && carriesOut.empty()) {
      if (!hasProduct) {
        lifter.assignWide(target, sum);
        return true;
      }
      SmallVector<Value, 3> inputs = {lifter.integer(a), lifter.integer(b)};
      if (hasSum)
        inputs.push_back(sum);
      lifter.emitArith(hasSum ? ArithKind::MadWide : ArithKind::MulWide, type,
                       inputs, {lifter.to(target, 64)});
      return true;
    }
    Value product = hasProduct
                        ? lifter.arith(ArithKind::MulWide, type,
                                       {lifter.integer(a), lifter.integer(b)},
                                       lifter.module.i64)
                        : lifter.constant(0, lifter.module.i64);
    SmallVector<Value, 3> inputs = {product, sum};
    inputs.append(carriesIn.begin(), carriesIn.end());
    SmallVector<Dest, 2> results = {lifter.to(target, 64)};
    if (!carriesOut.empty())
      results.push_back(lifter.to(carriesOut[0]));
    lifter.emitArith(ArithKind::AddCarry, ElementType::U64, inputs, results);
    return true;
  }
  if (instruction.has("HI")) {
    // The upper half of a sum with a number of 64 bits, and its carry.
    if (!carriesIn.empty() || !carriesOut.empty()) {
      Value product = lifter.arith(ArithKind::MulWide, type,
                                   {lifter.integer(a), lifter.integer(b)},
                                   lifter.module.i64);
      SmallVector<Value, 3> inputs = {product, lifter.integer(c, 64)};
      inputs.append(carriesIn.begin(), carriesIn.end());
      auto [sum, carry] =
          lifter.arithCarry(ArithKind::AddCarry, ElementType::U64, inputs);
      lifter.emit<kern::UnpackOp>(
          {}, {1}, {sum},
          {{lifter.module.i32, Register()}, lifter.to(*parts.target)});
      if (!carriesOut.empty())
        lifter.assign(carriesOut[0], carry);
      return true;
    }
    if (isZero(c)) {
      lifter.emitArith(ArithKind::MulHi, type,
                       {lifter.integer(a), lifter.integer(b)},
                       {lifter.to(*parts.target)});
      return true;
    }
    Value sum = lifter.arith(
        ArithKind::MadWide, type,
        {lifter.integer(a), lifter.integer(b), lifter.integer(c, 64)},
        lifter.module.i64);
    lifter.emit<kern::UnpackOp>(
        {}, {1}, {sum},
        {{lifter.module.i32, Register()}, lifter.to(*parts.target)});
    return true;
  }
  if (!carriesOut.empty())
    return false;
  if (!hasProduct) {
    if (carriesIn.empty()) {
      lifter.assign(parts.target->reg, lifter.integer(c));
      return true;
    }
    lifter.emitArith(ArithKind::AddCarry, ElementType::U32,
                     {lifter.integer(c), lifter.constant32(0), carriesIn[0]},
                     {lifter.to(*parts.target)});
    return true;
  }
  std::optional<uint64_t> factor =
      FunctionLifter::getConstant(lifter.integer(b));
  bool isOne = factor && *factor == 1;
  if (!carriesIn.empty()) {
    Value product = isOne
                        ? lifter.integer(a)
                        : lifter.arith(ArithKind::MulLo, type,
                                       {lifter.integer(a), lifter.integer(b)});
    lifter.emitArith(ArithKind::AddCarry, ElementType::U32,
                     {product, lifter.integer(c), carriesIn[0]},
                     {lifter.to(*parts.target)});
    return true;
  }
  if (isOne) {
    Operand upright = c;
    upright.negated = false;
    if (isZero(c))
      lifter.assign(parts.target->reg, lifter.integer(a));
    else
      lifter.emitArith(c.negated ? ArithKind::Sub : ArithKind::Add,
                       ElementType::U32,
                       {lifter.integer(a), lifter.integer(upright)},
                       {lifter.to(*parts.target)});
    return true;
  }
  if (isZero(c) && factor && llvm::isPowerOf2_64(*factor) && !a.negated) {
    lifter.emitArith(
        ArithKind::Shl, ElementType::B32,
        {lifter.integer(a), lifter.constant32(llvm::Log2_64(*factor))},
        {lifter.to(*parts.target)});
    return true;
  }
  SmallVector<Value, 3> inputs = {lifter.integer(a), lifter.integer(b)};
  if (!isZero(c))
    inputs.push_back(lifter.integer(c));
  lifter.emitArith(isZero(c) ? ArithKind::MulLo : ArithKind::MadLo, type,
                   inputs, {lifter.to(*parts.target)});
  return true;
}

//===----------------------------------------------------------------------===//
// Comparisons and choices
//===----------------------------------------------------------------------===//

std::optional<kern::Compare> sasslift::getCompare(std::string_view text) {
  using kern::Compare;
  return llvm::StringSwitch<std::optional<Compare>>(
             llvm::StringRef(text.data(), text.size()))
      .Case("EQ", Compare::Eq)
      .Case("NE", Compare::Ne)
      .Case("LT", Compare::Lt)
      .Case("LE", Compare::Le)
      .Case("GT", Compare::Gt)
      .Case("GE", Compare::Ge)
      .Case("EQU", Compare::Equ)
      .Case("NEU", Compare::Neu)
      .Case("LTU", Compare::Ltu)
      .Case("LEU", Compare::Leu)
      .Case("GTU", Compare::Gtu)
      .Case("GEU", Compare::Geu)
      .Case("NUM", Compare::Num)
      .Case("NAN", Compare::Nan)
      .Default(std::nullopt);
}

std::optional<kern::BoolOp>
sasslift::getBoolOp(const Instruction &instruction) {
  if (instruction.has("AND"))
    return kern::BoolOp::And;
  if (instruction.has("OR"))
    return kern::BoolOp::Or;
  if (instruction.has("XOR"))
    return kern::BoolOp::Xor;
  return std::nullopt;
}

bool sasslift::emitCompare(FunctionLifter &lifter,
                           const Instruction &instruction, const Parts &parts,
                           kern::Compare predicate, ElementType type, Value a,
                           Value b, const Operand *with) {
  std::optional<kern::BoolOp> combine = getBoolOp(instruction);
  kern::CompareOp::Properties properties;
  properties.predicate = lifter.attr<kern::CompareAttr>(predicate);
  properties.type = lifter.type(type);
  SmallVector<Value, 3> inputs = {a, b};
  // `and true`, `or false` and `xor false` leave the comparison as it is.
  bool isNeutral =
      !with || !combine ||
      (*combine == kern::BoolOp::And ? isTrue(*with) : isFalse(*with));
  if (!isNeutral) {
    Operand upright = *with;
    upright.inverted = with->reg.isConstant() && with->inverted;
    inputs.push_back(lifter.predicate(upright));
    properties.combine = lifter.attr<kern::BoolOpAttr>(*combine);
    properties.combineNegated =
        lifter.unit(with->inverted && !with->reg.isConstant());
  }
  if (parts.writtenPredicates.empty())
    return false;
  SmallVector<Dest, 2> results = {lifter.to(*parts.writtenPredicates[0])};
  if (parts.writtenPredicates.size() > 1 &&
      !parts.writtenPredicates[1]->reg.isConstant())
    results.push_back(lifter.to(*parts.writtenPredicates[1]));
  lifter.emit<kern::CompareOp>(
      properties, {static_cast<int32_t>(inputs.size())}, inputs, results);
  return true;
}

static bool liftIntegerCompare(FunctionLifter &lifter,
                               const Instruction &instruction) {
  Parts parts(instruction);
  if (instruction.mnemonic->modifiers.empty() || parts.values.size() != 2 ||
      parts.predicates.empty())
    return false;
  std::optional<kern::Compare> predicate =
      getCompare(instruction.mnemonic->modifiers.front());
  if (!predicate ||
      !hasOnly(instruction, {"EQ", "NE", "LT", "LE", "GT", "GE", "U32", "S32",
                             "AND", "OR", "XOR", "EX", "U64", "S64", "64"}))
    return false;
  bool isUnsigned = instruction.has("U32") || instruction.has("U64");
  bool isWide = parts.values[0]->width == 2 || parts.values[1]->width == 2;
  Value a = lifter.integer(*parts.values[0], isWide ? 64 : 32);
  Value b = lifter.integer(*parts.values[1], isWide ? 64 : 32);
  const Operand *with = parts.predicates[0];
  ElementType type = isWide
                         ? (isUnsigned ? ElementType::U64 : ElementType::S64)
                         : (isUnsigned ? ElementType::U32 : ElementType::S32);
  if (!instruction.has("EX"))
    return emitCompare(lifter, instruction, parts, *predicate, type, a, b,
                       with);
  if (parts.predicates.size() < 2)
    return false;
  // The upper halves; the last predicate is the comparison of the lower ones.
  Value low = lifter.predicate(*parts.predicates.back());
  if (auto lower = low.getDefiningOp<kern::CompareOp>();
      lower && !lower.getGuard() && !lower.getCombine() &&
      low == lower->getResult(0) && lower.getPredicate() == *predicate &&
      lower.getType() == ElementType::U32)
    return emitCompare(lifter, instruction, parts, *predicate,
                       isUnsigned ? ElementType::U64 : ElementType::S64,
                       lifter.combine(lower.getInputs()[0], a),
                       lifter.combine(lower.getInputs()[1], b), with);
  using kern::Compare;
  Compare strict = *predicate == Compare::Le   ? Compare::Lt
                   : *predicate == Compare::Ge ? Compare::Gt
                   : *predicate == Compare::Eq ? Compare::Eq
                                               : *predicate;
  Value outcome;
  Value same = lifter.compare(Compare::Eq, type, a, b);
  if (*predicate == Compare::Eq)
    outcome = lifter.arith(ArithKind::And, ElementType::Pred, {same, low});
  else
    outcome = lifter.arith(
        ArithKind::Or, ElementType::Pred,
        {lifter.compare(strict, type, a, b),
         lifter.arith(ArithKind::And, ElementType::Pred, {same, low})});
  if (parts.writtenPredicates.empty())
    return false;
  // As a comparison of bits, so that the combination is the same operation.
  return emitCompare(lifter, instruction, parts, Compare::Ne, ElementType::Pred,
                     outcome, lifter.constant(0, lifter.module.i1), with);
}

/// The last step of a minimum or maximum: RELU makes what is negative zero.
static void emitMinMax(FunctionLifter &lifter, const Instruction &instruction,
                       ArithKind kind, ElementType type, ValueRange inputs,
                       Dest result) {
  if (!instruction.has("RELU"))
    return lifter.emitArith(kind, type, inputs, {result});
  lifter.emitArith(
      ArithKind::Max, type,
      {lifter.arith(kind, type, inputs), lifter.constant(0, result.type)},
      {result});
}

/// IMNMX, VIMNMX: the minimum where the last predicate holds.
static bool liftMinMax(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 2 || parts.predicates.empty() ||
      !hasOnly(instruction, {"U32", "S32", "64", "U64", "S64", "RELU"}))
    return false;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      return false;
  bool isWide = parts.target->width == 2;
  bool isUnsigned = instruction.has("U32") || instruction.has("U64");
  ElementType type = isWide
                         ? (isUnsigned ? ElementType::U64 : ElementType::S64)
                         : (isUnsigned ? ElementType::U32 : ElementType::S32);
  Value a = lifter.integer(*parts.values[0], isWide ? 64 : 32);
  Value b = lifter.integer(*parts.values[1], isWide ? 64 : 32);
  const Operand &which = *parts.predicates.back();
  Dest result = lifter.to(*parts.target, isWide ? 64 : 32);
  if (isTrue(which) || isFalse(which)) {
    emitMinMax(lifter, instruction,
               isTrue(which) ? ArithKind::Min : ArithKind::Max, type, {a, b},
               result);
    return true;
  }
  if (instruction.has("RELU"))
    return false;
  Value chosen = lifter.select(lifter.predicate(which),
                               lifter.arith(ArithKind::Min, type, {a, b}),
                               lifter.arith(ArithKind::Max, type, {a, b}));
  if (isWide)
    lifter.assignWide(parts.target->reg, chosen);
  else
    lifter.assign(parts.target->reg, chosen);
  return true;
}

/// VIMNMX3 and VIADDMNMX: three inputs, the first two of which are added or
/// compared first.
static bool liftMinMax3(FunctionLifter &lifter,
                        const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 3 ||
      !hasOnly(instruction, {"U32", "S32", "RELU"}))
    return false;
  for (const Operand *operand : parts.writtenPredicates)
    if (!operand->reg.isConstant())
      return false;
  bool isSum = instruction.getOpcode() == Opcode::VIADDMNMX;
  for (const Operand *operand : parts.predicates)
    if (!operand->reg.isConstant() ||
        operand->inverted != parts.predicates.front()->inverted)
      return false;
  bool isMax = !parts.predicates.empty() && isFalse(*parts.predicates.front());
  ElementType type =
      instruction.has("U32") ? ElementType::U32 : ElementType::S32;
  Value a = lifter.integer(*parts.values[0]),
        b = lifter.integer(*parts.values[1]),
        c = lifter.integer(*parts.values[2]);
  Dest result = lifter.to(*parts.target);
  if (isSum)
    emitMinMax(lifter, instruction, isMax ? ArithKind::Max : ArithKind::Min,
               type, {lifter.arith(ArithKind::Add, type, {a, b}), c}, result);
  else
    emitMinMax(lifter, instruction, isMax ? ArithKind::Max3 : ArithKind::Min3,
               type, {a, b, c}, result);
  return true;
}

//===----------------------------------------------------------------------===//
// Functions of one or two registers
//===----------------------------------------------------------------------===//

static bool liftUnary(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() != 1 ||
      llvm::any_of(parts.writtenPredicates, [](const Operand *operand) {
        return !operand->reg.isConstant();
      }))
    return false;
  ArithKind kind;
  ElementType type = ElementType::B32;
  switch (instruction.getOpcode()) {
  case Opcode::IABS:
  case Opcode::UIABS:
    kind = ArithKind::Abs;
    type = ElementType::S32;
    break;
  case Opcode::POPC:
  case Opcode::UPOPC:
    kind = ArithKind::Popc;
    break;
  case Opcode::BREV:
  case Opcode::UBREV:
    kind = ArithKind::Brev;
    break;
  case Opcode::FLO:
  case Opcode::UFLO:
    // Position of the leading one, or (SH) how far to shift it to the top.
    kind = instruction.has("SH") ? ArithKind::Clz : ArithKind::Bfind;
    type = instruction.has("U32") ? ElementType::U32 : ElementType::S32;
    break;
  default:
    return false;
  }
  lifter.emitArith(kind, type, {lifter.integer(*parts.values[0])},
                   {lifter.to(*parts.target)});
  return true;
}

static bool liftBinary(FunctionLifter &lifter, const Instruction &instruction) {
  Parts parts(instruction);
  if (!parts.target || parts.values.size() < 2)
    return false;
  ArithKind kind;
  ElementType type = ElementType::B32;
  switch (instruction.getOpcode()) {
  case Opcode::BMSK:
  case Opcode::UBMSK:
    kind = ArithKind::Bmsk;
    break;
  case Opcode::SGXT:
  case Opcode::USGXT:
    kind = ArithKind::Szext;
    type = instruction.has("U32") ? ElementType::U32 : ElementType::S32;
    break;
  case Opcode::IDP:
    kind = instruction.has("2A") ? ArithKind::Dp2a : ArithKind::Dp4a;
    type = ElementType::S32;
    break;
  case Opcode::IDP4A:
    kind = ArithKind::Dp4a;
    type = ElementType::S32;
    break;
  case Opcode::VABSDIFF:
    kind = ArithKind::Sad;
    type = instruction.has("U32") ? ElementType::U32 : ElementType::S32;
    break;
  case Opcode::IMUL:
    if (parts.target->width == 2 || instruction.has("HI"))
      return false;
    kind = ArithKind::MulLo;
    type = ElementType::S32;
    break;
  default:
    return false;
  }
  SmallVector<Value, 3> inputs;
  for (const Operand *operand : parts.values)
    inputs.push_back(lifter.integer(*operand));
  lifter.emitArith(kind, type, inputs, {lifter.to(*parts.target)});
  return true;
}

LiftFn sasslift::findInteger(Opcode opcode) {
  switch (opcode) {
  case Opcode::IADD:
  case Opcode::IADD3:
  case Opcode::UIADD3:
  case Opcode::IADD32I:
  case Opcode::VIADD:
  case Opcode::UVIADD:
    return liftSum;
  case Opcode::LEA:
  case Opcode::ULEA:
  case Opcode::ISCADD:
    return liftLea;
  case Opcode::IMAD:
  case Opcode::UIMAD:
    return liftMad;
  case Opcode::ISETP:
  case Opcode::UISETP:
    return liftIntegerCompare;
  case Opcode::IMNMX:
  case Opcode::UIMNMX:
  case Opcode::VIMNMX:
  case Opcode::UVIMNMX:
    return liftMinMax;
  case Opcode::VIMNMX3:
  case Opcode::UVIMNMX3:
  case Opcode::VIADDMNMX:
    return liftMinMax3;
  case Opcode::IABS:
  case Opcode::UIABS:
  case Opcode::POPC:
  case Opcode::UPOPC:
  case Opcode::BREV:
  case Opcode::UBREV:
  case Opcode::FLO:
  case Opcode::UFLO:
    return liftUnary;
  case Opcode::BMSK:
  case Opcode::UBMSK:
  case Opcode::SGXT:
  case Opcode::USGXT:
  case Opcode::IDP:
  case Opcode::IDP4A:
  case Opcode::IMUL:
  case Opcode::VABSDIFF:
    return liftBinary;
  default:
    return nullptr;
  }
}
