// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Analysis/ProductSums.h"

using namespace mlir;
using namespace d2k;
using namespace d2k::analysis;
using kern::ArithKind;
using Code = DataFlow::Code;

llvm::SmallVector<ValueId, 3> analysis::getSummands(const KernelIndex &index,
                                                    ValueId value) {
  llvm::SmallVector<ValueId, 3> summands;
  OpId def = index.getDef(value);
  if (def == kNone) {
    for (const KernelIndex::Incoming &in : index.getIncoming(value))
      if (in.value != kNone)
        summands.push_back(in.value);
    return summands;
  }
  auto sum = dyn_cast<kern::ArithOp>(index.getOp(def));
  if (!sum || !kern::isFloat(sum.getType()))
    return summands;
  llvm::ArrayRef<ValueId> operands = index.getOperands(def);
  if (sum.getKind() == ArithKind::Fma)
    summands.push_back(operands[2]);
  else if (sum.getKind() == ArithKind::Add || sum.getKind() == ArithKind::Sub ||
           sum.getKind() == ArithKind::Neg)
    llvm::append_range(summands, operands);
  return summands;
}

ProductSums::ProductSums(const KernelIndex &index,
                         const ConstantValues &constants, const LoopNest &loops,
                         const Provenance &provenance, const DataFlow &flow)
    : flow(flow), parent(index.getNumValues()) {
  for (ValueId value = 0; value < parent.size(); ++value)
    parent[value] = value;
  std::vector<ValueId> starts;
  auto isData = [&](DataFlow::Span span) {
    return llvm::all_of(flow.get(span), [&](ValueId value) {
      Terms terms = provenance.getTerms(value);
      return !terms.empty() && !terms.has(ProductClass::Mac);
    });
  };
  for (ValueId value = 0; value < parent.size(); ++value) {
    OpId def = index.getDef(value);
    for (ValueId summand : getSummands(index, value)) {
      parent[find(value)] = find(summand);
      // A join with zero is a choice, and no sum.
      if (def != kNone && constants.get(summand) == uint64_t(0))
        starts.push_back(value);
    }
    if (def == kNone) {
      BlockId block = index.getDefBlock(value);
      uint32_t loop = loops.getInnermost(block);
      if (loop == kNone || loops.getLoop(loop).header != block)
        continue;
      for (const KernelIndex::Incoming &in : index.getIncoming(value))
        if (in.value != kNone && in.value != value &&
            loops.contains(loop, in.from) &&
            !getSummands(index, in.value).empty())
          starts.push_back(value);
      continue;
    }
    const DataFlow::Node *node = flow.find(def);
    if (node &&
        ((node->code == Code::Mul && isData(node->a) && isData(node->b)) ||
         (node->code == Code::Load &&
          provenance.getTerms(value).has(ProductClass::Mac))))
      starts.push_back(value);
  }
  isSum.resize(parent.size());
  for (ValueId value : starts)
    isSum.set(find(value));
}

ValueId ProductSums::find(ValueId value) {
  while (parent[value] != value)
    value = parent[value] = parent[parent[value]];
  return value;
}

bool ProductSums::builds(OpId op) {
  const DataFlow::Node *node = flow.find(op);
  return node && llvm::any_of(flow.get(node->c), [&](ValueId value) {
           return isSum.test(find(value));
         });
}
