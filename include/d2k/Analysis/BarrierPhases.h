// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies that complete on mbarriers, paired with the waits for them, and how
// many of them can be outstanding when products run.
//
// Barriers are told apart by their address in each iteration (IterationValues):
// a copy and a wait are a pair when they name the same barrier words. Two
// forms:
//
// One loop issues the copies and waits for them. The loop is run symbolically;
// a barrier is outstanding from a copy that completes on it to the next wait.
//   i-th iteration: wait full[i % 4]; mma; copy to slot (i + 3) % 4, full[...]
// At the mma, the copies to the three other slots are outstanding: 3.
//
// Two loops, one for each role. The loop that copies waits, before each slot,
// on an *empty* barrier on which the other loop gives the slot back. Of S
// slots, those that the other loop holds (it has waited for them and not given
// them back) cannot be in flight; the S - held others can.
//   copies:   wait empty[i % 4]; copy to slot i % 4, full[i % 4]
//   products: wait full[i % 4]; wgmma; wait for wgmma i - 1; arrive at
//             empty[(i - 1) % 4]
// At the wgmma of iteration i, slots i and i - 1 are held: 4 - 2 = 2.
//
// A phase is complete once: a wait that names the same parity each time it
// comes to a barrier returns at once from the second time on. That is no
// hand-over.
//
// A third role may stand between them, such as one that lays out scales: it
// waits for the copies, and arrives at a barrier that the products wait for.
//
// Not detected: hand-over through barriers of the block (`bar.sync`) between
// two roles.
//
// Unknown: a barrier whose address is not known, a ring that nothing gives
// back.

#ifndef D2K_ANALYSIS_BARRIERPHASES_H
#define D2K_ANALYSIS_BARRIERPHASES_H

#include "d2k/Analysis/RingSlots.h"

#include <map>

namespace d2k::analysis {

/// How the copies of one site reach the products of one loop.
struct PhasePairing {
  enum class Kind : uint8_t {
    /// The loop waits for them.
    Paired,
    /// It waits for no barrier that they complete.
    NoWait,
    /// It waits for the same parity again and again.
    SameParity,
    /// Not known; `reason` says why.
    Unknown,
  };
  Kind kind = Kind::Unknown;
  std::string reason;
  /// The waits for the copies; with NoWait all waits on mbarriers of the loop.
  llvm::SmallVector<OpId, 4> waits;
  /// The barrier words, ascending: sites with the same ones are one ring.
  std::vector<IterationValue> barriers;
  /// Barriers at which a third role arrives when it has waited for the copies,
  /// with the word that it waited for.
  std::map<IterationValue, IterationValue> relays;
  /// By point: slots whose copies can be outstanding there.
  std::vector<unsigned> inFlight;
};

class BarrierPhases {
public:
  BarrierPhases(const KernelIndex &index, const ConstantValues &constants,
                IterationValues &values, RingSlots &rings)
      : index(index), constants(constants), values(values), rings(rings) {}

  /// How the copies of \p site reach loop \p loop (kNone: the code outside of
  /// loops); \p points are operations of that loop, ascending.
  PhasePairing getPairing(const CopySite &site, uint32_t loop,
                          llvm::ArrayRef<OpId> points);
  /// The barrier that \p op waits for, arrives at or commits to, in one
  /// iteration; nothing for other operations.
  std::optional<IterationValue> getBarrier(OpId op, uint32_t loop,
                                           unsigned iteration);
  /// Whether \p op is a wait whose outcome matters.
  bool isWait(OpId op) const;
  /// The barriers that \p site completes on, with the operation at which the
  /// copy counts as issued, for one iteration.
  std::vector<std::pair<OpId, IterationValue>>
  getCompletions(const CopySite &site, unsigned iteration);

private:
  bool findBarriers(const CopySite &site, PhasePairing &result);
  bool findWaits(uint32_t loop, PhasePairing &result);
  /// Looks for roles beside the copies of \p site and \p loop that pass on
  /// what they waited for.
  void findRelays(const CopySite &site, uint32_t loop, PhasePairing &result);
  /// The barrier of the copies that a wait for \p barrier waits for in the end;
  /// nothing when it is none.
  std::optional<IterationValue> resolve(const PhasePairing &result,
                                        IterationValue barrier) const;
  void countInOneLoop(const CopySite &site, llvm::ArrayRef<OpId> points,
                      PhasePairing &result);
  void countInTwoLoops(const CopySite &site, uint32_t loop,
                       llvm::ArrayRef<OpId> points, PhasePairing &result);

  const KernelIndex &index;
  const ConstantValues &constants;
  IterationValues &values;
  RingSlots &rings;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_BARRIERPHASES_H
