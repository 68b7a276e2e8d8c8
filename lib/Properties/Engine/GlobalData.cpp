// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/GlobalData.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

static std::optional<Judgement> judgeLoad(Detector &detector, uint32_t access) {
  const KernelIndex &index = detector.getIndex();
  OpId op = detector.getMemory().getAccesses()[access].op;
  Reach reach = Reach::None;
  for (uint32_t i = 0; i < index.getNumResults(op); ++i)
    reach = std::max(
        reach, detector.getProvenance().getReach(index.getFirstResult(op) + i));
  // Tables of indices and pointers steer; they are no data.
  if (reach == Reach::Control)
    return std::nullopt;
  return detector.judgeInput(access)
      .then([&] { return detector.judgeReach(reach, "what it loads"); })
      .then([&] { return detector.judgeOneWay(); });
}

static std::optional<Judgement> judgeStore(Detector &detector,
                                           kern::StoreOp store) {
  const KernelIndex &index = detector.getIndex();
  const Provenance &provenance = detector.getProvenance();
  Terms terms;
  bool unknown = false;
  for (mlir::Value value : store.getValues()) {
    terms = terms | provenance.getTerms(index.getId(value));
    unknown |= provenance.isUnknown(index.getId(value));
  }
  // Flags, counters and fills are no data.
  if (terms.empty() && !unknown)
    return std::nullopt;
  if (terms.empty())
    return Judgement::undecided(
        "stores values whose origin is not known",
        "machine code of the kernel, in which calls are resolved");
  return detector.judgeOneWay();
}

std::optional<Judgement> properties::judgeGlobalData(Detector &detector,
                                                     uint32_t access) {
  const AccessInfo &info = detector.getMemory().getAccesses()[access];
  if (!info.isGlobal() || !info.access.bytes)
    return std::nullopt;
  mlir::Operation *op = detector.getIndex().getOp(info.op);
  if (llvm::isa<kern::LoadOp>(op))
    return judgeLoad(detector, access);
  if (auto store = llvm::dyn_cast<kern::StoreOp>(op))
    return judgeStore(detector, store);
  if (!llvm::isa<kern::AsyncCopyOp>(op) || !info.access.read)
    return std::nullopt;
  return detector.judgeInput(access)
      .then([&] {
        return detector.judgeReach(
            detector.getProvenance().getWriteReach(access + 1),
            "what it copies");
      })
      .then([&] { return detector.judgeOneWay(); });
}
