// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which warps of a block run which code, what roles they have, and where one
// role hands over to another.
//
// A branch or guard on a function of the thread's number is worked out for
// every thread of the block; a block of code is run by the threads that such
// conditions let through. What a condition does not tell (a parameter, the
// block's rank, an elected lane) lets all through. So `getWarps` is a set that
// certainly holds all warps that run an operation.
//
// A *duty* is an operation that does a part of the kernel's work:
//   Copy     brings input data to shared memory: cp.async, bulk and tensor
//            copies, a store of loaded data
//   Matrix   a matrix product
//   Compute  scalar products of the main region; arithmetic on input data
//   Store    writes results to an output
// Warps have one *role* when they take part in the same main loops (of a region
// without loops, the same copies and products); warps that take part in none
// have one together. A role has the duties that only its warps do, and is named
// by the first it has of: matrix; copy; compute, when it makes the scalar
// products or hands arithmetic over to another role; store; compute.
//
// A *hand-over* leads from one role to another: one arrives at, or completes, a
// barrier for which the other waits. Barriers are mbarriers, told apart by
// object (SharedObjects.h), and named barriers by number; a barrier of the
// whole block counts where both roles run it inside their main loops.
//
// Example, 384 threads
//   if (tid < 128) { if (warp == 0 && elect) for k: wait(empty); copy(full) }
//   else for k: wait(full); wgmma; arrive(empty)
// Warp 0 takes part in the copy loop, warps 4 to 11 in the product loop, warps
// 1 to 3 in none: roles copy {0}, matrix {4-11}; hand-overs both ways.
//
// Not detected: roles that change from tile to tile, conditions on numbers that
// warps load, roles within a warp.
//
// Unknown: `isKnown` is false when the main region is not known.

#ifndef D2K_ANALYSIS_WARPROLES_H
#define D2K_ANALYSIS_WARPROLES_H

#include "d2k/Analysis/MainRegion.h"
#include "d2k/Analysis/SharedObjects.h"

#include "llvm/ADT/BitVector.h"

namespace d2k::analysis {

/// Warps of a block, as bits.
using WarpSet = uint32_t;

/// What a warp does; see the top of this file. In the order of their names.
enum class Duty : uint8_t { Compute, Copy, Matrix, Store };

/// "compute", "copy", "matrix", "store".
llvm::StringRef getDutyName(Duty duty);

struct WarpRole {
  WarpSet warps = 0;
  Duty duty = Duty::Compute;
  /// The main loops in which the warps take part, ascending.
  llvm::SmallVector<uint32_t, 2> loops;
  /// The duties that only these warps do, ascending.
  llvm::SmallVector<OpId, 8> work;
};

struct HandOver {
  /// Positions in getRoles().
  uint32_t from = 0, to = 0;
  /// The operation that arrives or completes, and the one that waits.
  OpId arrive = kNone, wait = kNone;
  /// The barriers may be two different ones.
  bool possible = false;
};

class WarpRoles {
public:
  WarpRoles(const KernelIndex &index, const ConstantValues &constants,
            const Dominance &dominance, const LoopNest &loops,
            const MemoryRoots &memory, const Provenance &provenance,
            const MainRegion &region, LaneForms &forms,
            const SharedObjects &objects);

  /// Warps of the largest block that may be launched, up to 32.
  unsigned getNumWarps() const { return numWarps; }
  WarpSet getAllWarps() const {
    return numWarps == 32 ? ~WarpSet(0) : (WarpSet(1) << numWarps) - 1;
  }
  /// The warps that may run `op`; empty for one that never runs.
  WarpSet getWarps(OpId op) const { return warps[op]; }
  /// Whether the lanes of a warp may part at `condition`.
  bool partsLanes(ValueId condition);

  bool isKnown() const { return known; }
  /// All roles, by their first warp.
  llvm::ArrayRef<WarpRole> getRoles() const { return roles; }
  llvm::ArrayRef<HandOver> getHandOvers() const { return handOvers; }

private:
  /// Threads for which a condition may hold, and for which it may not.
  struct Outcome {
    llvm::BitVector on, off;
  };
  Outcome getOutcome(ValueId condition);
  Outcome evaluate(ValueId condition);
  Outcome evaluateCompare(kern::CompareOp compare, OpId op);
  void findThreads();
  WarpSet toWarps(const llvm::BitVector &threads) const;
  void findRoles();
  void nameRoles();
  void findHandOvers();

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  const Provenance &provenance;
  const MainRegion &region;
  LaneForms &forms;
  const SharedObjects &objects;
  unsigned numThreads, numWarps;
  bool known = false;
  std::vector<llvm::BitVector> threads;
  std::vector<WarpSet> warps;
  llvm::DenseMap<ValueId, Outcome> outcomes;
  /// Duties of operations, in their order.
  std::vector<std::pair<OpId, Duty>> duties;
  std::vector<WarpRole> roles;
  std::vector<HandOver> handOvers;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_WARPROLES_H
