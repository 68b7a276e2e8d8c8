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
    if (isPacked(op.getType()) && isArithmetic(op.getKind()))
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
