// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// async_copy: copies from global to shared memory that bypass the registers.

#include "Engine/Detector.h"
#include "Engine/MovedBytes.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// A copy from global memory to shared memory: accesses `source` and `target`.
static Judgement judge(Detector &detector, OpId id) {
  return detector.judgeRuns(id)
      .then([&] { return judgeMovedBytes(detector, id); })
      .then([&] {
        // The source comes first in the list of accesses, then the target.
        return detector.judgeInput(detector.getMemory().getFirstAccess(id));
      })
      .then([&] {
        return detector.judgeCopied(detector.getMemory().getFirstAccess(id) +
                                    1);
      })
      .then([&] { return detector.judgeOneWay(); });
}

static void detect(Detector &detector) {
  const ConstantValues &constants = detector.getConstants();
  const KernelIndex &index = detector.getIndex();
  detector.forEach<kern::AsyncCopyOp>([&](OpId id, kern::AsyncCopyOp op) {
    AttributeMap attributes;
    attributes["mechanism"] = std::string("cp_async");
    attributes["bytes"] = int64_t(op.getBytes());
    detector.conclude(judge(detector, id), std::move(attributes), id);
  });
  detector.forEach<kern::BulkCopyOp>([&](OpId id, kern::BulkCopyOp op) {
    bool toShared = op.getDstSpace() == kern::Space::Shared ||
                    op.getDstSpace() == kern::Space::SharedCluster;
    if (op.getKind() != kern::BulkKind::Copy || !toShared ||
        op.getSrcSpace() != kern::Space::Global)
      return;
    AttributeMap attributes;
    attributes["mechanism"] = std::string(op.getDims() ? "tma_tensor" : "bulk");
    if (op.getSize())
      if (std::optional<uint64_t> size =
              constants.get(index.getId(op.getSize())))
        attributes["bytes"] = int64_t(*size);
    detector.conclude(judge(detector, id), std::move(attributes), id);
  });
}

namespace d2k::properties {
Property makeAsyncCopy() {
  PropertyInfo info;
  info.id = "async_copy";
  info.group = 'A';
  info.summary =
      "input data is copied from global to shared memory without passing "
      "through registers, and what was copied is read later on the way to the "
      "output; whether anything overlaps with the copy is async_pipeline";
  info.attributes = {
      {"mechanism",
       AttrType::String,
       {"cp_async", "bulk", "tma_tensor"},
       "cp.async, cp.async.bulk, or cp.async.bulk.tensor"},
      {"bytes",
       AttrType::Integer,
       {},
       "bytes of one copy: of one thread for cp_async (4, 8, 16), of the whole "
       "copy for bulk when constant; not known for tma_tensor"}};
  info.decidingTiers = {Tier::Ptx, Tier::Sass};
  info.detectorTiers = {Tier::Ptx, Tier::Sass};
  return {info, detect};
}
} // namespace d2k::properties
