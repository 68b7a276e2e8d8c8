// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bulk_store_epilogue: threads put results into shared memory, and the TMA unit
// takes them from there to global memory.

#include "Engine/Detector.h"
#include "Engine/MovedBytes.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Stores by threads, with data made from inputs, to what `access` reads.
static llvm::SmallVector<OpId, 4> findResults(Detector &detector,
                                              uint32_t access) {
  const MemoryRoots &memory = detector.getMemory();
  const KernelIndex &index = detector.getIndex();
  llvm::SmallVector<OpId, 4> stores;
  for (ObjectId object : memory.getObjectsOf(access))
    for (uint32_t i : memory.getAccessesTo(object)) {
      const AccessInfo &info = memory.getAccesses()[i];
      if (!info.access.write)
        continue;
      mlir::ValueRange values;
      mlir::Operation *op = index.getOp(info.op);
      if (auto store = llvm::dyn_cast<kern::StoreOp>(op))
        values = store.getValues();
      else if (auto matrix = llvm::dyn_cast<kern::MatrixStoreOp>(op))
        values = matrix.getValues();
      else if (auto atomic = llvm::dyn_cast<kern::AtomicOp>(op))
        values = atomic.getValues();
      bool data = llvm::any_of(values, [&](mlir::Value value) {
        ValueId id = index.getId(value);
        return !detector.getProvenance().getTerms(id).empty() ||
               detector.getProvenance().isUnknown(id);
      });
      if (data)
        stores.push_back(info.op);
    }
  return stores;
}

/// Whether a store that runs after the bulk store `id` may write where access
/// `access` of it does.
static Judgement judgeLast(Detector &detector, OpId id, uint32_t access) {
  const MemoryRoots &memory = detector.getMemory();
  const AccessInfo &written = memory.getAccesses()[access];
  llvm::SmallVector<OpId, 2> over;
  for (const OutputStore &store : detector.getProvenance().getOutputStores()) {
    const AccessInfo &other = memory.getAccesses()[store.access];
    bool sameRoot = llvm::any_of(written.roots, [&](RootId root) {
      return llvm::is_contained(other.roots, root);
    });
    if (store.op != id && sameRoot && !other.access.atomic &&
        !llvm::isa<kern::BulkCopyOp>(detector.getIndex().getOp(store.op)) &&
        detector.runsAfter(id, store.op))
      over.push_back(store.op);
  }
  if (over.empty())
    return Judgement::proved();
  return Judgement::undecided("stores results that " + detector.describe(over) +
                                  " may overwrite afterwards",
                              "one way by which each result is stored", over);
}

static void detect(Detector &detector) {
  detector.forEach<kern::BulkCopyOp>([&](OpId id, kern::BulkCopyOp op) {
    if (op.getDstSpace() != kern::Space::Global ||
        op.getSrcSpace() == kern::Space::Global ||
        op.getKind() == kern::BulkKind::Prefetch)
      return;
    AttributeMap attributes;
    attributes["op"] =
        std::string(op.getKind() == kern::BulkKind::Reduce ? "reduce"
                    : op.getDims() > 0                     ? "tma_tensor"
                                                           : "bulk");
    uint32_t access = detector.getMemory().getFirstAccess(id);
    Judgement judgement =
        detector.judgeRuns(id)
            .then([&] { return judgeMovedBytes(detector, id); })
            .then([&] { return detector.judgeInput(access); })
            .then([&] {
              if (!findResults(detector, access).empty())
                return Judgement::proved();
              return Judgement::nearMiss(
                  "stores what a copy brought to shared memory: no thread "
                  "puts a result there");
            })
            .then([&] {
              return detector.judgeReach(
                  detector.getProvenance().getWriteReach(access + 1),
                  "what it stores");
            })
            .then([&] { return judgeLast(detector, id, access + 1); })
            .then([&] { return detector.judgeOneWay(); });
    detector.conclude(judgement, std::move(attributes), id);
  });
}

namespace d2k::properties {
Property makeBulkStoreEpilogue() {
  PropertyInfo info;
  info.id = "bulk_store_epilogue";
  info.group = 'A';
  info.summary =
      "threads put results into shared memory, from where a bulk or tensor "
      "copy takes them to an output; what copies alone brought there is no "
      "result";
  info.attributes = {{"op",
                      AttrType::String,
                      {"bulk", "tma_tensor", "reduce"},
                      "cp.async.bulk, cp.async.bulk.tensor, or a reduction by "
                      "either"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
