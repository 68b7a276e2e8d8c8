// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what is read from shared memory was put there, and whether what is
// put there is read: a slot that copies fill and another one that products read
// are told apart, though both lie in one array.
//
// Two accesses meet when they may touch the same bytes, by the objects and
// slots of SharedObjects.h. How much a copy of a tensor map's box brings is not
// in the instruction. It begins where it is put; when nothing reads its first
// bytes, what is read further on is its data only if the box reaches so far.
// The bytes that its mbarrier expects bound the boxes.
//
// Example, mbarrier [full] expects 16384 bytes of two copies
//   copy a to [0, ?), copy b to [32768, ?)
//   products read [0, 8192) and 40960      a has 8192 bytes or more, so b has
//   no
//                                          more than 8192: 40960 is not filled
//   products read 8192 and 40960           both boxes would have more than 8192
//
// Unknown: memory that is reached from several bases, or by addresses that
// cannot be followed, counts as met.

#ifndef D2K_LIB_PROPERTIES_ENGINE_SHAREDCONTENTS_H
#define D2K_LIB_PROPERTIES_ENGINE_SHAREDCONTENTS_H

#include "Engine/Detector.h"

#include "d2k/Analysis/SharedObjects.h"

#include <map>

namespace d2k::properties {

class SharedContents {
public:
  explicit SharedContents(Detector &detector);

  /// Whether data made of inputs, or that is not known, is put where access
  /// number \p reader reads; Yes for what is no shared memory. Takes time
  /// linear in the accesses to its object.
  Tristate isFilled(uint32_t reader) const;
  /// Whether anything reads what copy \p writer, a number of an access, puts
  /// there.
  Tristate isRead(uint32_t writer) const;

private:
  bool isKnown(uint32_t access) const;
  /// Whether a store puts data that is made of inputs, or that is not known.
  bool bringsData(uint32_t writer) const;
  /// Whether all that is read and all data that is put in \p root has a place
  /// that counts from one base.
  bool isComparable(analysis::RootId root) const;
  bool isSameSlot(uint32_t a, uint32_t b) const;
  /// Whether an access of another object for which \p counts may touch bytes of
  /// \p object: what spans slots of a ring is an object beside it.
  bool isSharedBy(analysis::SharedObjectId object,
                  llvm::function_ref<bool(uint32_t)> counts) const;
  /// Of a copy, whether its end is not known.
  bool isOpen(uint32_t access) const;
  /// Whether \p reader, in the same object as \p writer, may touch bytes of it.
  Tristate meets(uint32_t writer, uint32_t reader) const;
  /// Bytes that are certain to be read from what \p writer brings, if all that
  /// is read in its reach is of it; `gap` is how far behind its start the first
  /// of them lie.
  struct Need {
    int64_t gap = 0, bytes = 0;
  };
  Need getNeed(uint32_t writer) const;
  /// Where the next copy behind \p writer begins in its object.
  int64_t getReachEnd(uint32_t writer) const;
  /// Whether the box of \p writer can be larger than \p gap, by what its
  /// mbarrier expects.
  Tristate canReach(uint32_t writer, int64_t gap) const;

  Detector &detector;
  const analysis::KernelIndex &index;
  const analysis::SharedObjects &objects;
  llvm::ArrayRef<analysis::AccessInfo> accesses;
  /// What may write anything.
  bool isOpenWorld = false;
  /// Whether places of a root can be compared; see isComparable.
  mutable std::map<analysis::RootId, bool> comparable;
};

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_SHAREDCONTENTS_H
