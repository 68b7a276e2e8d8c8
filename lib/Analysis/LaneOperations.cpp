// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LaneForms reads of comparisons and of integer arithmetic.

#include "d2k/Analysis/LaneForms.h"

#include "ConstantFolding.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

LaneForm LaneForms::computeCompare(kern::CompareOp compare, OpId op,
                                   ValueId value) {
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  size_t count = compare.getInputs().size();
  if (compare.getResultType() || count < 2 || count > 3 ||
      (count == 3) != compare.getCombine().has_value() ||
      kern::isFloat(compare.getType()))
    return atom(value);
  bool second = value != index.getFirstResult(op);
  LaneForm a = get(in[0]), b = get(in[1]);
  LaneForm c = count == 3 ? get(in[2]) : ofNumber(1);
  IntegerComparison comparison(compare);
  std::optional<kern::BoolOp> combine = compare.getCombine();
  bool negated = compare.getCombineNegated();
  auto decide = [&](llvm::ArrayRef<int64_t> x) -> std::optional<int64_t> {
    std::optional<bool> outcome =
        foldCompare(comparison, uint64_t(x[0]), uint64_t(x[1]));
    if (!outcome)
      return std::nullopt;
    bool result = *outcome != second;
    if (!combine)
      return result;
    bool other = (x[2] & 1) != negated;
    switch (*combine) {
    case kern::BoolOp::And:
      return result && other;
    case kern::BoolOp::Or:
      return result || other;
    case kern::BoolOp::Xor:
      return result != other;
    }
    return std::nullopt;
  };
  if (a.isNumber() && b.isNumber() && c.isNumber()) {
    std::vector<int64_t> numbers;
    bool same = a.rest.isSame() && b.rest.isSame() && c.rest.isSame();
    numbers.reserve(same ? 1 : numThreads);
    for (unsigned t = 0; t < (same ? 1 : numThreads); ++t) {
      std::optional<int64_t> outcome =
          decide({a.rest[t], b.rest[t], c.rest[t]});
      if (!outcome)
        return atom(value);
      numbers.push_back(*outcome);
    }
    LaneForm form;
    form.rest = ThreadNumbers(std::move(numbers));
    return form;
  }
  const LaneForm *of[] = {&a, &b, &c};
  if (std::optional<LaneForm> table = tabulate(of, decide))
    return *table;
  if (count == 2 && a.known && b.known) {
    // Sums of symbols are compared by their distance.
    std::optional<bool> decided =
        compareRanges(compare, getRange(add(a, b, -1)), Range::of(0, 0));
    if (decided)
      return ofNumber(*decided != second);
  }
  return atom(value);
}

/// What `foldArith` leaves out: high halves, funnel shifts, fields.
static std::optional<uint64_t>
foldMore(kern::ArithOp arith, llvm::ArrayRef<uint64_t> in, unsigned width) {
  unsigned bits = kern::getBits(arith.getType());
  bool isSigned = isSignedType(arith.getType());
  auto wide = [&](uint64_t v) -> __int128 {
    return isSigned ? __int128(asSigned(mask(v, bits), bits))
                    : __int128(mask(v, bits));
  };
  switch (arith.getKind()) {
  case ArithKind::MulHi:
    if (in.size() < 2 || bits > 64)
      return std::nullopt;
    return mask(uint64_t(wide(in[0]) * wide(in[1]) >> bits), bits);
  case ArithKind::MadHi:
    if (in.size() < 3 || bits > 64)
      return std::nullopt;
    return mask(uint64_t(wide(in[0]) * wide(in[1]) >> bits) + in[2], bits);
  case ArithKind::ShfLeft:
  case ArithKind::ShfRight: {
    if (in.size() < 3)
      return std::nullopt;
    uint64_t both = mask(in[0], 32) | in[1] << 32;
    unsigned by = in[2] & 31;
    return arith.getKind() == ArithKind::ShfLeft ? mask(both << by >> 32, 32)
                                                 : mask(both >> by, 32);
  }
  case ArithKind::Bfe: {
    if (in.size() < 3)
      return std::nullopt;
    unsigned position = in[1] & 0xff, length = in[2] & 0xff;
    if (length == 0 || position >= bits)
      return std::nullopt;
    length = std::min(length, bits - position);
    uint64_t field = mask(mask(in[0], bits) >> position, length);
    return isSigned ? mask(uint64_t(asSigned(field, length)), width) : field;
  }
  case ArithKind::Bfi: {
    if (in.size() < 4)
      return std::nullopt;
    unsigned position = in[2] & 0xff, length = in[3] & 0xff;
    if (position >= bits)
      return mask(in[1], bits);
    uint64_t field = mask(~uint64_t(0), std::min(length, bits - position))
                     << position;
    return mask((in[1] & ~field) | (in[0] << position & field), bits);
  }
  case ArithKind::Prmt: {
    if (in.size() < 3)
      return std::nullopt;
    uint64_t both = mask(in[0], 32) | in[1] << 32, result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned select = in[2] >> (4 * i) & 15;
      uint64_t byte = both >> (8 * (select & 7)) & 0xff;
      if (select & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
  case ArithKind::Szext: {
    if (in.size() < 2 || in[1] == 0 || in[1] > 32)
      return std::nullopt;
    uint64_t low = mask(in[0], in[1]);
    return isSigned ? mask(uint64_t(asSigned(low, in[1])), 32) : low;
  }
  case ArithKind::Abs:
    return mask(uint64_t(std::abs(asSigned(in[0], bits))), bits);
  case ArithKind::Brev: {
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; ++i)
      result |= (in[0] >> i & 1) << (bits - 1 - i);
    return result;
  }
  default:
    return std::nullopt;
  }
}

LaneForm LaneForms::computeArith(kern::ArithOp arith, OpId op, ValueId value) {
  llvm::ArrayRef<ValueId> operands = index.getOperands(op);
  size_t count = arith.getInputs().size();
  uint32_t result = value - index.getFirstResult(op);
  unsigned width = getWidth(index.getValue(value).getType());
  if (kern::isFloat(arith.getType()) || result != 0 || count == 0)
    return atom(value);
  ArithKind kind = arith.getKind();
  // A carry says nothing about the low half of an address.
  if (kind == ArithKind::AddCarry || kind == ArithKind::SubCarry)
    count = std::min<size_t>(count, 2);
  llvm::SmallVector<LaneForm, 4> in;
  bool numbers = true, known = true, same = true;
  for (size_t i = 0; i < count; ++i) {
    in.push_back(get(operands[i]));
    known &= in.back().known;
    numbers &= in.back().isNumber();
    same &= in.back().rest.isSame();
  }
  bool isSigned = isSignedType(arith.getType());
  unsigned bits = kern::getBits(arith.getType());
  IntegerFunction integers(arith);
  llvm::SmallVector<unsigned, 4> widths;
  for (size_t i = 0; i < count; ++i)
    widths.push_back(getWidth(index.getValue(operands[i]).getType()));
  auto foldBits = [&](llvm::ArrayRef<uint64_t> x) -> std::optional<int64_t> {
    std::optional<uint64_t> y;
    if (kind == ArithKind::AddCarry)
      y = mask(x[0] + x[1], bits);
    else if (kind == ArithKind::SubCarry)
      y = mask(x[0] - x[1], bits);
    else if (!(y = foldArith(integers, x)))
      y = foldMore(arith, x, width);
    return y ? std::optional(asSigned(mask(*y, width), width)) : std::nullopt;
  };
  auto fold = [&](llvm::ArrayRef<int64_t> v) {
    llvm::SmallVector<uint64_t, 4> x;
    for (size_t i = 0; i < v.size(); ++i)
      x.push_back(mask(uint64_t(v[i]), widths[i]));
    return foldBits(x);
  };
  auto foldPredicate =
      [&](llvm::ArrayRef<int64_t> v) -> std::optional<int64_t> {
    bool a = v[0] & 1, b = v.size() > 1 && (v[1] & 1);
    switch (kind) {
    case ArithKind::Not:
      return !a;
    case ArithKind::And:
      return a && b;
    case ArithKind::Or:
      return a || b;
    case ArithKind::Xor:
      return a != b;
    default:
      return std::nullopt;
    }
  };
  llvm::SmallVector<const LaneForm *, 4> operandsOf;
  for (const LaneForm &f : in)
    operandsOf.push_back(&f);

  if (numbers && arith.getType() != kern::ElementType::Pred) {
    unsigned threads = same ? 1 : numThreads;
    std::vector<int64_t> out(threads);
    llvm::SmallVector<OperandNumbers, 4> rests;
    for (size_t i = 0; i < count; ++i)
      rests.push_back(
          {in[i].rest.data(), in[i].rest.isSame() ? 0u : 1u, widths[i]});
    IntegerFunction each = integers;
    if (kind == ArithKind::AddCarry || kind == ArithKind::SubCarry) {
      each.kind = kind == ArithKind::AddCarry ? ArithKind::Add : ArithKind::Sub;
      each.bits = bits;
    }
    bool whole = foldArithEach(each, rests, width, out);
    if (!whole) {
      llvm::SmallVector<uint64_t, 4> x(count);
      unsigned t = 0;
      for (; t < threads; ++t) {
        for (size_t i = 0; i < count; ++i)
          x[i] = mask(uint64_t(in[i].rest[t]), widths[i]);
        std::optional<int64_t> y = foldBits(x);
        if (!y)
          break;
        out[t] = *y;
      }
      whole = t == threads;
    }
    *work += threads;
    if (whole) {
      LaneForm form;
      for (const LaneForm &f : in)
        form.inside |= f.inside;
      form.rest = ThreadNumbers(std::move(out));
      return form;
    }
  }
  auto constant = [&](size_t i) -> std::optional<int64_t> {
    if (i < count && in[i].isConstant())
      return in[i].rest.getSame();
    return std::nullopt;
  };
  if (arith.getType() == kern::ElementType::Pred) {
    if (!numbers) {
      std::optional<LaneForm> table = tabulate(operandsOf, foldPredicate);
      return table ? *table : atom(value);
    }
    std::vector<int64_t> out;
    llvm::SmallVector<int64_t, 4> x(count);
    for (unsigned t = 0; t < (same ? 1 : numThreads); ++t) {
      for (size_t i = 0; i < count; ++i)
        x[i] = in[i].rest[t];
      std::optional<int64_t> y = foldPredicate(x);
      if (!y)
        return atom(value);
      out.push_back(*y);
    }
    LaneForm form;
    form.rest = ThreadNumbers(std::move(out));
    return form;
  }
  switch (kind) {
  case ArithKind::Add:
  case ArithKind::AddCarry:
  case ArithKind::Sub:
  case ArithKind::SubCarry:
  case ArithKind::Neg:
  case ArithKind::Not:
  case ArithKind::Shl:
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
  case ArithKind::MadCarryLo:
    break;
  default:
    if (std::optional<LaneForm> table = tabulate(operandsOf, fold))
      return *table;
  }
  // The smaller of a row and the last row: the row.
  if ((kind == ArithKind::Min || kind == ArithKind::Max) && count == 2)
    return choose(nullptr, in[0], in[1], value, op);
  if (!known) {
    // Lanes may agree even where the value cannot be followed.
    LaneForm form = atom(value);
    if (form.known)
      return form;
    for (const LaneForm &f : in)
      if (!f.known)
        return f;
  }
  switch (kind) {
  case ArithKind::Add:
  case ArithKind::AddCarry:
    return count >= 2 ? add(in[0], in[1]) : atom(value);
  case ArithKind::Sub:
  case ArithKind::SubCarry:
    return count >= 2 ? add(in[0], in[1], -1) : atom(value);
  case ArithKind::Neg:
    return multiply(in[0], -1);
  case ArithKind::Not:
    return add(ofNumber(-1), in[0], -1);
  case ArithKind::Shl:
    if (std::optional<int64_t> by = constant(1); by && *by >= 0 && *by < 40)
      return multiply(in[0], int64_t(1) << *by);
    break;
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    if (count >= 2) {
      // Division by a constant multiplies with a large unsigned number.
      for (LaneForm &f : in)
        if (!isSigned && f.isConstant() && bits < 64 && f.rest.getSame() < 0)
          f.rest = int64_t(mask(uint64_t(f.rest.getSame()), bits));
      return product(in[0], in[1], op);
    }
    break;
  case ArithKind::MulHi:
    if (count >= 2) {
      for (LaneForm &f : in)
        if (!isSigned && f.isConstant() && bits < 64 && f.rest.getSame() < 0)
          f.rest = int64_t(mask(uint64_t(f.rest.getSame()), bits));
      return shiftRight(product(in[0], in[1], op), bits, isSigned, 2 * bits,
                        op);
    }
    break;
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
  case ArithKind::MadCarryLo:
    if (count >= 3)
      return add(product(in[0], in[1], op), in[2]);
    break;
  case ArithKind::Shr:
    if (std::optional<int64_t> by = constant(1); by && *by >= 0)
      return shiftRight(in[0], unsigned(std::min<int64_t>(*by, bits)), isSigned,
                        bits, op);
    break;
  case ArithKind::ShfRight:
    if (std::optional<int64_t> by = constant(2); by)
      return shiftRight(in[0], unsigned(*by) & 31, false, 64, op);
    break;
  case ArithKind::ShfLeft:
    // The high word of a value shifted left: its sign word when by is small.
    if (std::optional<int64_t> by = constant(2);
        by && in[1].isConstant() && in[1].rest.isZero())
      return shiftRight(in[0], 32 - (unsigned(*by) & 31), false, 32, op);
    break;
  case ArithKind::And:
  case ArithKind::Or:
  case ArithKind::Xor:
  case ArithKind::Lop3: {
    std::optional<uint64_t> table;
    if (kind == ArithKind::Lop3) {
      std::optional<int64_t> t = constant(3);
      if (!t)
        break;
      table = uint64_t(*t);
    }
    std::optional<uint8_t> truth = getTruthTable(arith, table);
    if (!truth)
      break;
    llvm::SmallVector<const LaneForm *, 3> of;
    for (size_t i = 0; i < std::min<size_t>(count, 3); ++i)
      of.push_back(&in[i]);
    return bitwise(of, *truth, width, op);
  }
  case ArithKind::Bfe: {
    std::optional<int64_t> position = constant(1), length = constant(2);
    if (!position || !length || isSigned || *length >= 63)
      break;
    LaneForm shifted = shiftRight(in[0], unsigned(*position), false, bits, op);
    if (*position + *length >= int64_t(bits))
      return shifted;
    LaneForm field = ofNumber((int64_t(1) << *length) - 1);
    const LaneForm *of[] = {&shifted, &field};
    return bitwise(of, 0xc0, width, op);
  }
  case ArithKind::Bfi: {
    std::optional<int64_t> position = constant(2), length = constant(3);
    if (!position || !length || *length >= 63 || *position >= 40)
      break;
    LaneForm field = ofNumber((int64_t(1) << *length) - 1);
    const LaneForm *low[] = {&in[0], &field};
    LaneForm insert =
        multiply(bitwise(low, 0xc0, width, op), int64_t(1) << *position);
    LaneForm hole = ofNumber(~(field.rest.getSame() << *position));
    const LaneForm *rest[] = {&in[1], &hole};
    LaneForm around = bitwise(rest, 0xc0, width, op);
    return add(around, insert);
  }
  case ArithKind::Div:
  case ArithKind::Rem:
    if (std::optional<int64_t> by = constant(1);
        by && *by > 0 && (!isSigned || getRange(in[0]).isNonNegative()))
      return divide(in[0], *by, kind == ArithKind::Rem, op);
    break;
  default:
    break;
  }
  LaneForm form =
      known ? function(0x1000 + int64_t(kind) * 64 + int64_t(arith.getType()),
                       operandsOf, op, constants.getRange(value))
            : unknown(op);
  return form.known ? form : atom(value);
}
