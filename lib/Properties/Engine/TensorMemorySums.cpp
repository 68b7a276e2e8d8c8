// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/TensorMemorySums.h"

#include "llvm/ADT/BitVector.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// The roots of the tensor memory that `op` writes, or reads.
static llvm::SmallVector<RootId, 2> getTensorRoots(Detector &detector, OpId op,
                                                   bool written) {
  llvm::SmallVector<RootId, 2> roots;
  for (const AccessInfo &info : detector.getMemory().getAccessesOf(op))
    if (info.space == kern::Space::TensorMemory &&
        (written ? info.access.write : info.access.read))
      llvm::append_range(roots, info.roots);
  return roots;
}

/// The first read in `reads` that control may come to behind `store` without
/// an operation of `products`.
static OpId findReadBehind(Detector &detector, OpId store,
                           const llvm::BitVector &reads,
                           const llvm::BitVector &products) {
  const KernelIndex &index = detector.getIndex();
  const Dominance &dominance = detector.getKernel().getDominance();
  llvm::BitVector seen(index.getNumBlocks());
  std::vector<std::pair<BlockId, OpId>> work{
      {index.getBlockOf(store), store + 1}};
  while (!work.empty()) {
    auto [block, from] = work.back();
    work.pop_back();
    bool passes = true;
    for (OpId op = from; op < index.getOps(block).second && passes; ++op) {
      if (reads.test(op))
        return op;
      passes = !products.test(op);
    }
    if (!passes)
      continue;
    for (BlockId next : dominance.getSuccessors(block))
      if (next < index.getNumBlocks() && !seen.test(next)) {
        seen.set(next);
        work.push_back({next, index.getOps(next).first});
      }
  }
  return kNone;
}

Judgement properties::judgeSumsKept(Detector &detector, OpId product) {
  const KernelIndex &index = detector.getIndex();
  const ConstantValues &constants = detector.getConstants();
  llvm::SmallVector<OpId, 8> stores;
  detector.forEach<kern::TmemStoreOp>([&](OpId id, kern::TmemStoreOp store) {
    // Constants are where sums start.
    bool data = false, made = false;
    for (mlir::Value value : store.getValues()) {
      ValueId number = index.getId(value);
      data |= !constants.get(number);
      made |=
          detector.getProvenance().getTerms(number).has(ProductClass::Tcgen05);
    }
    if (constants.mayRun(id) && data && !made)
      stores.push_back(id);
  });
  if (stores.empty())
    return Judgement::proved();
  llvm::SmallVector<RootId, 2> sums =
      getTensorRoots(detector, product, /*written=*/true);
  auto meets = [&](OpId op, bool written) {
    return llvm::any_of(
        getTensorRoots(detector, op, written),
        [&](RootId root) { return llvm::is_contained(sums, root); });
  };
  llvm::BitVector reads(index.getNumOps()), products(index.getNumOps());
  for (OpId op = 0; op < index.getNumOps(); ++op) {
    if (!constants.mayRun(op))
      continue;
    if (llvm::isa<kern::TmemLoadOp>(index.getOp(op)))
      reads[op] = meets(op, /*written=*/false);
    else if (llvm::isa<kern::TmemMmaOp>(index.getOp(op)))
      products[op] = meets(op, /*written=*/true);
  }
  for (OpId store : stores) {
    if (!meets(store, /*written=*/true))
      continue;
    OpId read = findReadBehind(detector, store, reads, products);
    if (read == kNone)
      continue;
    llvm::SmallVector<OpId, 2> where{store, read};
    return Judgement::undecided(
        "sums into tensor memory that " + detector.describe(store) +
            " may overwrite with something else before " +
            detector.describe(read) + " reads it",
        "other columns for what is stored, or a product behind the store",
        where);
  }
  return Judgement::proved();
}
