// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which warps of a block meet at its named barriers (PTX ISA, "bar{.cta}").
//
// `bar.sync id, n` lets go when n threads have come to barrier `id`, by
// `bar.sync` or `bar.arrive`, at any place of the kernel. Who comes to a place
// is enumerated by the thread's number, and so is an id that depends on it.
//
// Example, block of 256 threads
//   bar.sync 0                          all: a barrier of the block
//   bar.sync 1 + tid / 128, 128         threads 0 to 127, and 128 to 255
//   @tid < 64  bar.arrive 3, 256
//   @tid >= 64 bar.sync 3, 256          all: 64 arrive, 192 wait
//   bar.sync 1, 128                     nobody: 128 of 256 threads do, and it
//                                       is open which
//
// Not detected: ids and numbers of threads that are not the same function of
// the thread's number each time.
//
// Unknown: what is not enumerated counts as a barrier of the whole block.

#ifndef D2K_ANALYSIS_BARRIERGROUPS_H
#define D2K_ANALYSIS_BARRIERGROUPS_H

#include "d2k/Analysis/KernelIndex.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace d2k::analysis {

class KernelContext;

/// A number for each warp of a block: those that have met have the same.
using WarpGroups = llvm::SmallVector<unsigned, 32>;

class BarrierGroups {
public:
  explicit BarrierGroups(KernelContext &kernel);

  /// Whether \p op, a barrier of more than a warp, is one of the whole block,
  /// as far as is known.
  bool isWhole(OpId op) const { return !parts.contains(op); }
  /// Whether any barrier is known to be one of a part of the block.
  bool hasParts() const { return !parts.empty(); }
  /// Who has met when some of the barriers for which \p counts is true have
  /// been passed. Barriers of the whole block are not among them.
  template <typename Fn>
  WarpGroups join(Fn counts) const {
    WarpGroups groups = getApart();
    for (const auto &[op, own] : parts)
      if (counts(op))
        joinInto(groups, own);
    return groups;
  }

private:
  /// Each warp by itself.
  WarpGroups getApart() const;
  static void joinInto(WarpGroups &groups, const WarpGroups &own);

  unsigned numWarps = 0;
  /// By barrier that threads wait at and that is not one of the whole block.
  llvm::DenseMap<OpId, WarpGroups> parts;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_BARRIERGROUPS_H
