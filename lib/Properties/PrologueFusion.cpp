// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// prologue_fusion: what is done to operands between the load and the product.

#include "Engine/Detector.h"
#include "Engine/FusedOperations.h"

#include "d2k/Analysis/ProductSums.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static void detect(Detector &detector) {
  const AppliedOperations &applied = detector.getKernel().getApplied();
  if (applied.getProducts().empty() || !applied.isKnown())
    return;
  // The products of one tile share their operands' preparation; one whose
  // operand is prepared is enough, as the other operand is not.
  uint8_t must = 0, may = 0;
  OpId prepared = kNone;
  KernelContext &kernel = detector.getKernel();
  ProductSums sums(kernel.getIndex(), kernel.getConstants(), kernel.getLoops(),
                   kernel.getProvenance(), kernel.getFlow());
  for (OpId product : applied.getProducts()) {
    // A map at the end of a normalisation is no product of operands.
    if (!llvm::isa<kern::MatrixProductOpInterface>(
            kernel.getIndex().getOp(product)) &&
        !sums.builds(product))
      continue;
    AppliedWay way = applied.getPrologue(product);
    // Elements that are widened are dequantised, scales and offsets included.
    if (way.may & AppliedWidening)
      continue;
    if ((way.must & kAppliedFusion) && prepared == kNone) {
      must = way.must & kAppliedFusion;
      prepared = product;
    }
    may |= way.may & kAppliedFusion;
  }
  if (must) {
    FusedOperations fused = describeFused(detector, /*epilogue=*/false, must);
    AttributeMap attributes;
    attributes["ops"] = fused.text;
    Judgement judgement = detector.judgeReach(
        detector.getProvenance().getProductReach(prepared), "its product");
    if (!llvm::isa<kern::MatrixProductOpInterface>(
            detector.getIndex().getOp(prepared)))
      judgement = Judgement::proved();
    judgement = judgement.then([&] { return detector.judgeOneWay(); });
    if (judgement.isProved())
      detector.addFact(std::move(attributes), kNone, fused.where);
    else
      detector.add(judgement, fused.where.front());
    return;
  }
  if (!may)
    return;
  FusedOperations fused = describeFused(detector, /*epilogue=*/false, may);
  detector.addUndecided(
      "an operand of the products may go through " + fused.text + " at " +
          detector.describe(fused.where) +
          ", but it is not known to be what the products read",
      "memory of its own for what was prepared", fused.where);
}

namespace d2k::properties {
Property makePrologueFusion() {
  PropertyInfo info;
  info.id = "prologue_fusion";
  info.group = 'E';
  info.summary =
      "between the load and the main product, an operand has another loaded "
      "one added, is scaled, or goes through a function that is not linear; "
      "dequantisation is in_register_dequant";
  info.attributes = {
      {"ops",
       AttrType::String,
       {},
       "operand, scale, nonlinear: those there are, in order, joined by `+`"}};
  info.decidingTiers = {Tier::Ptx};
  info.detectorTiers = {Tier::Ptx};
  return {info, detect};
}
} // namespace d2k::properties
