// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What IterationValues knows of arithmetic: sums, products, masks, quotients.

#include "d2k/Analysis/IterationValues.h"

#include "ConstantFolding.h"
#include "IterationAtoms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;

namespace {
/// A mask with these bits set keeps every address in shared memory.
constexpr uint64_t kSharedAddress = 0x3ffff;
} // namespace

/// Bits of a result in which each bit depends on the same bit of one operand
/// only: kept, inverted, set or cleared.
namespace {
struct BitMap {
  uint64_t kept = 0, flipped = 0, set = 0;
};
} // namespace

static BitMap mapBits(uint8_t table, unsigned which,
                      llvm::ArrayRef<IterationValue> in, unsigned width) {
  BitMap map;
  for (unsigned bit = 0; bit < width; ++bit) {
    auto at = [&](bool x) {
      unsigned row = 0;
      for (unsigned i = 0; i < 3; ++i) {
        bool b = i == which      ? x
                 : i < in.size() ? (uint64_t(in[i].constant) >> bit) & 1
                                 : false;
        row |= unsigned(b) << (2 - i);
      }
      return (table >> row) & 1;
    };
    bool zero = at(false), one = at(true);
    uint64_t mark = uint64_t(1) << bit;
    if (!zero && one)
      map.kept |= mark;
    else if (zero && !one)
      map.flipped |= mark;
    else if (zero)
      map.set |= mark;
  }
  return map;
}

std::optional<IterationValue> IterationValues::computeBits(
    OpId op, Place place, llvm::ArrayRef<IterationValue> in, unsigned width) {
  auto arith = cast<kern::ArithOp>(index.getOp(op));
  std::optional<uint64_t> lut;
  if (arith.getKind() == ArithKind::Lop3 && in.size() >= 4 &&
      in[3].isConstant())
    lut = uint64_t(in[3].constant);
  std::optional<uint8_t> table = getTruthTable(arith, lut);
  if (!table)
    return std::nullopt;
  in = in.take_front(std::min<size_t>(in.size(), 3));
  // Bits that one operand has only where the other has none are added.
  bool joins =
      arith.getKind() == ArithKind::Or || arith.getKind() == ArithKind::Xor;
  if (joins && in.size() == 2 && !in[0].isConstant() && !in[1].isConstant())
    for (unsigned i = 0; i < 2; ++i) {
      const IterationValue &high = in[i];
      unsigned zeros = std::min(trailingZeros(high.sum), 62u);
      Range low = constants.getRange(index.getOperands(op)[1 - i]);
      int64_t unit = int64_t(1) << zeros;
      if (!low.full && low.low >= 0 && low.high < unit &&
          high.constant % unit == 0)
        return add(high, in[1 - i], 1, width);
    }
  // One operand that is no constant, as often as it likes.
  unsigned which = 3;
  for (unsigned i = 0; i < in.size(); ++i)
    if (!in[i].isConstant()) {
      if (which != 3)
        return std::nullopt;
      which = i;
    }
  if (which == 3)
    return std::nullopt;
  IterationValue x = in[which];
  BitMap map = mapBits(*table, which, in, width);
  uint64_t all = mask(~uint64_t(0), width);
  if (map.flipped) {
    // Bits below those of the sum, as when two buffers are swapped.
    unsigned zeros = trailingZeros(x.sum);
    uint64_t below = zeros >= 64 ? ~uint64_t(0) : (uint64_t(1) << zeros) - 1;
    if (map.set != 0 || (map.kept | map.flipped) != all)
      return std::nullopt;
    if ((map.flipped & ~below) != 0)
      return turn(x, int64_t(map.flipped));
    int64_t turned = x.constant ^ int64_t(map.flipped);
    return add(x, makeConstant(turned - x.constant), 1, width);
  }
  // Bits set where the sum has none are added.
  auto plus = [&](IterationValue sum) -> std::optional<IterationValue> {
    if (map.set == 0)
      return sum;
    unsigned zeros = trailingZeros(sum.sum);
    uint64_t below = zeros >= 64 ? ~uint64_t(0) : (uint64_t(1) << zeros) - 1;
    bool low =
        (map.set & ~below) == 0 && (map.set & uint64_t(sum.constant)) == 0;
    // The fields of a matrix descriptor above the address.
    bool high = (map.set & (kSharedAddress >> 4)) == 0;
    if (!low && !high)
      return std::nullopt;
    return add(sum, makeConstant(int64_t(map.set)), 1, width);
  };
  // An address that was shifted right, as in a matrix descriptor, has fewer
  // bits.
  uint64_t address = kSharedAddress;
  ValueId shifted = index.getOperands(op)[which];
  OpId def = index.getDef(shifted);
  while (def != kNone && isa<kern::ConvertOp>(index.getOp(def)) &&
         index.getGuard(def) == kNone) {
    shifted = index.getOperands(def)[0];
    def = index.getDef(shifted);
  }
  if (auto shift = def == kNone ? kern::ArithOp()
                                : dyn_cast<kern::ArithOp>(index.getOp(def)))
    if (shift.getKind() == ArithKind::Shr)
      if (std::optional<uint64_t> by = constants.get(index.getOperands(def)[1]);
          by && *by < 8)
        address >>= *by;
  uint64_t keep = map.kept | map.set;
  if (keep == all || (map.kept & address) == address)
    return plus(x);
  // Low bits cleared.
  unsigned cleared = llvm::countr_zero(map.kept);
  uint64_t rest = map.kept | ((uint64_t(1) << cleared) - 1);
  if (map.kept != 0 && cleared > 0 && cleared < 18 &&
      (rest == all || (rest & address) == address))
    return plus(align(dropStart(x, place), cleared, width));
  // x % 2^n: whole multiples do not matter.
  if (map.set == 0 && llvm::isMask_64(map.kept)) {
    x = dropStart(x, place);
    int64_t unit = int64_t(map.kept) + 1;
    return add(x, divide(x, unit), -unit, width);
  }
  return std::nullopt;
}

/// The divisor when `x * factor >> shift` is how compilers divide 32-bit
/// numbers by a constant.
static std::optional<int64_t> getDivisor(uint64_t factor, uint64_t shift) {
  if (factor == 0 || shift < 32 || shift > 62)
    return std::nullopt;
  uint64_t power = uint64_t(1) << shift;
  uint64_t divisor = (power + factor - 1) / factor;
  if (divisor < 2 || divisor > (1 << 16))
    return std::nullopt;
  // Granlund and Montgomery: exact when factor * divisor - 2^shift is at most
  // 2^(shift - 32).
  for (uint64_t d : {divisor, divisor + 1, divisor - 1}) {
    uint64_t error = factor * d - power;
    if (d >= 2 && factor * d >= power && error <= (power >> 31))
      return int64_t(d);
  }
  return std::nullopt;
}

IterationValue
IterationValues::computeArith(OpId op, unsigned result, Place place,
                              llvm::ArrayRef<IterationValue> in) {
  Operation *operation = index.getOp(op);
  ValueId value = index.getFirstResult(op) + result;
  unsigned width = getWidth(index.getValue(value).getType());
  bool pure =
      llvm::all_of(in, [](const IterationValue &x) { return x.isConstant(); });
  auto bitsOf = [&](unsigned i) {
    return mask(uint64_t(in[i].constant),
                getWidth(index.getValue(index.getOperands(op)[i]).getType()));
  };
  auto signedOf = [&](uint64_t bits) {
    return makeConstant(width == 1 ? int64_t(bits & 1) : asSigned(bits, width));
  };
  // Anything else: a function of its operands.
  auto function = [&] {
    llvm::SmallVector<uint64_t, 16> key{
        Function,
        reinterpret_cast<uintptr_t>(operation->getName().getAsOpaquePointer()),
        reinterpret_cast<uintptr_t>(
            operation->getAttrDictionary().getAsOpaquePointer()),
        result};
    return makeAtomOf(key, in);
  };

  if (isa<kern::SpaceCastOp, kern::MapSharedOp>(operation))
    return in[0];
  if (auto select = dyn_cast<kern::SelectOp>(operation)) {
    if (in[0].isConstant() && getWidth(select.getCondition().getType()) == 1)
      return in[in[0].constant & 1 ? 1 : 2];
    return in[1] == in[2] ? in[1] : function();
  }
  if (auto compare = dyn_cast<kern::CompareOp>(operation)) {
    if (in.size() > 3 || result > 1 || in.size() < 2 ||
        compare.getResultType() || (in.size() == 3 && !in[2].isConstant()))
      return function();
    std::optional<bool> holds;
    if (in[0].isConstant() && in[1].isConstant())
      holds = foldCompare(compare, bitsOf(0), bitsOf(1));
    else if (in[0].sum == in[1].sum && !kern::isFloat(compare.getType()))
      // The same sum on both sides: what is left are the constants.
      holds = foldCompare(
          compare,
          uint64_t(std::max<int64_t>(in[0].constant - in[1].constant, 0)),
          uint64_t(std::max<int64_t>(in[1].constant - in[0].constant, 0)));
    if (!holds)
      return function();
    bool outcome = *holds != (result == 1);
    if (in.size() == 3) {
      bool with = bool(in[2].constant & 1) != compare.getCombineNegated();
      switch (compare.getCombine().value_or(kern::BoolOp::And)) {
      case kern::BoolOp::And:
        outcome &= with;
        break;
      case kern::BoolOp::Or:
        outcome |= with;
        break;
      case kern::BoolOp::Xor:
        outcome ^= with;
        break;
      }
    }
    return makeConstant(outcome);
  }
  if (auto convert = dyn_cast<kern::ConvertOp>(operation)) {
    if (in.size() != 1 || kern::isFloat(convert.getFrom()) ||
        kern::isFloat(convert.getTo()))
      return function();
    if (pure) {
      std::optional<uint64_t> bits = foldConvert(convert, bitsOf(0), width);
      return bits ? signedOf(*bits) : function();
    }
    return add({}, in[0], 1, width);
  }
  if (isa<kern::PackOp>(operation) && in.size() == 2 && width == 64 &&
      getWidth(index.getValue(index.getOperands(op)[0]).getType()) == 32)
    return add(in[0], in[1], int64_t(1) << 32, 64);
  if (isa<kern::UnpackOp>(operation) && in.size() == 1 && width == 32 &&
      index.getNumResults(op) == 2) {
    if (result == 0)
      return add({}, in[0], 1, 32);
    return in[0].isConstant() ? signedOf(uint64_t(in[0].constant) >> 32)
                              : function();
  }

  auto arith = dyn_cast<kern::ArithOp>(operation);
  if (!arith || kern::isFloat(arith.getType()))
    return function();
  if (pure) {
    llvm::SmallVector<uint64_t, 4> bits;
    for (unsigned i = 0; i < in.size(); ++i)
      bits.push_back(bitsOf(i));
    std::optional<uint64_t> folded =
        result == 0 ? foldArith(IntegerFunction(arith), bits) : std::nullopt;
    return folded ? signedOf(*folded) : function();
  }
  if (result != 0)
    return function();
  auto product = [&]() -> std::optional<IterationValue> {
    if (in[0].isConstant())
      return add({}, in[1], in[0].constant, width);
    if (in[1].isConstant())
      return add({}, in[0], in[1].constant, width);
    return std::nullopt;
  };
  // Whether operand `i` is a number that is known for this iteration only: in
  // x - n * (x / n), whole periods of a counter.
  auto isPeriods = [&](unsigned i) {
    return in[i].isConstant() && !constants.get(index.getOperands(op)[i]);
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
    return in.size() == 2 ? add(in[0], in[1], 1, width) : function();
  case ArithKind::Sub:
    if (in.size() != 2)
      return function();
    return add(isPeriods(1) ? dropStart(in[0], place) : in[0], in[1], -1,
               width);
  case ArithKind::Shl:
    if (in[1].isConstant() && in[1].constant >= 0 && in[1].constant < width)
      return add({}, in[0], int64_t(uint64_t(1) << in[1].constant), width);
    return function();
  case ArithKind::MulLo:
  case ArithKind::MulWide:
  case ArithKind::Mul24:
    return product().value_or(function());
  case ArithKind::MadLo:
  case ArithKind::MadWide:
  case ArithKind::Mad24:
    if (std::optional<IterationValue> sum = product())
      return add(*sum,
                 sum->isConstant() && (isPeriods(0) || isPeriods(1))
                     ? dropStart(in[2], place)
                     : in[2],
                 1, width);
    return function();
  case ArithKind::Shr: {
    if (!in[1].isConstant() || in[1].constant <= 0 || in[1].constant >= 63)
      return function();
    // A product shifted right may be a division.
    ValueId shifted = index.getOperands(op)[0];
    OpId def = index.getDef(shifted);
    auto multiply = def == kNone ? kern::ArithOp()
                                 : dyn_cast<kern::ArithOp>(index.getOp(def));
    uint64_t extra = 0;
    if (multiply && multiply.getKind() == ArithKind::MulHi)
      extra = 32;
    if (multiply && (extra || multiply.getKind() == ArithKind::MulWide))
      for (unsigned i = 0; i < 2; ++i) {
        ValueId factor = index.getOperands(def)[i];
        std::optional<uint64_t> bits = constants.get(factor);
        if (!bits || getWidth(index.getValue(factor).getType()) != 32)
          continue;
        if (std::optional<int64_t> divisor =
                getDivisor(*bits, uint64_t(in[1].constant) + extra))
          return divide(dropStart(get(index.getOperands(def)[1 - i], place.loop,
                                      place.iteration),
                                  place),
                        *divisor);
      }
    return divide(dropStart(in[0], place), int64_t(1) << in[1].constant);
  }
  case ArithKind::Div:
    if (in[1].isConstant() && in[1].constant > 0)
      return divide(dropStart(in[0], place), in[1].constant);
    return function();
  case ArithKind::Rem:
    if (in[1].isConstant() && in[1].constant > 0) {
      IterationValue x = dropStart(in[0], place);
      return add(x, divide(x, in[1].constant), -in[1].constant, width);
    }
    return function();
  default:
    if (std::optional<IterationValue> bits = computeBits(op, place, in, width))
      return *bits;
    return function();
  }
}
