// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/Cluster.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

std::optional<int64_t> properties::getClusterSize(Detector &detector) {
  if (auto shape = detector.getFunc().getDirective3("kern.reqnctapercluster"))
    return (*shape)[0] * (*shape)[1] * (*shape)[2];
  return std::nullopt;
}

std::optional<bool> properties::isMulticast(Detector &detector,
                                            kern::BulkCopyOp op) {
  if (!op.getMulticast() || !op.getMulticastMask())
    return false;
  const KernelIndex &index = detector.getIndex();
  std::optional<int64_t> blocks = getClusterSize(detector);
  if (blocks == int64_t(1))
    return false;
  ValueId mask = index.getId(op.getMulticastMask());
  if (std::optional<uint64_t> bits = detector.getConstants().get(mask)) {
    uint64_t inside = *bits & 0xffff;
    if (blocks && *blocks < 16)
      inside &= (uint64_t(1) << *blocks) - 1;
    return llvm::popcount(inside) >= 2;
  }
  // 1 << rank is the own block. Conversions of the mask to 16 bits and of the
  // rank do not matter.
  auto skip = [&](ValueId value) {
    OpId def = index.getDef(value);
    while (def != kNone && llvm::isa<kern::ConvertOp>(index.getOp(def))) {
      value = index.getOperands(def)[0];
      def = index.getDef(value);
    }
    return value;
  };
  OpId def = index.getDef(skip(mask));
  if (def == kNone)
    return std::nullopt;
  auto shift = llvm::dyn_cast<kern::ArithOp>(index.getOp(def));
  if (!shift || shift.getKind() != kern::ArithKind::Shl)
    return std::nullopt;
  llvm::ArrayRef<ValueId> in = index.getOperands(def);
  std::optional<uint64_t> shifted = detector.getConstants().get(in[0]);
  OpId rank = index.getDef(skip(in[1]));
  if (shifted != uint64_t(1) || rank == kNone)
    return std::nullopt;
  auto special = llvm::dyn_cast<kern::SpecialOp>(index.getOp(rank));
  if (special && special.getReg() == "cluster_ctarank")
    return false;
  return std::nullopt;
}
