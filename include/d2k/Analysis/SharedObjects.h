// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the accesses of a kernel divide shared and tensor memory into: tiles,
// barrier words, accumulators, and which slot of a ring an access is in.
//
// An *object* is a base (a variable, or one aligned up; an allocation of tensor
// memory) and a range behind it that no access outside it touches. Objects that
// repeat every `stride` bytes are *rings*: the offset of an access is
//   low + stride * slot,   slot = a constant or the value of a Ring symbol,
// and two accesses of one ring belong to one object when their offsets within
// the slot overlap. Barrier words are objects of their own (`barrier`). Offsets
// are bytes; in tensor memory they are columns.
//
// Example, dynamic shared memory `s`, a ring of 3 stages of 16 KiB, each with
// a part of X and a part of W, and three barriers behind it
//   base = (s + 1023) & ~1023,  q = i % 3
//   copy to base + 16384 * q + [0, 8192)           object 0, slot ring q
//   copy to base + 16384 * q + [8192, 16384)       object 1, slot ring q
//   ldmatrix at base + 16384 * q + [8192, 16384)   object 1, slot ring q
//   copy to base + 16384 + [0, 8192)               object 0, slot 1
//   wait at base + 49152 + 8 * q                   object 2, a barrier
// Object 0 is {low 0, bytes 8192, stride 16384, slots 3}.
//
// A copy whose length is not in the instruction (a tensor map's box) and a
// matrix that a descriptor names have no end here (`bounded` is false): their
// object reaches to the next one that starts behind it.
//
// Not detected: slots that nvcc unrolled into copies with constant offsets are
// objects of their own when no access of the kernel has a ring index.
//
// Unknown: a place without object. `isWhole` says that a base has no such
// access, so that what is not in an object is not touched.

#ifndef D2K_ANALYSIS_SHAREDOBJECTS_H
#define D2K_ANALYSIS_SHAREDOBJECTS_H

#include "d2k/Analysis/LaneForms.h"

#include "llvm/ADT/DenseSet.h"

namespace d2k::analysis {

using SharedObjectId = uint32_t;

struct SharedObject {
  /// The root and the Base symbol of LaneForms that offsets count from.
  RootId root = kNone;
  SymbolId base = kNone;
  kern::Space space = kern::Space::Shared;
  /// First byte of slot 0, and bytes of a slot; 0 when the end is not known.
  int64_t low = 0, bytes = 0;
  /// Distance of slots, 0 when there is one only.
  int64_t stride = 0;
  /// Number of slots, 0 when the ring index is not bounded.
  int64_t slots = 1;
  /// Words of mbarriers, no data.
  bool barrier = false;
};

/// Where one access goes.
struct SharedPlace {
  /// kNone when it is not known.
  SharedObjectId object = kNone;
  /// Bytes that threads touch, from the start of the slot, [low, high); only
  /// low when not `bounded`.
  int64_t low = 0, high = 0;
  bool bounded = false;
  /// The slot is `slot` plus, when it is a symbol of LaneForms, the value of
  /// `ring` times `step`.
  int64_t slot = 0;
  SymbolId ring = kNone;
  int64_t step = 1;
};

class SharedObjects {
public:
  SharedObjects(const KernelIndex &index, const MemoryRoots &memory,
                LaneForms &forms);

  llvm::ArrayRef<SharedObject> getObjects() const { return objects; }
  const SharedObject &getObject(SharedObjectId object) const {
    return objects[object];
  }
  /// Where access number `access` of MemoryRoots goes.
  const SharedPlace &getPlace(uint32_t access) const { return places[access]; }
  /// Accesses of MemoryRoots that go to `object`, ascending.
  llvm::ArrayRef<uint32_t> getAccessesTo(SharedObjectId object) const {
    return accessesTo[object];
  }
  /// Whether every access that may reach \p root has a place.
  bool isWhole(RootId root) const;
  /// The same, and all places of \p root count from one base, so that they can
  /// be compared. What spans slots of a ring is an object beside the ring.
  bool isDivided(RootId root) const {
    return isWhole(root) && !severalBases.contains(root);
  }
  /// Accesses to shared or tensor memory without a place, ascending.
  llvm::ArrayRef<uint32_t> getUnplaced() const { return unplaced; }
  /// "'smem' bytes [0, 8192) of 3 slots of 16384": for messages and tests.
  std::string describe(SharedObjectId object) const;

private:
  struct Entry {
    uint32_t access = 0;
    SymbolId base = kNone;
    int64_t low = 0, high = 0;
    bool bounded = false;
    SymbolId ring = kNone;
    int64_t factor = 0;
  };
  /// The address of access number `access`, taken out of its descriptor.
  LaneForm getAddress(uint32_t access);
  /// What is known of an access; `arena` is what its offset counts from.
  std::optional<Entry>
  makeEntry(const LaneForm &form, uint32_t access,
            std::vector<std::pair<SymbolId, int64_t>> &arena) const;
  void divide(std::vector<Entry> &entries);

  const KernelIndex &index;
  const MemoryRoots &memory;
  LaneForms &forms;
  std::vector<SharedObject> objects;
  std::vector<SharedPlace> places;
  std::vector<uint32_t> unplaced;
  /// Roots whose places count from several bases.
  llvm::DenseSet<RootId> severalBases;
  FlatLists accessesTo;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_SHAREDOBJECTS_H
