// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/RowLoops.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Whether `product`, of two operands, is added to what a loop inside `loop`
/// carries, or to several others.
static bool isSum(KernelContext &kernel, OpId product, uint32_t loop) {
  const KernelIndex &index = kernel.getIndex();
  const LoopNest &loops = kernel.getLoops();
  constexpr unsigned kFew = 4, kMost = 64;
  for (unsigned i = 0; i < kMost; ++i) {
    auto fma = llvm::dyn_cast<kern::ArithOp>(index.getOp(product));
    llvm::ArrayRef<ValueId> in = index.getOperands(product);
    if (!fma || fma.getKind() != kern::ArithKind::Fma || in[0] == in[1])
      return i >= kFew;
    OpId def = index.getDef(in[2]);
    if (def == kNone) {
      uint32_t inner = loops.getInnermost(index.getDefBlock(in[2]));
      return inner != kNone && inner != loop && loops.encloses(loop, inner);
    }
    product = def;
  }
  return true;
}

bool properties::isOverRows(KernelContext &kernel, uint32_t loop,
                            const std::vector<bool> &place) {
  const KernelIndex &index = kernel.getIndex();
  const LoopNest &loops = kernel.getLoops();
  // Other roles than that of the loop may multiply.
  for (OpId op = 0; op < index.getNumOps(); ++op)
    if (llvm::isa<kern::MatrixProductOpInterface>(index.getOp(op)))
      return false;
  // A sum of products makes a tile; squares of one row do not.
  for (OpId product : kernel.getMainRegion().getProducts())
    if (loops.contains(loop, index.getBlockOf(product)) &&
        isSum(kernel, product, loop))
      return false;
  // What depends on the loop's counter.
  std::vector<bool> depends(index.getNumValues(), false);
  llvm::SmallVector<ValueId, 16> work;
  auto add = [&](ValueId value) {
    if (!depends[value]) {
      depends[value] = true;
      work.push_back(value);
    }
  };
  BlockId header = loops.getLoop(loop).header;
  for (uint32_t i = 0, e = index.getNumArgs(header); i < e; ++i)
    add(index.getFirstArg(header) + i);
  std::vector<bool> coordinates(index.getNumOps(), false);
  while (!work.empty()) {
    ValueId value = work.pop_back_val();
    for (OpId user : index.getUsers(value)) {
      auto arith = llvm::dyn_cast<kern::ArithOp>(index.getOp(user));
      if (!arith || kern::isFloat(arith.getType()))
        continue;
      switch (arith.getKind()) {
      case kern::ArithKind::Div:
      case kern::ArithKind::Rem:
      case kern::ArithKind::MulHi:
      case kern::ArithKind::Shr:
      case kern::ArithKind::And:
        coordinates[user] = true;
        break;
      default:
        break;
      }
      for (uint32_t i = 0; i < index.getNumResults(user); ++i)
        add(index.getFirstResult(user) + i);
    }
  }
  for (OpId op = 0; op < place.size(); ++op)
    if (place[op] && coordinates[op])
      return false;
  return true;
}
