// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of global data that a kernel stages in shared memory: who writes them,
// who reads them, and how often each staged byte is read. smem_tiling,
// tile_shape, smem_swizzle and smem_padding are claims about these.

#ifndef D2K_LIB_PROPERTIES_ENGINE_STAGEDTILES_H
#define D2K_LIB_PROPERTIES_ENGINE_STAGEDTILES_H

#include "Engine/Detector.h"

#include "d2k/Analysis/SharedObjects.h"

namespace d2k::properties {

/// One shared object that input data is put into; Detector::getStagedTiles has
/// all of a kernel.
struct StagedTile {
  analysis::SharedObjectId object = kNone;
  /// Accesses that put global data there, and those that read it.
  llvm::SmallVector<uint32_t, 8> writers, readers;
  /// Read by ldmatrix, wmma or through a matrix descriptor.
  bool byMatrix = false;
  /// Written by the TMA unit or another bulk copy, which is no thread.
  bool byBulkCopy = false;
  /// Bytes of one slot that are written, 0 when not known.
  int64_t bytes = 0;
  /// How often a staged byte is read on average.
  std::optional<double> reuse;
  /// Whether a thread reads what another one wrote.
  Tristate shared = Tristate::Unknown;
  /// A barrier or a wait stands between writes and reads.
  bool ordered = false;
  /// Reads of a slot into which a copy is outstanding; see EarlyReads.h.
  llvm::SmallVector<analysis::OpId, 4> early;
  /// Reads of what other warps have copied, with no barrier behind their wait;
  /// and those where it is not known whether there is one.
  llvm::SmallVector<analysis::OpId, 4> unannounced, perhapsUnannounced;
  /// What is worked out of input data is put into the same memory between the
  /// writes and the reads, as in a scan or a sort in place: reads may be of
  /// that.
  bool isUpdated = false;
  /// Readers that threads of other warps may overtake: no barrier stands
  /// between their writes and these.
  llvm::SmallVector<uint32_t, 4> racing;
};

/// What one thread touches first with one access, relative to its slot.
struct Touch {
  unsigned thread;
  int64_t at;
};

/// Bytes from `first` up to `second`.
using ByteRun = std::pair<int64_t, int64_t>;

/// What the threads of a block touch with one access: the places of `first`,
/// moved by each of `moves`.
struct Touches {
  /// By ascending thread, with no move.
  std::vector<Touch> first;
  /// Ascending, no two equal; 0 alone for an access that no loop moves.
  std::vector<int64_t> moves;

  /// Calls \p fn with each touch, all of one move together.
  template <typename Fn>
  void forEach(Fn fn) const {
    for (int64_t move : moves)
      for (const Touch &touch : first)
        fn(Touch{touch.thread, touch.at + move});
  }
  /// Whether \p fn is true of any touch.
  template <typename Fn>
  bool any(Fn fn) const {
    for (int64_t move : moves)
      for (const Touch &touch : first)
        if (fn(Touch{touch.thread, touch.at + move}))
          return true;
    return false;
  }
  /// What the threads from number \p from of `first` up to \p to touch when
  /// each touches \p bytes, as runs that neither meet nor overlap, ascending.
  std::vector<ByteRun> getRuns(unsigned bytes, size_t from, size_t to) const;
};

/// Joins runs that meet or overlap; the result ascends.
std::vector<ByteRun> joinRuns(std::vector<ByteRun> runs);

/// What the threads of a block touch with access number `access`, for every
/// value of the loops inside a slot; nothing when it is not known. TileOrder
/// keeps it.
std::optional<Touches> findTouches(Detector &detector, uint32_t access);

/// For each operation, where the step in which it reads begins: the last wait
/// of more than a warp before it in its block of code, or the block's start.
/// What an unrolled loop reads in one iteration of the source is one step.
std::vector<OpId> getReadSteps(const analysis::KernelIndex &index);

/// Global loads that the stored value `value` is a copy of, converted or
/// unpacked at most; false when it is made in another way.
bool traceToLoads(Detector &detector, ValueId value,
                  llvm::SmallVectorImpl<ValueId> &loads);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_STAGEDTILES_H
