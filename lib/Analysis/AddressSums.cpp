// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AddressSums.h"

#include "ConstantFolding.h"

#include "d2k/Dialect/Kern/Kern.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

/// Operands that a sum is followed through.
static constexpr unsigned kMaxDepth = 24;

static AddressSums::Sum plus(const AddressSums::Sum &a,
                             const AddressSums::Sum &b, int64_t factor) {
  std::map<ValueId, int64_t> terms(a.terms.begin(), a.terms.end());
  for (auto [value, by] : b.terms)
    terms[value] += by * factor;
  AddressSums::Sum sum;
  sum.number = a.number + b.number * factor;
  for (auto [value, by] : terms)
    if (by != 0)
      sum.terms.push_back({value, by});
  return sum;
}

bool AddressSums::isParameter(OpId op) const {
  auto load = dyn_cast<kern::LoadOp>(index.getOp(op));
  return load && load.getSpace() == kern::Space::Param &&
         index.getGuard(op) == kNone && index.getNumResults(op) == 1;
}

bool AddressSums::isFixed(ValueId value, unsigned depth) const {
  constexpr unsigned kMaxFixedDepth = 8;
  if (constants.get(value))
    return true;
  OpId def = index.getDef(value);
  if (def == kNone || depth == kMaxFixedDepth || index.getGuard(def) != kNone)
    return false;
  Operation *op = index.getOp(def);
  if (isa<kern::SpecialOp, kern::AddressOfOp>(op) || isParameter(def))
    return true;
  return isa<kern::ArithOp, kern::ConvertOp, kern::SpaceCastOp>(op) &&
         llvm::all_of(index.getOperands(def), [&](ValueId operand) {
           return isFixed(operand, depth + 1);
         });
}

bool AddressSums::isSameInBlock(ValueId value) const {
  OpId def = index.getDef(value);
  if (def == kNone)
    return false;
  if (auto special = dyn_cast<kern::SpecialOp>(index.getOp(def)))
    return special.getReg().starts_with("ctaid") ||
           special.getReg().starts_with("nctaid") ||
           special.getReg().starts_with("ntid");
  return isa<kern::AddressOfOp>(index.getOp(def)) || isParameter(def);
}

AddressSums::Sum AddressSums::atom(ValueId value) {
  OpId def = index.getDef(value);
  if (def != kNone && index.getGuard(def) == kNone) {
    if (auto special = dyn_cast<kern::SpecialOp>(index.getOp(def)))
      value = specials.try_emplace(special.getReg().str(), value).first->second;
    else if (isParameter(def))
      value =
          parameters
              .try_emplace({index.getOperands(def)[0],
                            cast<kern::LoadOp>(index.getOp(def)).getOffset()},
                           value)
              .first->second;
  }
  Sum sum;
  sum.terms.push_back({value, 1});
  return sum;
}

AddressSums::Sum AddressSums::compute(ValueId value, unsigned depth) {
  if (std::optional<uint64_t> number = constants.get(value)) {
    Sum sum;
    unsigned width = getWidth(index.getValue(value).getType());
    sum.number = asSigned(*number, width);
    return sum;
  }
  if (auto found = sums.find(value); found != sums.end())
    return found->second;
  OpId def = index.getDef(value);
  if (def == kNone || depth == kMaxDepth || index.getGuard(def) != kNone ||
      index.getNumResults(def) != 1)
    return atom(value);
  Operation *op = index.getOp(def);
  llvm::ArrayRef<ValueId> in = index.getOperands(def);
  auto of = [&](unsigned i) { return compute(in[i], depth + 1); };
  auto product = [&](unsigned i, unsigned j) -> std::optional<Sum> {
    Sum a = of(i), b = of(j);
    if (!b.terms.empty())
      std::swap(a, b);
    if (!b.terms.empty())
      return std::nullopt;
    return plus(Sum(), a, b.number);
  };
  std::optional<Sum> sum;
  if (isa<kern::SpaceCastOp>(op)) {
    sum = of(0);
  } else if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
    if (!kern::isFloat(convert.getFrom()) && !kern::isFloat(convert.getTo()) &&
        kern::getBits(convert.getFrom()) >= 32 &&
        kern::getBits(convert.getTo()) >= kern::getBits(convert.getFrom()))
      sum = of(0);
  } else if (auto arith = dyn_cast<kern::ArithOp>(op);
             arith && !kern::isFloat(arith.getType()) &&
             kern::getBits(arith.getType()) >= 32) {
    switch (arith.getKind()) {
    case ArithKind::Add:
      sum = plus(of(0), of(1), 1);
      break;
    case ArithKind::Sub:
      sum = plus(of(0), of(1), -1);
      break;
    case ArithKind::Shl:
      if (Sum by = of(1); by.terms.empty() && by.number >= 0 && by.number < 32)
        sum = plus(Sum(), of(0), int64_t(1) << by.number);
      break;
    case ArithKind::MulLo:
    case ArithKind::MulWide:
      sum = product(0, 1);
      break;
    case ArithKind::MadLo:
    case ArithKind::MadWide:
      if (std::optional<Sum> scaled = product(0, 1))
        sum = plus(*scaled, of(2), 1);
      break;
    default:
      break;
    }
  }
  if (!sum)
    sum = atom(value);
  sums[value] = *sum;
  return *sum;
}

std::optional<std::vector<int64_t>>
AddressSums::getByThread(ValueId value, unsigned numThreads, unsigned depth) {
  constexpr unsigned kMaxThreadDepth = 8;
  if (std::optional<uint64_t> number = constants.get(value))
    return std::vector<int64_t>(
        numThreads,
        asSigned(*number, getWidth(index.getValue(value).getType())));
  OpId def = index.getDef(value);
  if (def == kNone || depth == kMaxThreadDepth || index.getGuard(def) != kNone)
    return std::nullopt;
  Operation *op = index.getOp(def);
  if (auto special = dyn_cast<kern::SpecialOp>(op)) {
    if (special.getReg() != "tid.x")
      return std::nullopt;
    std::vector<int64_t> numbers(numThreads);
    for (unsigned t = 0; t < numThreads; ++t)
      numbers[t] = t;
    return numbers;
  }
  auto arith = dyn_cast<kern::ArithOp>(op);
  if (!arith || kern::isFloat(arith.getType()) ||
      index.getNumResults(def) != 1 || index.getOperands(def).size() != 2)
    return std::nullopt;
  auto a = getByThread(index.getOperands(def)[0], numThreads, depth + 1);
  auto b = getByThread(index.getOperands(def)[1], numThreads, depth + 1);
  if (!a || !b)
    return std::nullopt;
  for (unsigned t = 0; t < numThreads; ++t) {
    int64_t &x = (*a)[t], y = (*b)[t];
    switch (arith.getKind()) {
    case ArithKind::Add:
      x += y;
      break;
    case ArithKind::Sub:
      x -= y;
      break;
    case ArithKind::MulLo:
      x *= y;
      break;
    case ArithKind::And:
      x &= y;
      break;
    case ArithKind::Or:
      x |= y;
      break;
    case ArithKind::Xor:
      x ^= y;
      break;
    case ArithKind::Shl:
      if (y < 0 || y > 31)
        return std::nullopt;
      x <<= y;
      break;
    case ArithKind::Shr:
      if (y < 0 || y > 31 || x < 0)
        return std::nullopt;
      x >>= y;
      break;
    default:
      return std::nullopt;
    }
  }
  return a;
}
