// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// packed_math: arithmetic on two numbers in one register.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static bool isPacked(kern::ElementType type) {
  return type == kern::ElementType::F16X2 ||
         type == kern::ElementType::BF16X2 || type == kern::ElementType::F32X2;
}

/// Sums, products and extrema count; bit operations and sign changes do not.
static bool isArithmetic(kern::ArithKind kind) {
  switch (kind) {
  case kern::ArithKind::Add:
  case kern::ArithKind::Sub:
  case kern::ArithKind::Mul:
  case kern::ArithKind::MulLo:
  case kern::ArithKind::Fma:
  case kern::ArithKind::Min:
  case kern::ArithKind::Max:
    return true;
  default:
    return false;
  }
}

/// Bits that are zero in both halves but for the signs.
static constexpr uint64_t kSigns16 = 0x80008000, kSigns32 = 0x8000000080000000;

/// Whether \p value is plus or minus zero, twice.
static bool isZeroPair(Detector &detector, mlir::Value value,
                       kern::ElementType type) {
  std::optional<uint64_t> number =
      detector.getConstants().get(detector.getIndex().getId(value));
  uint64_t signs = type == kern::ElementType::F32X2 ? kSigns32 : kSigns16;
  return number && (*number & ~signs) == 0;
}

/// Whether both halves of \p value are certain to be equal: one number twice.
/// Machine code has no other form for scalar halves (`HADD2 R, R.H0_H0,
/// R.H0_H0`).
static bool isOneNumber(Detector &detector, mlir::Value value,
                        kern::ElementType type, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 16;
  if (std::optional<uint64_t> number =
          detector.getConstants().get(detector.getIndex().getId(value)))
    return type == kern::ElementType::F32X2
               ? (*number >> 32) == (*number & 0xffffffff)
               : (*number >> 16 & 0xffff) == (*number & 0xffff);
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (auto pack = llvm::dyn_cast<kern::PackOp>(op))
    return llvm::all_equal(pack.getInputs());
  auto arith = llvm::dyn_cast<kern::ArithOp>(op);
  if (!arith || arith.getGuard())
    return false;
  if (arith.getKind() == kern::ArithKind::Prmt) {
    std::optional<uint64_t> selector = detector.getConstants().get(
        detector.getIndex().getId(arith.getInputs()[2]));
    if (type == kern::ElementType::F32X2 || !selector)
      return false;
    // Of one register twice, bytes 4 to 7 are 0 to 3.
    uint64_t bytes = *selector;
    if (arith.getInputs()[0] == arith.getInputs()[1])
      bytes &= 0x3333;
    return (bytes >> 8 & 0xff) == (bytes & 0xff);
  }
  return isPacked(arith.getType()) &&
         llvm::all_of(arith.getInputs(), [&](mlir::Value input) {
           return isOneNumber(detector, input, type, depth + 1);
         });
}

/// Whether \p op works on two numbers: not on one that stands in both halves,
/// and not by adding zero, as machine code moves, negates and takes absolute
/// values.
static bool worksOnPairs(Detector &detector, kern::ArithOp op) {
  auto isConstant = [&](mlir::Value input) {
    return detector.getConstants()
        .get(detector.getIndex().getId(input))
        .has_value();
  };
  // What never depends on an input is told apart by its provenance.
  if (llvm::all_of(op.getInputs(), isConstant))
    return true;
  bool adds = op.getKind() == kern::ArithKind::Add ||
              op.getKind() == kern::ArithKind::Sub;
  if (adds && llvm::any_of(op.getInputs(), [&](mlir::Value input) {
        return isZeroPair(detector, input, op.getType());
      }))
    return false;
  return llvm::any_of(op.getInputs(), [&](mlir::Value input) {
    return !isOneNumber(detector, input, op.getType());
  });
}

static void detect(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  auto judge = [&](OpId id, kern::ElementType type) {
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              // What the result carries: a product with zero carries nothing of
              // its operands.
              ValueId result = index.getFirstResult(id);
              if (!provenance.getTerms(result).empty())
                return Judgement::proved();
              bool unknown = provenance.isUnknown(result);
              if (unknown)
                return Judgement::undecided(
                    "computes on values whose origin is not known",
                    "machine code of the kernel, in which calls are resolved");
              return Judgement::nearMiss(
                  "makes what does not depend on any input");
            })
            .then([&] {
              return detector.judgeReach(
                  provenance.getReach(index.getFirstResult(id)), "its result");
            })
            .then([&] { return detector.judgeOneWay(); });
    AttributeMap attributes;
    attributes["type"] = getTypeName(type);
    detector.conclude(judgement, std::move(attributes), id);
  };
  detector.forEach<kern::ArithOp>([&](OpId id, kern::ArithOp op) {
    if (isPacked(op.getType()) && isArithmetic(op.getKind()) &&
        worksOnPairs(detector, op))
      judge(id, op.getType());
  });
}

namespace d2k::properties {
Property makePackedMath() {
  PropertyInfo info;
  info.id = "packed_math";
  info.group = 'B';
  info.summary =
      "instructions that add, multiply or compare two numbers in one "
      "register lie on the way from an input to the output";
  info.attributes = {{"type",
                      AttrType::String,
                      {"f16x2", "bf16x2", "f32x2"},
                      "type of the pair"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
