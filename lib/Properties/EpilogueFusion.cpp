// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// epilogue_fusion: what is done to the sums between the last product and the
// store.

#include "Engine/Detector.h"
#include "Engine/FusedOperations.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// The class by which the main products make the output.
static ProductClass classOf(const KernelIndex &index, OpId product) {
  auto matrix =
      llvm::dyn_cast<kern::MatrixProductOpInterface>(index.getOp(product));
  return matrix ? getProductClass(matrix.getMatrixFamily()) : ProductClass::Mac;
}

/// Products whose sum starts from loaded data: a bias or residual that comes
/// in through the accumulator.
static llvm::SmallVector<OpId, 4> findLoadedStarts(Detector &detector) {
  const KernelIndex &index = detector.getIndex();
  llvm::SmallVector<OpId, 4> found;
  for (OpId product : detector.getKernel().getApplied().getProducts()) {
    auto matrix =
        llvm::dyn_cast<kern::MatrixProductOpInterface>(index.getOp(product));
    if (!matrix || matrix.getMatrixFamily() == kern::MatrixFamily::Tcgen05)
      continue;
    bool loaded = llvm::any_of(matrix.getAccValues(), [&](mlir::Value value) {
      ValueId id = index.getId(value);
      // What comes in from outside the loop.
      if (index.getDef(id) == kNone)
        return llvm::any_of(index.getIncoming(id), [&](const auto &in) {
          return in.value != kNone &&
                 detector.getProvenance().getTerms(in.value).isPlain();
        });
      return detector.getProvenance().getTerms(id).isPlain();
    });
    if (loaded)
      found.push_back(product);
  }
  return found;
}

static void detect(Detector &detector) {
  const AppliedOperations &applied = detector.getKernel().getApplied();
  if (applied.getProducts().empty())
    return;
  if (!applied.isKnown()) {
    detector.addKernelUndecided(
        "what the kernel does behind its products cannot be told from them: " +
            (detector.getMainRegion().getReason().empty()
                 ? "they are unrolled scalar instructions"
                 : detector.getMainRegion().getReason().str()),
        "a loop of products");
    return;
  }
  // What every result has gone through, and what some may have.
  uint8_t must = 0xff, may = 0;
  llvm::SmallVector<OpId, 8> stores;
  for (const OutputStore &store : detector.getProvenance().getOutputStores()) {
    AppliedWay way = applied.getEpilogue(store.op);
    if (!way.on)
      continue;
    stores.push_back(store.op);
    must &= way.must;
    may |= way.may;
  }
  if (stores.empty())
    return;
  must &= kAppliedFusion;
  may &= kAppliedFusion;
  if (must) {
    OpId product = applied.getProducts().front();
    FusedOperations fused = describeFused(detector, /*epilogue=*/true, must);
    AttributeMap attributes;
    attributes["ops"] = fused.text;
    Judgement judgement =
        detector.judgeSoleWay(classOf(detector.getIndex(), product));
    if (judgement.isProved())
      detector.addFact(std::move(attributes), kNone, fused.where);
    else
      detector.add(judgement, fused.where.front());
    return;
  }
  if (may) {
    FusedOperations fused = describeFused(detector, /*epilogue=*/true, may);
    detector.addUndecided(
        "the results may go through " + fused.text + " at " +
            detector.describe(fused.where) +
            " between the products and the store, but not on every way that "
            "was found",
        "an epilogue that every output goes through, whose operand is loaded "
        "where no sums are kept",
        fused.where);
    return;
  }
  llvm::SmallVector<OpId, 4> starts = findLoadedStarts(detector);
  if (!starts.empty())
    detector.addNearMiss(
        "the sums of " + detector.describe(starts) +
            " start from loaded data, and nothing is done to them afterwards: "
            "an operand of the accumulator is no epilogue",
        starts);
}

namespace d2k::properties {
Property makeEpilogueFusion() {
  PropertyInfo info;
  info.id = "epilogue_fusion";
  info.group = 'E';
  info.summary =
      "between the last product and the store, every result has another loaded "
      "operand added, is scaled, or goes through a function that is not "
      "linear; a type conversion alone is not, nor data that the sums start "
      "from";
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
