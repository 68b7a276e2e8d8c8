// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/LaunchForks.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// Whether `value` is the same in every thread of the grid. False when not
/// sure.
static bool isChosenByLaunch(mlir::Value value, unsigned depth = 0) {
  constexpr unsigned kMaxDepth = 8;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (llvm::isa<kern::ConstantOp>(op))
    return true;
  if (auto load = llvm::dyn_cast<kern::LoadOp>(op))
    return load.getSpace() == kern::Space::Param;
  if (auto special = llvm::dyn_cast<kern::SpecialOp>(op))
    return special.getReg().starts_with("ntid") ||
           special.getReg().starts_with("nctaid");
  if (!llvm::isa<kern::ArithOp, kern::CompareOp, kern::ConvertOp,
                 kern::SelectOp, kern::PackOp, kern::UnpackOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    return isChosenByLaunch(operand, depth + 1);
  });
}

/// Blocks that `start` leads to without passing `fork`.
static llvm::BitVector reachFrom(const Dominance &dominance, BlockId start,
                                 BlockId fork, size_t numBlocks) {
  llvm::BitVector seen(numBlocks);
  llvm::SmallVector<BlockId> work = {start};
  while (!work.empty()) {
    BlockId block = work.pop_back_val();
    // Dominance adds an exit behind the last block.
    if (block == fork || block >= numBlocks || seen.test(block))
      continue;
    seen.set(block);
    for (BlockId next : dominance.getSuccessors(block))
      work.push_back(next);
  }
  return seen;
}

/// Whether `op` reads input data, or computes on what was made from it.
static bool worksOnData(KernelContext &kernel, OpId id) {
  const KernelIndex &index = kernel.getIndex();
  mlir::Operation *op = index.getOp(id);
  if (llvm::isa<kern::MatrixProductOpInterface>(op))
    return true;
  const Provenance &provenance = kernel.getProvenance();
  bool computes = llvm::isa<kern::ArithOp, kern::MathOp>(op);
  bool data = false;
  for (uint32_t i = 0; i < index.getNumResults(id); ++i) {
    ValueId result = index.getFirstResult(id) + i;
    // What only steers, an index or a flag, is no data.
    if (provenance.getReach(result) == Reach::Control)
      return false;
    data |=
        provenance.isUnknown(result) || !provenance.getTerms(result).empty();
  }
  if (computes)
    return data;
  for (const AccessInfo &access : kernel.getMemory().getAccessesOf(id))
    if (access.isGlobal() && access.access.read)
      return true;
  return false;
}

LaunchForks properties::findLaunchForks(KernelContext &kernel) {
  const KernelIndex &index = kernel.getIndex();
  const Dominance &dominance = kernel.getDominance();
  LaunchForks result;
  unsigned numBranches = 0;
  std::vector<OpId> workOf;
  for (BlockId block : dominance.getOrder()) {
    auto branch = llvm::dyn_cast<kern::CondBranchOp>(
        index.getOp(index.getTerminator(block)));
    llvm::ArrayRef<uint32_t> next = dominance.getSuccessors(block);
    if (!branch || next.size() != 2 || next[0] == next[1] ||
        !isChosenByLaunch(branch.getCondition()))
      continue;
    if (numBranches++ == LaunchForks::kMaxBranches) {
      result.ignored = index.getTerminator(block);
      break;
    }
    if (workOf.empty()) {
      workOf.assign(index.getNumBlocks(), kNone);
      for (OpId id = 0; id < index.getNumOps(); ++id)
        if (OpId &work = workOf[index.getBlockOf(id)];
            work == kNone && worksOnData(kernel, id))
          work = id;
    }
    LaunchFork fork;
    std::array<llvm::BitVector, 2> reached;
    for (unsigned side : {0u, 1u})
      reached[side] =
          reachFrom(dominance, next[side], block, index.getNumBlocks());
    for (unsigned side : {0u, 1u}) {
      fork.sides[side].blocks = reached[side];
      fork.sides[side].blocks.reset(reached[1 - side]);
      for (unsigned inside : fork.sides[side].blocks.set_bits())
        if (workOf[inside] != kNone) {
          fork.sides[side].work = workOf[inside];
          break;
        }
    }
    if (fork.sides[0].work != kNone && fork.sides[1].work != kNone)
      result.forks.push_back(std::move(fork));
  }
  return result;
}
