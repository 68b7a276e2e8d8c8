// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which asynchronous work of a thread is outstanding at each point: a forward
// data-flow analysis over groups (cp.async, bulk and wgmma groups; PTX ISA,
// "Async groups").
//
// A piece of work (a copy, a matrix product) is of *age* 0 when it is issued,
// and gets one older with each commit of its kind: age k is the k-th newest
// committed group. `wait_group N` ends everything older than N; age 0 is ended
// by `wait_all` only. Two sets of ages are kept for each operation that issues
// work:
//   may    ages that an instance of it can have, on some way to the point
//   must   ages that an instance of it has, on every way to the point
// `getSteady` gives them for a loop that has run for long: for the ways around
// the loop on which the operation runs in every iteration. An iteration that
// skips it (the last ones, which have nothing left to fetch) does not count.
//
// Example, a ring of 3 slots
//   loop: cp.async.wait_group 1        before: {1, 2}   after: {1}
//         if (more) cp.async           {0, 1}
//         cp.async.commit_group        {1, 2}
//         mma                          {1, 2}: two groups are outstanding
// With `wait_group 0` in front of the mma: {}, nothing is.
//
// A wait is for the thread's own work (PTX ISA, "cp.async.wait_group"). What
// other threads know of it is kept in more sets, of the ages that are
// outstanding or
//   unsent   ended, and no barrier has been arrived at since
//   unheard  ended, and no barrier of more than a warp has been waited at since
//            that was arrived at after the end
//   apart    the same, where only barriers of the whole block count
//            (BarrierGroups.h)
//   cp.async.wait_group 1; bar.sync      outstanding {1}, unheard none
//   bar.sync; cp.async.wait_group 1      outstanding {1}, unheard {2}
//   cp.async.wait_group 1; bar.arrive    outstanding {1}, unheard {2}
//   ... and an mbarrier's wait behind it outstanding {1}, unheard none
// A barrier that one way passes counts on that way. In what is so on every way
// one under a guard counts as a barrier, and so does a call, which may hold
// one.
//
// Lattice. A state is eight sets of 32 ages for each issuing operation; ages
// from 31 on are one. `may` only grows and `must` only shrinks where ways join,
// so that an inner loop is stable after at most 256 rounds for each operation;
// the steady state of the loop itself is reached after at most 33 rounds, when
// each age has been shifted out.
//
// A guarded commit or wait counts on both of its ways; a guarded issue as done.
// Waits that are chosen at run time, as `cuda::pipeline` does by the number of
// its stages, count where control comes to them in the second half of the
// iterations that RingSlots looks at.
//
// Not detected: work that completes on an mbarrier (BarrierPhases.h).
//
// Unknown: `may` without `must`.

#ifndef D2K_ANALYSIS_INFLIGHT_H
#define D2K_ANALYSIS_INFLIGHT_H

#include "d2k/Analysis/BarrierGroups.h"
#include "d2k/Analysis/RingSlots.h"

#include <array>
#include <memory>
#include <tuple>

namespace d2k::analysis {

/// Ages of what one operation issued: bit k is age k, bit 31 that and older.
struct Ages {
  /// Outstanding.
  uint32_t may = 0, must = 0;
  /// Outstanding, or ended and not told to others; see the top of this file.
  uint32_t mayUnsent = 0, mustUnsent = 0;
  uint32_t mayUnheard = 0, mustUnheard = 0;
  uint32_t mayApart = 0, mustApart = 0;
  bool operator==(const Ages &other) const = default;

  /// The sets of what is so on some way, and on every way.
  std::array<uint32_t *, 4> getMay() {
    return {&may, &mayUnsent, &mayUnheard, &mayApart};
  }
  std::array<uint32_t *, 4> getMust() {
    return {&must, &mustUnsent, &mustUnheard, &mustApart};
  }
};

class InFlight {
public:
  /// \p values and \p rings tell where control comes to in an iteration.
  InFlight(const KernelIndex &index, const ConstantValues &constants,
           const Dominance &dominance, const LoopNest &loops,
           const BarrierGroups &barriers, IterationValues &values,
           const RingSlots &rings);

  ~InFlight();

  /// Operations that issue work of a group mechanism, and that may run.
  llvm::ArrayRef<OpId> getIssues() const { return issues; }
  /// Ages of what \p issue issued, at the start of each operation of \p loop
  /// (of the code outside of loops for kNone) in \p points, in steady state.
  std::vector<Ages> getSteady(OpId issue, uint32_t loop,
                              llvm::ArrayRef<OpId> points) const;
  /// The waits after \p issue that end all of what it issued on every way, each
  /// the first one on some way: those that "drain" it. Empty when a way leads
  /// to no such wait before the work is issued again.
  std::vector<OpId> getDrains(OpId issue, uint32_t loop) const;

  /// Whether threads of several warps may wait at \p op until others have come
  /// so far.
  static bool isMeeting(mlir::Operation *op);

private:
  /// What a barrier is for the ages.
  enum class Signal : uint8_t { None, Arrive, Wait, MeetPart, MeetAll };
  /// An operation that changes ages; with no group, a barrier.
  struct Effect {
    OpId op = kNone;
    Signal signal = Signal::None;
    kern::Completion group = kern::Completion::None;
    kern::AsyncRole role = kern::AsyncRole::Issue;
    /// Of a wait: newest groups that may stay.
    unsigned pending = 0;
    /// Of a wait: ends age 0 too (`wait_all`).
    bool all = false;
    bool guarded = false;
  };
  class Solver;
  /// Of \p issue and what is committed with it.
  Solver &getSolver(OpId issue, uint32_t loop) const;
  /// Whether control never comes to \p block, or goes from \p from to \p to, in
  /// the steady state of \p loop.
  bool isSkipped(BlockId block, uint32_t loop) const;
  bool isSkipped(BlockId from, BlockId to, uint32_t loop) const;

  const KernelIndex &index;
  const Dominance &dominance;
  const LoopNest &loops;
  IterationValues &values;
  const RingSlots &rings;
  std::vector<OpId> issues;
  /// Groups that some commit or wait of the kernel concerns.
  llvm::SmallVector<kern::Completion, 3> ordered;
  std::vector<Effect> effects;
  /// Effects of each block: [begin, end) in `effects`.
  std::vector<uint32_t> firstEffect;
  /// By loop, block, group and number of commits and waits before.
  mutable std::map<std::tuple<uint32_t, BlockId, kern::Completion, unsigned>,
                   std::unique_ptr<Solver>>
      solvers;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_INFLIGHT_H
