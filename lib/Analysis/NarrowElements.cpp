// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NarrowElements.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using kern::ElementType;

/// Values that an operand is followed through.
static constexpr size_t kMaxSteps = 64;

static bool isWholeFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64;
}

/// Whether single or double precision computes with `value` as it is.
static bool isUsedAsFloat(const KernelIndex &index, ValueId value) {
  return llvm::any_of(index.getUsers(value), [&](OpId user) {
    Operation *op = index.getOp(user);
    if (auto arith = dyn_cast<kern::ArithOp>(op))
      return isWholeFloat(arith.getType());
    if (auto math = dyn_cast<kern::MathOp>(op))
      return isWholeFloat(math.getType());
    if (auto convert = dyn_cast<kern::ConvertOp>(op))
      return isWholeFloat(convert.getFrom());
    return false;
  });
}

/// Whether `value` may hold bits that were loaded and are no number in floating
/// point.
static bool mayBePacked(const KernelIndex &index,
                        const ConstantValues &constants, ValueId value) {
  llvm::SmallVector<ValueId, 16> work{value}, seen{value};
  auto push = [&](ValueId next) {
    if (next != kNone && !llvm::is_contained(seen, next)) {
      seen.push_back(next);
      work.push_back(next);
    }
  };
  while (!work.empty()) {
    if (seen.size() > kMaxSteps)
      return true;
    ValueId at = work.pop_back_val();
    if (constants.get(at) || isUsedAsFloat(index, at))
      continue;
    OpId def = index.getDef(at);
    if (def == kNone) {
      llvm::ArrayRef<KernelIndex::Incoming> from = index.getIncoming(at);
      if (from.empty())
        return true;
      for (const KernelIndex::Incoming &in : from)
        push(in.value);
      continue;
    }
    Operation *op = index.getOp(def);
    if (auto arith = dyn_cast<kern::ArithOp>(op)) {
      if (kern::isFloat(arith.getType()))
        continue;
    } else if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
      if (kern::isFloat(convert.getFrom()) &&
          kern::getBits(convert.getFrom()) >= 16)
        continue;
    } else if (isa<kern::MathOp, kern::CompareOp, kern::SpecialOp>(op)) {
      continue;
    } else if (!isa<kern::SelectOp, kern::PackOp, kern::UnpackOp>(op)) {
      return true;
    }
    for (ValueId operand : index.getOperands(def))
      push(operand);
  }
  return false;
}

/// Whether a mask leaves runs of at most 8 bits.
static bool isNarrowMask(uint64_t mask) {
  unsigned run = 0;
  for (; mask; mask >>= 1) {
    run = mask & 1 ? run + 1 : 0;
    if (run > 8)
      return false;
  }
  return true;
}

/// Whether an integer operation of this kind takes out other parts of a
/// register than its halves.
static bool splits(const KernelIndex &index, const ConstantValues &constants,
                   kern::ArithOp arith, OpId op) {
  llvm::ArrayRef<ValueId> in = index.getOperands(op);
  std::optional<uint64_t> by =
      in.size() > 1 ? constants.get(in[1]) : std::nullopt;
  switch (arith.getKind()) {
  case ArithKind::And:
    return !by || isNarrowMask(*by);
  case ArithKind::Shl:
  case ArithKind::Shr:
    return by != uint64_t(16);
  case ArithKind::Prmt: {
    std::optional<uint64_t> selector =
        in.size() > 2 ? constants.get(in[2]) : std::nullopt;
    if (!selector)
      return true;
    // Whole halves: pairs of neighbouring bytes, the lower one even.
    for (unsigned half : {0u, 8u}) {
      unsigned low = *selector >> half & 15, high = *selector >> half >> 4 & 15;
      if (low % 2 != 0 || high != low + 1)
        return true;
    }
    return false;
  }
  case ArithKind::Lop3:
  case ArithKind::Or:
  case ArithKind::Xor:
  case ArithKind::Bfe:
  case ArithKind::Bfi:
    return true;
  default:
    return false;
  }
}

bool analysis::takesNarrowElements(const KernelIndex &index,
                                   const ConstantValues &constants, OpId id) {
  Operation *op = index.getOp(id);
  if (auto convert = dyn_cast<kern::ConvertOp>(op)) {
    unsigned bits = kern::getBits(convert.getFrom());
    llvm::StringRef name = kern::stringifyElementType(convert.getFrom());
    return bits <= 8 || name.starts_with("e") || name.starts_with("ue");
  }
  auto arith = dyn_cast<kern::ArithOp>(op);
  return arith && !kern::isFloat(arith.getType()) &&
         splits(index, constants, arith, id) &&
         llvm::any_of(index.getOperands(id), [&](ValueId operand) {
           return mayBePacked(index, constants, operand);
         });
}
