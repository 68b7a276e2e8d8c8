// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// matrix_fragment_access: ldmatrix and stmatrix.

#include "Engine/Detector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static void detect(Detector &detector) {
  const Provenance &provenance = detector.getProvenance();
  const KernelIndex &index = detector.getIndex();
  detector.forEach<kern::MatrixLoadOp>([&](OpId id, kern::MatrixLoadOp op) {
    if (op.getOp() != "ldmatrix")
      return;
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              return detector.judgeInput(
                  detector.getMemory().getFirstAccess(id));
            })
            .then([&] {
              Reach reach = Reach::None;
              for (uint32_t i = 0; i < index.getNumResults(id); ++i)
                reach = std::max(
                    reach, provenance.getReach(index.getFirstResult(id) + i));
              return detector.judgeReach(reach, "what it loads");
            })
            .then([&] { return detector.judgeOneWay(); });
    AttributeMap attributes;
    attributes["op"] = std::string("ldmatrix");
    attributes["transposed"] = op.getTransposed();
    detector.conclude(judgement, std::move(attributes), id);
  });
  detector.forEach<kern::MatrixStoreOp>([&](OpId id, kern::MatrixStoreOp op) {
    if (op.getOp() != "stmatrix")
      return;
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] {
              bool unknown = false;
              for (mlir::Value value : op.getValues()) {
                if (!provenance.getTerms(index.getId(value)).empty())
                  return Judgement::proved();
                unknown |= provenance.isUnknown(index.getId(value));
              }
              if (unknown)
                return Judgement::undecided(
                    "stores values whose origin is not known",
                    "machine code of the kernel, in which calls are resolved");
              return Judgement::nearMiss(
                  "stores what was not made from any input of the kernel");
            })
            .then([&] {
              return detector.judgeReach(
                  provenance.getWriteReach(
                      detector.getMemory().getFirstAccess(id)),
                  "what it stores");
            })
            .then([&] { return detector.judgeOneWay(); });
    AttributeMap attributes;
    attributes["op"] = std::string("stmatrix");
    attributes["transposed"] = op.getTransposed();
    detector.conclude(judgement, std::move(attributes), id);
  });
}

namespace d2k::properties {
Property makeMatrixFragmentAccess() {
  PropertyInfo info;
  info.id = "matrix_fragment_access";
  info.group = 'A';
  info.summary =
      "a warp loads or stores matrix fragments together, and the data lies on "
      "the way from an input to the output";
  info.attributes = {
      {"op", AttrType::String, {"ldmatrix", "stmatrix"}, "instruction"},
      {"transposed",
       AttrType::Boolean,
       {},
       "each 8x8 matrix is transposed on the way"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
