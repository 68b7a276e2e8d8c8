// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether barriers stand between the writes of a tile and its reads.

#ifndef D2K_LIB_PROPERTIES_ENGINE_TILEORDER_H
#define D2K_LIB_PROPERTIES_ENGINE_TILEORDER_H

#include "Engine/StagedTiles.h"

#include "d2k/Analysis/BarrierGroups.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace d2k::properties {

/// Ways through a kernel without a barrier. Building it takes time linear in
/// the kernel; a question takes time linear in its blocks.
class TileOrder {
public:
  explicit TileOrder(Detector &detector);

  /// How many blocks canBeOrdered looks at.
  size_t getNumWaitBlocks() const { return waitBlocks.size(); }
  /// Whether what says that operation `from` is done can come after it and
  /// before `to`: a wait, for an asynchronous copy; else a barrier, too.
  bool canBeOrdered(OpId from, OpId to) const;

  /// Whether access `reader` may read what a thread of another warp wrote with
  /// access `writer`, without a barrier on the way at which both meet. True
  /// only when the bytes of both are known; slots of a ring that are not the
  /// same in one iteration are compared from one iteration to the next.
  bool races(uint32_t writer, uint32_t reader) const;
  /// Whether access `reader` reads bytes of a slot that a thread of another
  /// warp writes with access `writer`; of a warp of another group where
  /// \p groups are given. True only when the bytes of both are known.
  bool crossesWarps(uint32_t writer, uint32_t reader,
                    const analysis::WarpGroups *groups = nullptr) const;
  /// What the threads of a block touch with access number \p access, for every
  /// value of the loops inside a slot; null when it is not known.
  std::shared_ptr<const Touches> getTouches(uint32_t access) const;

private:
  /// Bytes from `begin` up to `end` that threads of one warp touch.
  struct Span {
    int64_t begin, end;
    unsigned warp;
  };
  /// What an access touches, by begin; nothing when it is not known.
  const std::optional<std::vector<Span>> &getSpans(uint32_t access) const;

  /// Whether control can come from `from` to `to` past no barrier, with
  /// `onlyWhole` past none of the whole block; with `later`, by another
  /// iteration of a loop around both.
  bool hasOpenWay(OpId from, OpId to, bool later, bool onlyWhole) const;

  Detector &detector;
  const analysis::BarrierGroups &groups;
  /// By block, ascending: its barriers of more than a warp; all its barriers
  /// and waits; those that complete asynchronous copies.
  std::vector<llvm::SmallVector<OpId, 2>> barriers, waits, completions;
  /// The blocks that have waits.
  std::vector<analysis::BlockId> waitBlocks;
  /// Barriers of the block that threads arrive at, ascending.
  std::vector<OpId> arrivals;
  /// By access. Each stands in many pairs.
  mutable llvm::DenseMap<uint32_t,
                         std::unique_ptr<std::optional<std::vector<Span>>>>
      spans;
  /// By access; all are forgotten when there are too many.
  mutable llvm::DenseMap<uint32_t, std::shared_ptr<const Touches>> touches;
  mutable size_t numTouches = 0;
};

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_TILEORDER_H
