// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the 32 lanes of a warp touch with one access: sectors of global memory,
// and bank conflicts of shared memory.
//
// A *sector* is 32 bytes of global memory. The least number of sectors is what
// the bytes that the lanes use would fill. Base addresses, and strides that the
// launch chooses, are taken to be multiples of a sector, which the runs of
// whole tiles have.
//
// A *bank* is one of 32 columns of 4 bytes of shared memory. Lanes that use
// different words of one bank at a time wait for one another: the *degree* is
// the most such words, 1 without conflict. 8 bytes a lane are served in two
// halves of a warp, 16 bytes a lane, and the rows of ldmatrix and stmatrix, in
// groups of 8 lanes (CUDA C++ Programming Guide, "Shared Memory"; the groups
// are measured).
//
// Example, 4 bytes a lane
//   x + 4 * lane              4 sectors of 4
//   x + 4 * lane * k          32 sectors of 4, k a parameter
//   s + 4 * lane              degree 1
//   s + 128 * lane            degree 32
//   s + 132 * lane            degree 1
//   s + 128 * (lane / 4)      degree 8: lanes of one word count once
//
// Lanes that a guard or a branch on the thread's number leaves out are left
// out. Where an address mixes the thread's number and a loop's, the first four
// iterations are looked at and the worst is told. The worst warp of the block
// counts.
//
// Not detected: conflicts between accesses, which lanes the hardware serves
// together when a mask leaves some out, the cache.
//
// Unknown: nothing is returned, and `getBlocker` says what could not be
// followed.

#ifndef D2K_ANALYSIS_LANEADDRESSES_H
#define D2K_ANALYSIS_LANEADDRESSES_H

#include "d2k/Analysis/KernelContext.h"
#include "d2k/Analysis/LaneForms.h"

#include <array>
#include <map>

namespace d2k::analysis {

/// Sectors that a warp touches.
struct SectorCount {
  unsigned touched = 0;
  /// What the bytes used would fill.
  unsigned least = 0;
  /// Bytes that the lanes use, counted once.
  unsigned bytes = 0;
  /// All lanes use the same bytes.
  bool broadcast = false;
  /// Lanes outside of a matrix were left out of the picture.
  bool inside = false;
  /// touched <= 1.25 * least.
  bool isCoalesced() const { return 4 * touched <= 5 * least; }
};

/// Bytes of one warp, from any origin that its lanes share: of each lane the
/// first byte, and how many follow; nothing where the lane takes no part.
struct LaneSpans {
  /// One word of each bank.
  static constexpr int64_t kBankRow = 128;

  std::array<std::optional<int64_t>, 32> start;
  unsigned bytes = 0;

  /// Moves all by one multiple of \p unit, so that the first lane begins in the
  /// first unit.
  void moveToFront(int64_t unit);
};

class LaneAddresses {
public:
  explicit LaneAddresses(KernelContext &kernel) : kernel(kernel) {}

  /// Sectors of access number `access` of MemoryRoots, of global memory.
  std::optional<SectorCount> getSectors(uint32_t access);
  /// Conflict degree of access number `access`, of shared memory.
  std::optional<unsigned> getConflicts(uint32_t access);
  /// The operation that the last question failed at; kNone when none is known.
  OpId getBlocker() const { return blocker; }

  /// Bytes that one lane touches: a row of 16 for ldmatrix and stmatrix.
  std::optional<unsigned> getLaneBytes(uint32_t access);

  static unsigned countConflicts(const LaneSpans &spans);
  static SectorCount countSectors(const LaneSpans &spans);

private:
  /// What the lanes' bytes depend on, but for a multiple of some unit.
  struct Pattern {
    ValueId address;
    int64_t offset;
    unsigned bytes, lanes;
    BlockId block;
    /// Of the operation, and what its address is used under.
    ValueId guard;
    bool isNegated;
    std::optional<std::pair<ValueId, bool>> used;
    auto operator<=>(const Pattern &) const = default;
  };
  /// What was found out for all accesses of one pattern.
  template <typename T>
  struct Answer {
    std::optional<T> value;
    OpId blocker = kNone;
  };
  /// Stands for the access itself as its blocker.
  static constexpr OpId kAccess = kNone - 1;

  /// The pattern of access number `access`, with its offset below \p unit;
  /// nothing when its lanes have no bytes of their own.
  std::optional<Pattern> getPattern(uint32_t access, int64_t unit);
  /// Answers from \p known, or with what \p find says.
  template <typename T>
  std::optional<T> answer(std::map<Pattern, Answer<T>> &known, uint32_t access,
                          int64_t unit,
                          llvm::function_ref<std::optional<T>()> find);
  /// Lanes that name addresses.
  unsigned getLanes(OpId op) const;
  /// The spans of each warp; nothing when they are not known.
  std::optional<std::vector<LaneSpans>>
  getSpans(uint32_t access, LaneForms &forms, bool isGlobal);
  /// All iterations that are looked at.
  std::vector<LaneSpans> getAllSpans(uint32_t access, bool isGlobal);

  KernelContext &kernel;
  OpId blocker = kNone;
  bool inside = false;
  /// Unrolled loops repeat what they do.
  std::map<Pattern, Answer<SectorCount>> sectors;
  std::map<Pattern, Answer<unsigned>> conflicts;
  /// What depends on a guard, and the forms while it has one value or the
  /// other, made when they are needed.
  struct Guarded {
    llvm::BitVector dependents;
    std::unique_ptr<LaneForms> forms;
  };
  /// By the guard and its value.
  std::map<std::pair<ValueId, bool>, Guarded> guarded;
  /// Forms by iteration, made when they are needed.
  std::array<std::unique_ptr<LaneForms>, 4> iterations;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_LANEADDRESSES_H
