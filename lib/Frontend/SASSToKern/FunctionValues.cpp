// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pure functions of values, and 64-bit numbers: machine code computes them in
// halves with carries, and analyses of addresses need them whole.

#include "Lifter.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::sasslift;

std::optional<uint64_t> FunctionLifter::getConstant(Value value) {
  auto constant = value.getDefiningOp<kern::ConstantOp>();
  if (!constant || constant.getBits().getBitWidth() > 64)
    return std::nullopt;
  return constant.getBits().getZExtValue();
}

Value FunctionLifter::arith(ArithKind kind, ElementType elementType,
                            ValueRange inputs, IntegerType result) {
  kern::ArithOp::Properties properties;
  properties.kind = attr<kern::ArithKindAttr>(kind);
  properties.type = type(elementType);
  return pure<kern::ArithOp>(properties, inputs,
                             {result ? Type(result) : inputs.front().getType()},
                             {static_cast<int32_t>(inputs.size())})
      ->getResult(0);
}

std::pair<Value, Value> FunctionLifter::arithCarry(ArithKind kind,
                                                   ElementType elementType,
                                                   ValueRange inputs) {
  kern::ArithOp::Properties properties;
  properties.kind = attr<kern::ArithKindAttr>(kind);
  properties.type = type(elementType);
  Operation *op = pure<kern::ArithOp>(properties, inputs,
                                      {inputs.front().getType(), module.i1},
                                      {static_cast<int32_t>(inputs.size())});
  return {op->getResult(0), op->getResult(1)};
}

Value FunctionLifter::compare(kern::Compare predicate, ElementType elementType,
                              Value a, Value b) {
  kern::CompareOp::Properties properties;
  properties.predicate = attr<kern::CompareAttr>(predicate);
  properties.type = type(elementType);
  return pure<kern::CompareOp>(properties, {a, b}, {module.i1}, {2})
      ->getResult(0);
}

Value FunctionLifter::select(Value condition, Value a, Value b) {
  unsigned width = a.getType().getIntOrFloatBitWidth();
  kern::SelectOp::Properties properties;
  properties.type = type(width == 1    ? ElementType::Pred
                         : width == 64 ? ElementType::B64
                                       : ElementType::B32);
  return pure<kern::SelectOp>(properties, {condition, a, b}, {a.getType()},
                              {1, 1, 1})
      ->getResult(0);
}

Value FunctionLifter::convert(ElementType from, ElementType to, Value value,
                              IntegerType result) {
  if (std::optional<uint64_t> number = getConstant(value);
      number && !kern::isFloat(from) && !kern::isFloat(to) &&
      value.getType().isInteger(32) && result.getWidth() == 64)
    return constant(from == ElementType::S32
                        ? static_cast<uint64_t>(static_cast<int64_t>(
                              static_cast<int32_t>(*number)))
                        : *number,
                    result);
  kern::ConvertOp::Properties properties;
  properties.from = type(from);
  properties.to = type(to);
  return pure<kern::ConvertOp>(properties, {value}, {result}, {1})
      ->getResult(0);
}

Value FunctionLifter::negate(Value predicate) {
  if (std::optional<uint64_t> number = getConstant(predicate))
    return constant(*number ^ 1, module.i1);
  if (auto inner = predicate.getDefiningOp<kern::ArithOp>();
      inner && inner.getKind() == ArithKind::Not && !inner.getGuard())
    return inner.getInputs().front();
  return arith(ArithKind::Not, ElementType::Pred, {predicate});
}

Value FunctionLifter::sharedWindow(bool isReserved) {
  constexpr uint64_t kKey = uint64_t(1) << 61;
  OpBuilder builder(module.getContext());
  return atStart(kKey + isReserved, [&]() -> Operation * {
    return kern::AddressOfOp::create(builder, loc, module.i32,
                                     isReserved
                                         ? module.getReservedShared(routine)
                                         : module.getSharedWindow(routine),
                                     UnitAttr());
  });
}

Value FunctionLifter::addWide(Value a, Value b) {
  std::optional<uint64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return constant(*x + *y, module.i64);
  if (x && *x == 0)
    return b;
  if (y && *y == 0)
    return a;
  // An address in the parameters belongs to the parameter that is there.
  if (parameterBase && (a == parameterBase || b == parameterBase)) {
    std::optional<uint64_t> by = a == parameterBase ? y : x;
    if (by && *by < uint64_t(1) << 31)
      return parameterAddress(static_cast<int64_t>(*by));
  }
  return arith(ArithKind::Add, ElementType::U64, {a, b});
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

/// An unguarded `kern.arith` of `kind` that defines `value` as its first
/// result.
static kern::ArithOp getArith(Value value, ArithKind kind) {
  auto op = value.getDefiningOp<kern::ArithOp>();
  if (!op || op.getKind() != kind || op.getGuard() || value != op->getResult(0))
    return {};
  return op;
}

Value FunctionLifter::combine(Value low, Value high) {
  // The sums of a chain nest as deep as the expression was written.
  return combine(low, high, /*depth=*/8);
}

Value FunctionLifter::combine(Value low, Value high, unsigned depth) {
  auto [it, isNew] = combined.try_emplace({low, high}, Value());
  if (!isNew && it->second)
    return it->second;
  Value made = depth ? seeThrough(low, high, depth - 1) : Value();
  if (!made)
    made = pure<kern::PackOp>({}, {low, high}, {module.i64}, {2})->getResult(0);
  return combined[{low, high}] = made;
}

Value FunctionLifter::seeThrough(Value low, Value high, unsigned depth) {
  std::optional<uint64_t> lowNumber = getConstant(low),
                          highNumber = getConstant(high);
  if (lowNumber && highNumber)
    return constant(*highNumber << 32 | *lowNumber, module.i64);
  // Both halves of one number.
  if (auto parts = low.getDefiningOp<kern::UnpackOp>();
      parts && high.getDefiningOp() == parts && parts->getNumResults() == 2 &&
      low == parts->getResult(0) && high == parts->getResult(1))
    return parts.getInputs().front();
  if (highNumber && *highNumber == 0)
    return convert(ElementType::U32, ElementType::U64, low, module.i64);
  if (auto sign = getArith(high, ArithKind::Shr);
      sign && sign.getType() == ElementType::S32 &&
      sign.getInputs()[0] == low && getConstant(sign.getInputs()[1]) == 31u)
    return convert(ElementType::S32, ElementType::S64, low, module.i64);

  // A sum or difference with carry.
  if (auto upper = getArith(high, ArithKind::AddCarry);
      upper && upper.getInputs().size() == 3) {
    Value carry = upper.getInputs()[2];
    if (auto lower = getArith(low, ArithKind::AddCarry);
        lower && lower.getInputs().size() == 2 && carry == lower->getResult(1))
      return addWide(
          combine(lower.getInputs()[0], upper.getInputs()[0], depth),
          combine(lower.getInputs()[1], upper.getInputs()[1], depth));
    auto lower = getArith(low, ArithKind::SubCarry);
    auto noBorrow = carry.getDefiningOp<kern::ArithOp>();
    if (lower && lower.getInputs().size() == 2 && noBorrow &&
        noBorrow.getKind() == ArithKind::Not &&
        noBorrow.getInputs()[0] == lower->getResult(1)) {
      Value from = upper.getInputs()[0], by = upper.getInputs()[1];
      std::optional<uint64_t> number = getConstant(by);
      auto inverted = getArith(by, ArithKind::Not);
      if (number || inverted) {
        Value taken = number ? constant32(~*number) : inverted.getInputs()[0];
        return arith(ArithKind::Sub, ElementType::U64,
                     {combine(lower.getInputs()[0], from, depth),
                      combine(lower.getInputs()[1], taken, depth)});
      }
    }
    return {};
  }
  // Shifts across the halves.
  if (auto upper = getArith(high, ArithKind::ShfLeft)) {
    auto lower = getArith(low, ArithKind::Shl);
    if (lower && lower.getInputs()[0] == upper.getInputs()[0] &&
        lower.getInputs()[1] == upper.getInputs()[2])
      return arith(ArithKind::Shl, ElementType::B64,
                   {combine(upper.getInputs()[0], upper.getInputs()[1], depth),
                    lower.getInputs()[1]});
    return {};
  }
  if (auto lower = getArith(low, ArithKind::ShfRight)) {
    auto upper = getArith(high, ArithKind::Shr);
    if (upper && upper.getInputs()[0] == lower.getInputs()[1] &&
        upper.getInputs()[1] == lower.getInputs()[2])
      return arith(ArithKind::Shr,
                   upper.getType() == ElementType::S32 ? ElementType::S64
                                                       : ElementType::U64,
                   {combine(lower.getInputs()[0], lower.getInputs()[1], depth),
                    upper.getInputs()[1]});
    return {};
  }
  if (Value product = seeProduct(low, high, depth))
    return product;
  // Choices by the same condition.
  auto lower = low.getDefiningOp<kern::SelectOp>();
  auto upper = high.getDefiningOp<kern::SelectOp>();
  if (lower && upper && !lower.getGuard() && !upper.getGuard() &&
      lower.getCondition() == upper.getCondition())
    return select(lower.getCondition(),
                  combine(lower.getTrueValue(), upper.getTrueValue(), depth),
                  combine(lower.getFalseValue(), upper.getFalseValue(), depth));
  return {};
}

/// A product of a wide factor: the wide product of the low halves, to whose
/// upper half the products with the high halves are added.
Value FunctionLifter::seeProduct(Value low, Value high, unsigned depth) {
  auto parts = low.getDefiningOp<kern::UnpackOp>();
  if (!parts || parts->getNumResults() != 2 || low != parts->getResult(0))
    return {};
  Value whole = parts.getInputs().front();
  auto wide = getArith(whole, ArithKind::MadWide);
  if (!wide)
    wide = getArith(whole, ArithKind::MulWide);
  if (!wide || wide.getType() != ElementType::U32)
    return {};
  Value factors[2] = {wide.getInputs()[0], wide.getInputs()[1]};
  // Of each factor, its high half.
  Value upper[2];
  while (high != parts->getResult(1)) {
    auto sum = getArith(high, ArithKind::MadLo);
    if (!sum || sum.getInputs().size() != 3)
      return {};
    Value a = sum.getInputs()[0], b = sum.getInputs()[1];
    unsigned of = a == factors[0] || b == factors[0] ? 1 : 0;
    if (upper[of] || (a != factors[1 - of] && b != factors[1 - of]))
      return {};
    upper[of] = a == factors[1 - of] ? b : a;
    high = sum.getInputs()[2];
  }
  SmallVector<Value, 3> inputs;
  for (unsigned i = 0; i < 2; ++i)
    inputs.push_back(
        combine(factors[i], upper[i] ? upper[i] : constant32(0), depth));
  bool isSum = wide.getInputs().size() == 3;
  if (isSum)
    inputs.push_back(wide.getInputs()[2]);
  return arith(isSum ? ArithKind::MadLo : ArithKind::MulLo, ElementType::U64,
               inputs);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Dest FunctionLifter::to(Register reg, unsigned bits) const {
  if (reg.isPredicate())
    return {module.i1, reg};
  return {bits == 64 ? module.i64 : module.i32, reg};
}

Dest FunctionLifter::to(const Operand &operand, unsigned bits) const {
  return to(operand.reg, bits);
}

void FunctionLifter::emitArith(ArithKind kind, ElementType elementType,
                               ValueRange inputs, ArrayRef<Dest> results,
                               std::optional<kern::Rounding> rounding,
                               bool saturate, bool flush) {
  kern::ArithOp::Properties properties;
  properties.kind = attr<kern::ArithKindAttr>(kind);
  properties.type = type(elementType);
  properties.rounding = attr<kern::RoundingAttr>(rounding);
  properties.saturate = unit(saturate);
  properties.flushDenormals = unit(flush);
  emit<kern::ArithOp>(properties, {static_cast<int32_t>(inputs.size())}, inputs,
                      results);
}
