// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Engine/LaunchForks.h"

using namespace d2k;
using namespace d2k::analysis;
using namespace d2k::properties;

/// isChosenByLaunch for an operand at \p depth.
static bool isChosen(mlir::Value value, unsigned depth) {
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
    return isChosen(operand, depth + 1);
  });
}

bool properties::isChosenByLaunch(mlir::Value value) {
  return isChosen(value, 0);
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

bool properties::worksOnData(KernelContext &kernel, OpId id) {
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

/// Whether `condition` asks if a loop of products among `blocks` runs at all:
/// it compares with 0 or 1 what the loop's end depends on.
static bool isZeroTripGuard(KernelContext &kernel, mlir::Value condition,
                            const llvm::BitVector &blocks) {
  const KernelIndex &index = kernel.getIndex();
  const LoopNest &loops = kernel.getLoops();
  auto guard = condition.getDefiningOp<kern::CompareOp>();
  if (!guard || guard.getCombine() || kern::isFloat(guard.getType()) ||
      guard.getInputs().size() != 2)
    return false;
  ValueId bound = kNone;
  for (unsigned i : {0u, 1u})
    if (kernel.getConstants()
            .get(index.getId(guard.getInputs()[i]))
            .value_or(2) <= 1)
      bound = index.getId(guard.getInputs()[1 - i]);
  if (bound == kNone)
    return false;
  for (OpId product : kernel.getMainRegion().getProducts()) {
    if (!blocks.test(index.getBlockOf(product)))
      continue;
    uint32_t loop = loops.getInnermostWorking(index.getBlockOf(product));
    if (loop == kNone)
      continue;
    // What the loop's end depends on.
    std::vector<bool> seen(index.getNumValues(), false);
    llvm::SmallVector<ValueId, 8> work;
    for (BlockId block : loops.getLoop(loop).blocks) {
      auto branch = llvm::dyn_cast<kern::CondBranchOp>(
          index.getOp(index.getTerminator(block)));
      bool leaves = llvm::any_of(
          kernel.getDominance().getSuccessors(block),
          [&](BlockId next) { return !loops.contains(loop, next); });
      if (branch && leaves)
        work.push_back(index.getId(branch.getCondition()));
    }
    while (!work.empty()) {
      ValueId value = work.pop_back_val();
      if (value == kNone || seen[value])
        continue;
      if (value == bound)
        return true;
      seen[value] = true;
      OpId def = index.getDef(value);
      if (def != kNone)
        llvm::append_range(work, index.getOperands(def));
      else
        for (const KernelIndex::Incoming &in : index.getIncoming(value))
          work.push_back(in.value);
    }
  }
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
    if (fork.sides[0].work == kNone || fork.sides[1].work == kNone)
      continue;
    // A side for problems whose sums are empty is no other way to make them:
    // what the products' side does holds. What that side alone does does not.
    for (unsigned side : {0u, 1u}) {
      bool other =
          llvm::any_of(kernel.getMainRegion().getProducts(), [&](OpId product) {
            return fork.sides[1 - side].blocks.test(
                kernel.getIndex().getBlockOf(product));
          });
      if (!other && isZeroTripGuard(kernel, branch.getCondition(),
                                    fork.sides[side].blocks)) {
        fork.sides[side].blocks.reset();
        break;
      }
    }
    result.forks.push_back(std::move(fork));
  }
  return result;
}
