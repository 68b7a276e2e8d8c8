// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/EmptyCopies.h"

using namespace d2k;
using namespace d2k::analysis;

CopiedBytes d2k::analysis::getCopiedBytes(const KernelIndex &index,
                                          const ConstantValues &constants,
                                          OpId op) {
  auto numberOf = [&](mlir::Value value) {
    return value ? constants.get(index.getId(value)) : std::nullopt;
  };
  mlir::Operation *operation = index.getOp(op);
  if (auto copy = llvm::dyn_cast<kern::AsyncCopyOp>(operation))
    return numberOf(copy.getSrcSize()) == uint64_t(0) ||
                   numberOf(copy.getIgnoreSrc()) == uint64_t(1)
               ? CopiedBytes::Zeros
               : CopiedBytes::Source;
  if (auto copy = llvm::dyn_cast<kern::BulkCopyOp>(operation);
      copy && numberOf(copy.getSize()) == uint64_t(0))
    return CopiedBytes::Nothing;
  return CopiedBytes::Source;
}
