// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConstantFolding.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;

uint64_t analysis::mask(uint64_t value, unsigned width) {
  return width >= 64 ? value : value & ((uint64_t(1) << width) - 1);
}

int64_t analysis::asSigned(uint64_t value, unsigned width) {
  return width == 0 || width >= 64 ? int64_t(value)
                                   : llvm::SignExtend64(value, width);
}

bool analysis::isSignedType(ElementType type) {
  return type == ElementType::S8 || type == ElementType::S16 ||
         type == ElementType::S32 || type == ElementType::S64;
}

/// Value of an integer or bitwise function of constants.
IntegerFunction::IntegerFunction(kern::ArithOp op) : kind(op.getKind()) {
  ElementType type = op.getType();
  if (kern::isFloat(type) || op.getSaturate())
    return;
  bits = type == ElementType::Pred ? 1 : kern::getBits(type);
  if (bits > 64)
    bits = 0;
  isSigned = isSignedType(type);
}

/// The function itself. Inlined, so that a loop over many numbers has the code
/// of one kind only.
[[gnu::always_inline]] static inline std::optional<uint64_t>
foldKind(ArithKind kind, unsigned bits, bool isSigned,
         llvm::ArrayRef<uint64_t> in) {
  if (bits == 0 || in.empty())
    return std::nullopt;
  auto wide = [&](uint64_t value) {
    return isSigned ? uint64_t(asSigned(mask(value, bits), bits))
                    : mask(value, bits);
  };
  auto a = [&] { return mask(in[0], bits); };
  auto b = [&] { return mask(in[1], bits); };
  size_t count = in.size();
  switch (kind) {
  case ArithKind::Add:
    return count >= 2 ? std::optional(mask(in[0] + in[1], bits)) : std::nullopt;
  case ArithKind::Sub:
    return count >= 2 ? std::optional(mask(in[0] - in[1], bits)) : std::nullopt;
  case ArithKind::MulLo:
    return count >= 2 ? std::optional(mask(in[0] * in[1], bits)) : std::nullopt;
  case ArithKind::MadLo:
    return count >= 3 ? std::optional(mask(in[0] * in[1] + in[2], bits))
                      : std::nullopt;
  case ArithKind::MulHi: {
    if (count < 2)
      return std::nullopt;
    __int128 product =
        isSigned ? __int128(int64_t(wide(in[0]))) * int64_t(wide(in[1]))
                 : __int128(__uint128_t(a()) * b());
    return mask(uint64_t(product >> bits), bits);
  }
  case ArithKind::MulWide:
    if (bits > 32 || count < 2)
      return std::nullopt;
    return mask(wide(in[0]) * wide(in[1]), 2 * bits);
  case ArithKind::MadWide:
    if (bits > 32 || count < 3)
      return std::nullopt;
    return mask(wide(in[0]) * wide(in[1]) + in[2], 2 * bits);
  case ArithKind::And:
    return count >= 2 ? std::optional(a() & b()) : std::nullopt;
  case ArithKind::Or:
    return count >= 2 ? std::optional(a() | b()) : std::nullopt;
  case ArithKind::Xor:
    return count >= 2 ? std::optional(a() ^ b()) : std::nullopt;
  case ArithKind::Not:
    return mask(~in[0], bits);
  case ArithKind::Neg:
    return mask(0 - in[0], bits);
  case ArithKind::Shl:
    if (count < 2)
      return std::nullopt;
    return in[1] >= bits ? 0 : mask(in[0] << in[1], bits);
  case ArithKind::Shr: {
    if (count < 2)
      return std::nullopt;
    uint64_t by = std::min<uint64_t>(in[1], bits);
    if (isSigned)
      return mask(uint64_t(asSigned(a(), bits) >> std::min<uint64_t>(by, 63)),
                  bits);
    return by >= bits ? 0 : a() >> by;
  }
  case ArithKind::Div:
  case ArithKind::Rem: {
    if (count < 2 || b() == 0)
      return std::nullopt;
    bool rem = kind == ArithKind::Rem;
    if (!isSigned)
      return rem ? a() % b() : a() / b();
    int64_t x = asSigned(a(), bits), y = asSigned(b(), bits);
    if (y == -1)
      return mask(rem ? 0 : uint64_t(0) - uint64_t(x), bits);
    return mask(uint64_t(rem ? x % y : x / y), bits);
  }
  case ArithKind::Min:
  case ArithKind::Max: {
    if (count < 2)
      return std::nullopt;
    bool less =
        isSigned ? asSigned(a(), bits) < asSigned(b(), bits) : a() < b();
    return less == (kind == ArithKind::Min) ? a() : b();
  }
  case ArithKind::Bfe: {
    if (count < 3 || isSigned || in[1] >= bits)
      return std::nullopt;
    unsigned length = std::min<uint64_t>(in[2], bits);
    return mask(a() >> in[1], length);
  }
  case ArithKind::Lop3: {
    if (count < 4)
      return std::nullopt;
    uint64_t result = 0, table = in[3];
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1)
        result |= (i & 4 ? in[0] : ~in[0]) & (i & 2 ? in[1] : ~in[1]) &
                  (i & 1 ? in[2] : ~in[2]);
    return mask(result, bits);
  }
  case ArithKind::Popc:
    return llvm::popcount(a());
  default:
    return std::nullopt;
  }
}

std::optional<uint64_t> analysis::foldArith(const IntegerFunction &function,
                                            llvm::ArrayRef<uint64_t> in) {
  return foldKind(function.kind, function.bits, function.isSigned, in);
}

/// One kind for all threads; see foldArithEach.
template <ArithKind kind>
static bool foldEach(const IntegerFunction &function,
                     llvm::ArrayRef<OperandNumbers> in, unsigned width,
                     llvm::MutableArrayRef<int64_t> out) {
  // lop3 has the most operands.
  constexpr size_t kMost = 4;
  size_t count = std::min(in.size(), kMost);
  uint64_t masks[kMost];
  for (size_t i = 0; i < count; ++i)
    masks[i] = mask(~uint64_t(0), in[i].width);
  for (size_t t = 0; t < out.size(); ++t) {
    uint64_t x[kMost];
    for (size_t i = 0; i < count; ++i)
      x[i] = uint64_t(in[i].numbers[t * in[i].step]) & masks[i];
    std::optional<uint64_t> y =
        foldKind(kind, function.bits, function.isSigned, {x, count});
    if (!y)
      return false;
    out[t] = asSigned(mask(*y, width), width);
  }
  return true;
}

bool analysis::foldArithEach(const IntegerFunction &function,
                             llvm::ArrayRef<OperandNumbers> in, unsigned width,
                             llvm::MutableArrayRef<int64_t> out) {
  switch (function.kind) {
#define D2K_EACH(Kind)                                                         \
  case ArithKind::Kind:                                                        \
    return foldEach<ArithKind::Kind>(function, in, width, out);
    D2K_EACH(Add)
    D2K_EACH(Sub)
    D2K_EACH(MulLo)
    D2K_EACH(MadLo)
    D2K_EACH(MulWide)
    D2K_EACH(MadWide)
    D2K_EACH(And)
    D2K_EACH(Or)
    D2K_EACH(Xor)
    D2K_EACH(Not)
    D2K_EACH(Neg)
    D2K_EACH(Shl)
    D2K_EACH(Shr)
    D2K_EACH(Div)
    D2K_EACH(Rem)
    D2K_EACH(Min)
    D2K_EACH(Max)
    D2K_EACH(Bfe)
    D2K_EACH(Lop3)
#undef D2K_EACH
  default:
    return false;
  }
}

IntegerComparison::IntegerComparison(kern::CompareOp op)
    : predicate(op.getPredicate()) {
  ElementType type = op.getType();
  if (kern::isFloat(type))
    return;
  bits = type == ElementType::Pred ? 1 : kern::getBits(type);
  if (bits > 64)
    bits = 0;
  isSigned = isSignedType(type);
}

std::optional<bool> analysis::foldCompare(const IntegerComparison &comparison,
                                          uint64_t x, uint64_t y) {
  auto [predicate, bits, isSigned] = comparison;
  if (bits == 0)
    return std::nullopt;
  x = mask(x, bits);
  y = mask(y, bits);
  int64_t sx = asSigned(x, bits), sy = asSigned(y, bits);
  switch (predicate) {
  case kern::Compare::Eq:
    return x == y;
  case kern::Compare::Ne:
    return x != y;
  case kern::Compare::Lt:
    return isSigned ? sx < sy : x < y;
  case kern::Compare::Le:
    return isSigned ? sx <= sy : x <= y;
  case kern::Compare::Gt:
    return isSigned ? sx > sy : x > y;
  case kern::Compare::Ge:
    return isSigned ? sx >= sy : x >= y;
  case kern::Compare::Lo:
    return x < y;
  case kern::Compare::Ls:
    return x <= y;
  case kern::Compare::Hi:
    return x > y;
  case kern::Compare::Hs:
    return x >= y;
  default:
    return std::nullopt;
  }
}

std::optional<bool> analysis::foldFloatCompare(kern::CompareOp op, uint64_t x,
                                               uint64_t y) {
  bool isDouble = op.getType() == ElementType::F64;
  if (!isDouble && op.getType() != ElementType::F32)
    return std::nullopt;
  auto read = [&](uint64_t bits) -> double {
    return isDouble ? llvm::bit_cast<double>(bits)
                    : llvm::bit_cast<float>(uint32_t(bits));
  };
  auto isSubnormal = [&](double value) {
    double least = isDouble ? std::numeric_limits<double>::min()
                            : double(std::numeric_limits<float>::min());
    return value != 0 && std::abs(value) < least;
  };
  double a = read(x), b = read(y);
  if (isSubnormal(a) || isSubnormal(b))
    return std::nullopt;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
    return a == b;
  case kern::Compare::Ne:
    return !unordered && a != b;
  case kern::Compare::Lt:
    return a < b;
  case kern::Compare::Le:
    return a <= b;
  case kern::Compare::Gt:
    return a > b;
  case kern::Compare::Ge:
    return a >= b;
  case kern::Compare::Equ:
    return unordered || a == b;
  case kern::Compare::Neu:
    return unordered || a != b;
  case kern::Compare::Ltu:
    return unordered || a < b;
  case kern::Compare::Leu:
    return unordered || a <= b;
  case kern::Compare::Gtu:
    return unordered || a > b;
  case kern::Compare::Geu:
    return unordered || a >= b;
  case kern::Compare::Num:
    return !unordered;
  case kern::Compare::Nan:
    return unordered;
  default:
    return std::nullopt;
  }
}

NumberConversion::NumberConversion(kern::ConvertOp op)
    : fromBits(kern::getBits(op.getFrom())), toBits(kern::getBits(op.getTo())),
      isFloat(kern::isFloat(op.getFrom()) || kern::isFloat(op.getTo())),
      isFromSigned(isSignedType(op.getFrom())),
      isToSigned(isSignedType(op.getTo())), saturates(op.getSaturate()) {}

std::optional<uint64_t>
analysis::foldConvert(const NumberConversion &conversion, uint64_t x,
                      unsigned width) {
  auto [from, to, isFloat, isFromSigned, isToSigned, saturates] = conversion;
  if (isFloat)
    return mask(x, from) == 0 ? std::optional<uint64_t>(0) : std::nullopt;
  if (from == 0 || to == 0 || from > 64 || to > 64 || saturates)
    return std::nullopt;
  x = mask(x, from);
  if (isFromSigned)
    x = uint64_t(asSigned(x, from));
  x = mask(x, to);
  if (isToSigned)
    x = uint64_t(asSigned(x, to));
  return mask(x, width);
}

/// The truth table of a bitwise operation as in `lop3`: bit 4a + 2b + c is the
/// result for the bits a, b and c. Nothing for other operations.
std::optional<uint8_t> analysis::getTruthTable(kern::ArithOp op,
                                               std::optional<uint64_t> table) {
  switch (op.getKind()) {
  case ArithKind::And:
    return 0xc0;
  case ArithKind::Or:
    return 0xfc;
  case ArithKind::Xor:
    return 0x3c;
  case ArithKind::Lop3:
    return table ? std::optional<uint8_t>(*table) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// Decides `x ? y` for all numbers of two ranges.
std::optional<bool> analysis::compareRanges(kern::CompareOp op, Range x,
                                            Range y) {
  ElementType type = op.getType();
  if (x.full || y.full || kern::isFloat(type))
    return std::nullopt;
  // Negative numbers are large ones when read as unsigned.
  if ((x.low < 0 || y.low < 0) && !isSignedType(type))
    return std::nullopt;
  auto decide = [](bool always, bool never) -> std::optional<bool> {
    return always  ? std::optional(true)
           : never ? std::optional(false)
                   : std::nullopt;
  };
  bool apart = x.high < y.low || y.high < x.low;
  bool same = x.low == x.high && y.low == y.high && x.low == y.low;
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
    return decide(same, apart);
  case kern::Compare::Ne:
    return decide(apart, same);
  case kern::Compare::Lt:
  case kern::Compare::Lo:
    return decide(x.high < y.low, x.low >= y.high);
  case kern::Compare::Le:
  case kern::Compare::Ls:
    return decide(x.high <= y.low, x.low > y.high);
  case kern::Compare::Gt:
  case kern::Compare::Hi:
    return decide(x.low > y.high, x.high <= y.low);
  case kern::Compare::Ge:
  case kern::Compare::Hs:
    return decide(x.low >= y.high, x.high < y.low);
  default:
    return std::nullopt;
  }
}

/// Decides `x ? x` for an integer x.
std::optional<bool> analysis::compareSame(kern::CompareOp op) {
  if (kern::isFloat(op.getType()))
    return std::nullopt;
  switch (op.getPredicate()) {
  case kern::Compare::Eq:
  case kern::Compare::Le:
  case kern::Compare::Ls:
  case kern::Compare::Ge:
  case kern::Compare::Hs:
    return true;
  case kern::Compare::Ne:
  case kern::Compare::Lt:
  case kern::Compare::Lo:
  case kern::Compare::Gt:
  case kern::Compare::Hi:
    return false;
  default:
    return std::nullopt;
  }
}
