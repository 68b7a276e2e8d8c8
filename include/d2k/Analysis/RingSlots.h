// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many places one copy writes in turn: the ring that a loop fills.
//
// A *site* is one copy of the author's: all asynchronous copies of one loop
// from one source (a pointer or a tensor map) by one kind of instruction.
// Compilers make several instructions of it: a copy of many rows becomes one
// instruction a row, and a ring of 4 stages may become 4 clones of the loop's
// body with constant slots. They are folded by *batches*: what stands between
// two commits, or completes on one barrier, belongs together, and the first
// address of each batch stands for all of it. The *slots* of a site are the
// distinct addresses of its batches over as many iterations as it takes for
// them to come again.
//
// Example, 3 stages of 16 KiB, two rows a thread, unrolled three times by nvcc:
//   cp.async [r+0];      cp.async [r+2048];  commit    batch 1: r + 0
//   cp.async [r+16384];  cp.async [r+18432]; commit    batch 2: r + 16384
//   cp.async [r+32768];  cp.async [r+34816]; commit    batch 3: r + 32768
// is one site of 6 clones with 3 slots and a period of 3 batches.
//
// Not detected: rings of more than 32 slots, addresses that go through memory.
//
// Unknown: `slots` is 0 and `reason` says why: an address is not known
// (IterationValues), or a loop writes elsewhere in every iteration.

#ifndef D2K_ANALYSIS_RINGSLOTS_H
#define D2K_ANALYSIS_RINGSLOTS_H

#include "d2k/Analysis/IterationValues.h"
#include "d2k/Analysis/MemoryRoots.h"

#include <map>

namespace d2k::analysis {

/// Copies of one loop that are one copy of the author's.
struct CopySite {
  /// The loop they stand in; kNone for code outside of loops.
  uint32_t loop = kNone;
  /// cp.async or a copy by the TMA unit.
  bool bulk = false;
  /// In the order of execution.
  llvm::SmallVector<OpId, 4> clones;
};

/// Where the batches of a site go.
struct Ring {
  /// Distinct slots, 0 when not known.
  unsigned slots = 0;
  /// Batches after which they repeat; 0 outside of loops.
  unsigned period = 0;
  /// The slots, in the order in which they are first written.
  llvm::SmallVector<IterationValue, 4> addresses;
  /// Why `slots` is 0: "its address is not known", ...
  std::string reason;
};

class RingSlots {
public:
  /// Iterations that are run of a loop.
  static constexpr unsigned kIterations = 64;

  RingSlots(const KernelIndex &index, const ConstantValues &constants,
            const Dominance &dominance, const LoopNest &loops,
            const MemoryRoots &memory, IterationValues &values);

  /// The asynchronous copies from global to shared memory in \p loop (kNone: in
  /// no loop of \p main), by site. A copy belongs to the innermost of the loops
  /// in \p main that holds it.
  std::vector<CopySite> findSites(uint32_t loop,
                                  llvm::ArrayRef<uint32_t> main) const;
  const Ring &getRing(const CopySite &site);
  /// The batches of \p site as sites of their own, where each writes one place
  /// in all iterations and no two the same: such as the keys and the values of
  /// an attention that lie in one tensor. Empty where they do not.
  std::vector<CopySite> getFixedBatches(const CopySite &site);
  const LoopNest &getLoops() const { return loops; }
  /// Operations of \p loop (of the whole kernel for kNone) that may run, in an
  /// order of execution.
  llvm::ArrayRef<OpId> getOrder(uint32_t loop) const;
  /// How many iterations of \p loop are to be looked at: fewer than kIterations
  /// where its trip count is known to be lower, 1 outside of loops.
  unsigned getIterations(uint32_t loop) const;
  /// Address of the shared memory that copy \p op writes, in one iteration.
  IterationValue getTarget(OpId op, uint32_t loop, unsigned iteration);
  /// \p address + \p offset in one iteration, as \p user finds it where it
  /// runs.
  IterationValue getAddress(mlir::Value address, int64_t offset, OpId user,
                            uint32_t loop, unsigned iteration);

private:
  /// A copy of a site, or a commit behind which a batch begins.
  struct Step {
    OpId op;
    bool commit;
  };
  std::vector<Step> getSteps(const CopySite &site) const;
  Ring computeRing(const CopySite &site);

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  IterationValues &values;
  /// By loop.
  mutable std::map<uint32_t, std::vector<OpId>> orders;
  /// By the loop and the clones of a site.
  std::map<std::pair<uint32_t, std::vector<OpId>>, Ring> ringOf;
};

/// The shared address that an asynchronous copy from global to shared memory
/// writes, and the barrier it completes on, when \p op is one.
struct CopyOperands {
  mlir::Value target;
  int64_t targetOffset = 0;
  /// Null for cp.async.
  mlir::Value barrier;
  int64_t barrierOffset = 0;
  bool bulk = false;
};
std::optional<CopyOperands> getCopyToShared(mlir::Operation *op);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_RINGSLOTS_H
