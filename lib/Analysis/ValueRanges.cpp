// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges of ConstantValues: one forward pass over the values, from the
// extents of the launch and from what operations keep of a number.

#include "ConstantFolding.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;

/// Smallest 2^n - 1 that is at least `value`.
static int64_t coverBits(int64_t value) {
  return int64_t(llvm::NextPowerOf2(uint64_t(value)) - 1);
}

/// The range when every number in it is one of the register, else full.
static Range clamp(__int128 low, __int128 high, unsigned width) {
  if (width == 0 || width > 64)
    return {};
  __int128 limit = (__int128(1) << (width - 1)) - 1;
  if (low < -limit || high > limit)
    return {};
  return Range::of(int64_t(low), int64_t(high));
}

static bool isZero(Range range) {
  return !range.full && range.low == 0 && range.high == 0;
}

/// The power of two that \p id gives the remainder by, as compilers write it:
/// x - (x & -4) for a signed x that is not negative, with the correction for a
/// negative one, which adds 0; 0 when it is none.
static int64_t getRemainderOf(const KernelIndex &index,
                              const ConstantValues &constants,
                              llvm::ArrayRef<Range> ranges, OpId id) {
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  if (in.size() < 2 || !ranges[in[0]].isNonNegative())
    return 0;
  auto getArith = [&](ValueId value) -> kern::ArithOp {
    OpId def = index.getDef(value);
    return def == kNone || index.getGuard(def) != kNone
               ? kern::ArithOp()
               : dyn_cast<kern::ArithOp>(index.getOp(def));
  };
  auto mask = getArith(in[1]);
  if (!mask || mask.getKind() != ArithKind::And)
    return 0;
  llvm::ArrayRef<ValueId> of = index.getOperands(index.getDef(in[1]));
  if (of.size() != 2)
    return 0;
  std::optional<int64_t> kept = constants.getSigned(of[1]);
  if (!kept || *kept >= 0 || !llvm::isPowerOf2_64(uint64_t(-*kept)))
    return 0;
  auto isZero = [&](ValueId value) { return ::isZero(ranges[value]); };
  if (of[0] != in[0]) {
    auto sum = getArith(of[0]);
    if (!sum || sum.getKind() != ArithKind::Add)
      return 0;
    llvm::ArrayRef<ValueId> terms = index.getOperands(index.getDef(of[0]));
    if (terms.size() != 2 || !((terms[0] == in[0] && isZero(terms[1])) ||
                               (terms[1] == in[0] && isZero(terms[0]))))
      return 0;
  }
  return -*kept;
}

Range ConstantValues::rangeOf(OpId id, unsigned resultNo) const {
  Operation *op = index.getOp(id);
  unsigned width =
      getWidth(index.getValue(index.getFirstResult(id) + resultNo).getType());
  llvm::ArrayRef<ValueId> in = index.getOperands(id);
  auto r = [&](unsigned i) { return ranges[in[i]]; };

  if (auto special = dyn_cast<kern::SpecialOp>(op)) {
    llvm::StringRef reg = special.getReg();
    auto dimension = [&]() -> unsigned {
      return reg.ends_with(".y") ? 1 : reg.ends_with(".z") ? 2 : 0;
    };
    if (reg.starts_with("tid.") || reg.starts_with("ntid.")) {
      kern::FuncOp func = index.getFunc();
      auto most = func.getDirective3("kern.reqntid");
      if (!most)
        most = func.getDirective3("kern.maxntid");
      int64_t limit = dimension() == 2 ? 64 : 1024;
      // maxntid bounds the product of the extents, so one extent as well.
      if (most)
        limit = std::min(limit, (*most)[0] * (*most)[1] * (*most)[2]);
      return reg.starts_with("tid.")
                 ? Range::of(0, std::max<int64_t>(limit, 1) - 1)
                 : Range::of(1, std::max<int64_t>(limit, 1));
    }
    if (reg == "laneid")
      return Range::of(0, 31);
    if (reg == "warpid")
      return Range::of(0, 63);
    if (reg.starts_with("cluster_ctarank") || reg.starts_with("cluster_ctaid"))
      return Range::of(0, 15);
    if (reg.starts_with("ctaid."))
      return Range::of(0, dimension() == 0 ? INT32_MAX - 1 : 65534);
    return {};
  }
  if (auto load = dyn_cast<kern::LoadOp>(op)) {
    switch (load.getType()) {
    case ElementType::U8:
    case ElementType::B8:
      return width > 8 ? Range::of(0, 255) : Range();
    case ElementType::U16:
    case ElementType::B16:
      return width > 16 ? Range::of(0, 65535) : Range();
    default:
      return {};
    }
  }
  if (isa<kern::SelectOp>(op)) {
    Range x = r(1), y = r(2);
    return x.full || y.full
               ? Range()
               : Range::of(std::min(x.low, y.low), std::max(x.high, y.high));
  }
  if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
    if (in.empty() || kern::isFloat(convert.getFrom()) ||
        kern::isFloat(convert.getTo()))
      return {};
    Range x = r(0);
    unsigned to = kern::getBits(convert.getTo());
    if (x.isNonNegative() && to != 0 && to < 64 && x.high >> (to - 1) == 0)
      return x;
    if (!x.full && to == 64 && (x.low >= 0 || isSignedType(convert.getFrom())))
      return x;
    if (convert.getTo() == ElementType::U8)
      return Range::of(0, 255);
    if (convert.getTo() == ElementType::U16)
      return Range::of(0, 65535);
    return {};
  }
  if (isa<kern::ShuffleOp>(op))
    return resultNo == 0 && !in.empty() ? r(0) : Range();
  auto arith = dyn_cast<kern::ArithOp>(op);
  if (!arith || kern::isFloat(arith.getType()) || in.empty() || resultNo != 0)
    return {};
  using I = __int128;
  auto both = [&] { return in.size() >= 2 && !r(0).full && !r(1).full; };
  auto product = [&](Range x, Range y) -> std::pair<I, I> {
    I p[] = {I(x.low) * y.low, I(x.low) * y.high, I(x.high) * y.low,
             I(x.high) * y.high};
    I low = p[0], high = p[0];
    for (I v : p) {
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    return {low, high};
  };
  switch (arith.getKind()) {
  case ArithKind::Add:
    return both()
               ? clamp(I(r(0).low) + r(1).low, I(r(0).high) + r(1).high, width)
               : Range();
  case ArithKind::Sub:
    if (int64_t divisor = getRemainderOf(index, *this, ranges, id);
        divisor != 0)
      return Range::of(0, std::min(r(0).high, divisor - 1));
    return both()
               ? clamp(I(r(0).low) - r(1).high, I(r(0).high) - r(1).low, width)
               : Range();
  case ArithKind::MulLo:
  case ArithKind::MulWide: {
    if (!both())
      return {};
    auto [low, high] = product(r(0), r(1));
    return clamp(low, high, width);
  }
  case ArithKind::MadLo:
  case ArithKind::MadWide: {
    if (!both() || in.size() < 3 || r(2).full)
      return {};
    auto [low, high] = product(r(0), r(1));
    return clamp(low + r(2).low, high + r(2).high, width);
  }
  case ArithKind::And: {
    if (in.size() < 2)
      return {};
    Range x = r(0), y = r(1);
    // Of a number, the bits that a constant mask keeps.
    auto keep = [&](Range of, Range mask) {
      bool isConstant = !mask.full && mask.low == mask.high;
      return isConstant ? std::min(of.high, coverBits(of.high) & mask.low)
                        : of.high;
    };
    if (x.isNonNegative() && y.isNonNegative())
      return Range::of(0, std::min(keep(x, y), keep(y, x)));
    if (x.isNonNegative())
      return Range::of(0, keep(x, y));
    return y.isNonNegative() ? Range::of(0, keep(y, x)) : Range();
  }
  case ArithKind::Or:
  case ArithKind::Xor:
    if (!both() || r(0).low < 0 || r(1).low < 0)
      return {};
    return Range::of(0, coverBits(std::max(r(0).high, r(1).high)));
  case ArithKind::Shl:
    if (!both() || r(0).low < 0 || r(1).low < 0 || r(1).high > 62)
      return {};
    return clamp(I(r(0).low) << r(1).low, I(r(0).high) << r(1).high, width);
  case ArithKind::Shr:
    if (!both() || r(0).low < 0 || r(1).low < 0)
      return {};
    return Range::of(r(0).low >> std::min<int64_t>(r(1).high, 63),
                     r(0).high >> std::min<int64_t>(r(1).low, 63));
  case ArithKind::ShfLeft:
    // The sign of a number that is not negative.
    return both() && ::isZero(r(0)) && ::isZero(r(1)) ? r(0) : Range();
  case ArithKind::Rem:
    if (in.size() < 2 || r(1).full || r(1).low <= 0)
      return {};
    if (r(0).isNonNegative())
      return Range::of(0, std::min(r(0).high, r(1).high - 1));
    // Unsigned reading of a register that may be negative is still below the
    // divisor; signed reading can be negative.
    return isSignedType(arith.getType())
               ? Range::of(-(r(1).high - 1), r(1).high - 1)
               : Range::of(0, r(1).high - 1);
  case ArithKind::Div:
    if (!both() || r(0).low < 0 || r(1).low <= 0)
      return {};
    return Range::of(r(0).low / r(1).high, r(0).high / r(1).low);
  case ArithKind::Min:
  case ArithKind::Max: {
    if (!both() || (r(0).low < 0 && !isSignedType(arith.getType())) ||
        (r(1).low < 0 && !isSignedType(arith.getType())))
      return {};
    bool isMin = arith.getKind() == ArithKind::Min;
    auto pick = [&](int64_t x, int64_t y) {
      return isMin ? std::min(x, y) : std::max(x, y);
    };
    return Range::of(pick(r(0).low, r(1).low), pick(r(0).high, r(1).high));
  }
  case ArithKind::Bfe: {
    std::optional<uint64_t> length = in.size() >= 3 ? get(in[2]) : std::nullopt;
    if (length && *length < 31 && !isSignedType(arith.getType()))
      return Range::of(0, (int64_t(1) << *length) - 1);
    return {};
  }
  default:
    return {};
  }
}

void ConstantValues::computeRanges() {
  ranges.assign(index.getNumValues(), {});
  // Layout order: a value whose definition comes later in the text, and every
  // block argument, keeps the full range unless it is constant.
  for (ValueId v = 0; v < index.getNumValues(); ++v)
    if (std::optional<int64_t> value = getSigned(v))
      ranges[v] = Range::of(*value, *value);
  if (known)
    for (const auto &[value, range] : known->ranges)
      ranges[value] = range;
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    uint32_t count = index.getNumResults(op);
    for (uint32_t i = 0; i < count; ++i) {
      ValueId v = index.getFirstResult(op) + i;
      // A guarded result may be the old value.
      if (ranges[v].full && index.getGuard(op) == kNone && count <= 2)
        ranges[v] = rangeOf(op, i);
    }
  }
}
