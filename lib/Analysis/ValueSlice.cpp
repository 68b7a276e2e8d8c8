// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ValueSlice.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;

static constexpr size_t kMaxSlice = 64;

llvm::SetVector<ValueId>
d2k::analysis::getSlice(const KernelIndex &index,
                        const ConstantValues &constants, ValueId value) {
  llvm::SetVector<ValueId> slice;
  slice.insert(value);
  for (size_t i = 0; i < slice.size() && slice.size() < kMaxSlice; ++i) {
    OpId def = index.getDef(slice[i]);
    if (def == kNone || isa<kern::LoadOp>(index.getOp(def)))
      continue;
    for (ValueId operand : index.getOperands(def))
      if (!constants.get(operand))
        slice.insert(operand);
  }
  return slice;
}
