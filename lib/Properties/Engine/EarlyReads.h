// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads of shared memory that do not wait for the copy that fills it.
//
// A copy that completes with a group (cp.async) has arrived when a wait ended
// its group, and not before: neither a barrier nor the number of iterations
// since it was issued says so (PTX ISA, "cp.async.wait_group"). An access reads
// early when an instance of the copy that writes the slot which it reads is
// outstanding there (InFlight.h).
//
// Example, a ring of 3 slots that is filled two iterations ahead
//   loop: cp.async.wait_group 2      nothing is ended: slots i and i + 1 are
//         ld.shared [slot i % 3]     outstanding: reads early
//         cp.async [slot (i + 2) % 3]; cp.async.commit_group
// With `wait_group 1` slot i has arrived, and i + 1 alone is outstanding.
//
// A wait is for the copies of the thread alone. What threads of another warp
// copied has arrived when a barrier at which both meet follows their wait; an
// access that reads such bytes, with none between, reads what was *not
// announced*. A barrier that some iterations leave out announces nothing in
// them: `if (i & 1) bar.sync`.

#ifndef D2K_LIB_PROPERTIES_ENGINE_EARLYREADS_H
#define D2K_LIB_PROPERTIES_ENGINE_EARLYREADS_H

#include "Engine/AsyncAnalyses.h"
#include "Engine/Detector.h"

namespace d2k::properties {

/// What reads early.
struct EarlyReads {
  /// On every way, and the slots of both are known.
  llvm::SmallVector<OpId, 4> certain;
  /// Perhaps: on some ways only, or what they read cannot be told apart from
  /// what is outstanding. Not what is certain of an earlier copy.
  llvm::SmallVector<OpId, 4> unsure;
  /// Waited for by the threads that copied it, on every way, but read by
  /// threads of other warps with no barrier behind the wait. Only what is
  /// certain: the bytes of both are known.
  llvm::SmallVector<OpId, 4> unannounced;
  /// The same, where conditions that are not known decide about the barrier.
  llvm::SmallVector<OpId, 4> perhapsUnannounced;
};

/// Those of \p readers, accesses in the loop of \p site, that read what its
/// copies may not have brought yet. Nothing for copies that complete on an
/// mbarrier.
EarlyReads findEarlyReads(Detector &detector, AsyncAnalyses &async,
                          const analysis::CopySite &site,
                          llvm::ArrayRef<uint32_t> readers);

/// The reason of a near miss of unannounced \p reads: \p start, what is wrong,
/// and the change.
std::string describeUnannounced(std::string start, Detector &detector,
                                llvm::ArrayRef<OpId> reads);
/// What is said when \p reads are perhaps unannounced; \p start as above.
Judgement judgePerhapsUnannounced(std::string start, Detector &detector,
                                  llvm::ArrayRef<OpId> reads);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_EARLYREADS_H
