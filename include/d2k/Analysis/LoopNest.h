// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dominance, post-dominance and the nest of natural loops of one kernel.
//
// A *natural loop* is a header and all blocks from which the header's back
// edges can be reached without passing the header; loops with one header are
// one loop. Ids follow the text: "L0" is the first outermost loop, "L0.1" the
// second loop directly inside it. The *trip count* is how often the loop's body
// runs for one entry into the loop.
//
// Example
//   i = 0; do { j = 0; do { ... } while (++j < 4); } while (++i < n);
// has L0 (depth 1, trip unknown) and L0.0 (depth 2, trip 4).
//
// A *spin loop* only polls: every operation in it waits on an mbarrier, loads
// with volatile, acquire or relaxed semantics, sleeps, or computes on what
// these returned, and at least one polls. It is one wait operation and holds no
// facts.
//
// Not detected: trip counts other than of one counter that starts at a
// constant, steps by a constant and is compared with a constant at the only
// exit. Loops with several entries (irreducible) are no loops here;
// `isIrreducible` says that the kernel has one, and nothing that depends on
// loops can be decided then.
//
// Only executable edges count (ConstantValues).

#ifndef D2K_ANALYSIS_LOOPNEST_H
#define D2K_ANALYSIS_LOOPNEST_H

#include "d2k/Analysis/ConstantValues.h"

#include "llvm/ADT/BitVector.h"

#include <string>

namespace d2k::analysis {

/// Dominator tree of the reachable blocks, and post-dominator tree with a
/// virtual block behind all exits.
class Dominance {
public:
  Dominance(const KernelIndex &index, const ConstantValues &constants);

  /// Reachable blocks in reverse post-order.
  llvm::ArrayRef<BlockId> getOrder() const { return order; }
  /// Position of `block` in getOrder(); kNone when it is not reachable.
  uint32_t getPosition(BlockId block) const { return position[block]; }
  bool dominates(BlockId a, BlockId b) const;
  /// Whether every way from `b` to an exit passes `a`. False for blocks that
  /// reach no exit.
  bool postDominates(BlockId a, BlockId b) const;
  /// kNone for the entry and for unreachable blocks.
  BlockId getImmediateDominator(BlockId block) const { return idom[block]; }
  /// The virtual exit, getNumBlocks(), where only leaving the kernel follows;
  /// kNone for blocks that reach no exit.
  BlockId getImmediatePostDominator(BlockId block) const {
    return ipdom[block];
  }
  /// The closest block that dominates both.
  BlockId getCommonDominator(BlockId a, BlockId b) const;
  /// Successors over executable edges.
  llvm::ArrayRef<uint32_t> getSuccessors(BlockId block) const {
    return successors[block];
  }
  llvm::ArrayRef<uint32_t> getPredecessors(BlockId block) const {
    return predecessors[block];
  }
  /// Whether control can go from the end of `from` to the start of `to`.
  bool reaches(BlockId from, BlockId to) const;

private:
  std::vector<BlockId> order, idom, ipdom;
  std::vector<uint32_t> position, domIn, domOut, pdomIn, pdomOut;
  FlatLists successors, predecessors;
  /// By block that reaches() was asked about, the blocks that follow it.
  mutable llvm::DenseMap<BlockId, llvm::BitVector> followers;
};

/// One natural loop.
struct Loop {
  std::string id;
  BlockId header = kNone;
  /// Index of the enclosing loop, kNone for an outermost one.
  uint32_t parent = kNone;
  /// 1 for an outermost loop.
  unsigned depth = 1;
  /// All blocks, those of inner loops included, ascending.
  std::vector<BlockId> blocks;
  std::vector<BlockId> latches;
  /// Trip count when it is a constant.
  std::optional<int64_t> trip;
  bool spin = false;
};

class LoopNest {
public:
  LoopNest(const KernelIndex &index, const ConstantValues &constants,
           const Dominance &dominance);

  /// All loops, each after its parent, in the order of their ids.
  llvm::ArrayRef<Loop> getLoops() const { return loops; }
  const Loop &getLoop(uint32_t loop) const { return loops[loop]; }
  /// Innermost loop that holds `block`, spin loops included; kNone outside.
  uint32_t getInnermost(BlockId block) const { return innermost[block]; }
  /// The same, leaving spin loops out: the loop that a fact belongs to.
  uint32_t getInnermostWorking(BlockId block) const;
  /// Whether `outer` is `inner` or encloses it.
  bool encloses(uint32_t outer, uint32_t inner) const;
  /// Whether `block` belongs to `loop`.
  bool contains(uint32_t loop, BlockId block) const {
    return encloses(loop, innermost[block]);
  }
  bool isSpinning(BlockId block) const;
  bool isIrreducible() const { return irreducible; }
  /// Deepest nest that is told apart. Blocks of loops further inside belong to
  /// their ancestor at this depth, and isTooDeep says so; code of compilers
  /// stays below ten.
  static constexpr unsigned kMaxDepth = 64;
  bool isTooDeep() const { return tooDeep; }
  /// A block at the entry of an irreducible region, else kNone.
  BlockId getIrreducibleBlock() const { return irreducibleBlock; }

private:
  /// The blocks through which loops are left: of each loop the only one, or
  /// kNone where there is none or several.
  std::vector<BlockId> findExits() const;
  void findTrip(Loop &loop, uint32_t number, BlockId exiting);
  bool isSpin(const Loop &loop) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  std::vector<Loop> loops;
  /// Loops inside loop `i` are those from i + 1 up to `loopEnd[i]`.
  std::vector<uint32_t> loopEnd;
  std::vector<uint32_t> innermost;
  bool irreducible = false, tooDeep = false;
  BlockId irreducibleBlock = kNone;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_LOOPNEST_H
