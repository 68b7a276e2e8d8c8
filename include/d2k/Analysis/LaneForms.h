// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers by thread: an address is written as
//   c1 * symbol1 + c2 * symbol2 + ... + a number of each thread,
// where a symbol is the same in all lanes of a warp, and what depends on the
// thread's number is worked out for every thread of a block. Shifts, masks,
// exclusive-ors and choices by the thread's number are numbers like any other,
// so that a swizzled address is known as exactly as a plain one.
//
// Kinds of symbols
//   Base    where an address comes from: a variable, the pointer in a
//           parameter, or one of these aligned up
//   Launch  a number of the launch: a parameter, the shape of the grid
//   Index   differs between blocks: ctaid and what is computed from it
//   Loop    the number of a loop's iteration
//   Ring    takes few values, all of them known: a ring index, i % 3, a buffer
//           that is swapped
//   Other   anything else that a warp agrees on
//
// Example, block of 64 threads, `base` 128-aligned
//   %t = special tid.x                      0, 1, ..., 63
//   %r = shr (%t, 2)                        0, 0, 0, 0, 1, ..., 15
//   %c = xor (and (%t, 3), and (%r, 3))     0, 1, 2, 3, 1, 0, 3, 2, ...
//   %s = phi (0, %s == 2 ? 0 : %s + 1)      ring1, one of 0, 1, 2
//   %a = base + 4096 * %s + 64 * %r + 16 * %c
//        base0 + 4096*ring1 + {0, 16, 32, 48, 80, 64, ...}
//
// A choice between an address that differs by lane and one that does not is
// taken for the former (`inside`): that is how code keeps reads inside a
// matrix, and what is said holds for tiles away from the border.
//
// Not detected: numbers that lanes load or that lanes of other warps choose,
// products of two numbers of threads and symbols of more than 4 factors,
// arithmetic that wraps around where symbols take part.
//
// Unknown: `known` is false, and `blocker` is the operation that could not be
// followed, kNone for a value that control flow chooses.

#ifndef D2K_ANALYSIS_LANEFORMS_H
#define D2K_ANALYSIS_LANEFORMS_H

#include "d2k/Analysis/LoopNest.h"
#include "d2k/Analysis/MemoryRoots.h"
#include "d2k/Analysis/Uniformity.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

#include <map>
#include <memory>

namespace d2k::analysis {

/// The extents of a block.
struct BlockShape {
  unsigned x = 1, y = 1, z = 1;
  /// Declared by the kernel, or only x is used and bounded by the kernel.
  bool known = false;
  unsigned getThreads() const { return x * y * z; }
};

/// The block that the kernel declares, or the largest that it allows, as one
/// row where nothing else is known. When y or z of the thread's number are
/// read and the block is not declared, rows of 32 threads, which is not
/// `known`.
BlockShape findBlockShape(const KernelIndex &index);

/// One number of each thread of a block, or one for all.
class ThreadNumbers {
public:
  ThreadNumbers(int64_t all = 0) : all(all) {}
  explicit ThreadNumbers(std::vector<int64_t> numbers);

  bool isSame() const { return !each; }
  /// The number of all threads; asserts isSame().
  int64_t getSame() const {
    assert(!each && "threads have different numbers");
    return all;
  }
  int64_t operator[](unsigned thread) const {
    return each ? (*each)[thread] : all;
  }
  /// One number when isSame(), else those of all threads.
  const int64_t *data() const { return each ? each->data() : &all; }
  int64_t getLow() const;
  int64_t getHigh() const;
  /// Largest power of two, up to 2^40, that divides all numbers.
  unsigned getTrailingZeros() const;
  bool isZero() const { return !each && all == 0; }
  /// Whether the lanes of each warp have one number.
  bool isSameInWarps() const;
  bool operator==(const ThreadNumbers &other) const;

private:
  int64_t all = 0;
  std::shared_ptr<const std::vector<int64_t>> each;
};

using SymbolId = uint32_t;

/// See the top of this file.
struct LaneForm {
  bool known = true;
  bool inside = false;
  OpId blocker = kNone;
  /// Symbol and factor, by ascending symbol; no factor is 0.
  llvm::SmallVector<std::pair<SymbolId, ThreadNumbers>, 2> terms;
  ThreadNumbers rest;

  bool isNumber() const { return known && terms.empty(); }
  bool isConstant() const { return isNumber() && rest.isSame(); }
  /// The factor of `symbol`, 0 when it has none.
  ThreadNumbers getFactor(SymbolId symbol) const;
  bool operator==(const LaneForm &other) const {
    return known == other.known && terms == other.terms && rest == other.rest;
  }
};

enum class LaneSymbolKind : uint8_t { Base, Launch, Index, Loop, Ring, Other };

struct LaneSymbol {
  LaneSymbolKind kind = LaneSymbolKind::Other;
  /// Power of two that its value is a multiple of.
  uint64_t alignment = 1;
  /// Inclusive, when known.
  Range range;
  /// For Base: the root.
  RootId root = kNone;
  /// For Base: how far it may lie behind the root when it was aligned up.
  int64_t slack = 0;
  /// For Loop: the loop.
  uint32_t loop = kNone;
  /// For Ring: the values, ascending, no two equal.
  llvm::SmallVector<int64_t, 4> values;
  /// For a Ring that is a function of another one, such as the next slot: that
  /// one, and the value here for each value there.
  SymbolId source = kNone;
  llvm::SmallVector<int64_t, 4> table;
  /// A value of the kernel that is this symbol; kNone when it is none alone.
  ValueId value = kNone;
};

/// What a symbol was made by, for those that are taken up again.
struct LaneOrigin {
  std::shared_ptr<const LaneForm> of;
  /// floor(of / by), when by > 0; without remainder when `exact`.
  int64_t by = 0;
  bool exact = false;
  /// `of` shifted right, when not 0.
  unsigned shift = 0;
};

/// Symbols by what they were made by. Copies are cheap: they share the keys.
class LaneSymbolKeys {
public:
  struct Entry {
    SymbolId second;
  };
  /// The entry of \p key, which stays where it is, and whether it is new; a
  /// new one has \p symbol.
  std::pair<Entry *, bool> try_emplace(llvm::ArrayRef<int64_t> key,
                                       SymbolId symbol) {
    auto found = entries.find(key);
    if (found != entries.end())
      return {found->second, false};
    Entry *entry = new (*memory) Entry{symbol};
    entries[key.copy(*memory)] = entry;
    return {entry, true};
  }

private:
  llvm::DenseMap<llvm::ArrayRef<int64_t>, Entry *> entries;
  std::shared_ptr<llvm::BumpPtrAllocator> memory =
      std::make_shared<llvm::BumpPtrAllocator>();
};

class LaneForms {
public:
  /// With \p iteration, loops and ring indices are no
  /// symbols: every loop is in that iteration, or in its last one when it has
  /// fewer.
  LaneForms(const KernelIndex &index, const ConstantValues &constants,
            const Dominance &dominance, const LoopNest &loops,
            const MemoryRoots &memory, const Uniformity &uniformity,
            BlockShape shape, std::optional<unsigned> iteration = std::nullopt);
  /// The forms of \p base where a predicate has a value: what is chosen by its
  /// opposite is left out. Those of all but \p dependents, which getDependents
  /// gives for the predicate, are taken over.
  LaneForms(const LaneForms &base, std::pair<ValueId, bool> assumed,
            const llvm::BitVector &dependents);
  /// The forms in one iteration; see above. It counts as work of \p base.
  LaneForms(const LaneForms &base, unsigned iteration);

  const BlockShape &getShape() const { return shape; }
  /// Threads that numbers are worked out for: a multiple of 32, up to 1024.
  unsigned getNumThreads() const { return numThreads; }

  /// The form of `value`, an integer of 16 to 64 bits. The reference is good
  /// until the next call.
  const LaneForm &get(ValueId value);
  const LaneSymbol &getSymbol(SymbolId symbol) const { return symbols[symbol]; }
  /// Where the form's address comes from: its only Base symbol of factor 1;
  /// kNone when there is none or several.
  SymbolId getBase(const LaneForm &form) const;
  /// The symbol of \p root, an allocation or a pointer of the kernel, as the
  /// base of an address; \p value is one that holds it, kNone when none does.
  SymbolId getBaseOf(RootId root, ValueId value = kNone);
  /// Smallest and largest value that any thread has.
  Range getRange(const LaneForm &form) const;
  /// Whether lanes of a warp agree.
  static bool isSameInWarps(const LaneForm &form);

  /// The predicate that must hold, or must not, where `op` uses its address:
  /// its guard, or that of a copy which reads nothing otherwise.
  std::optional<std::pair<ValueId, bool>> getGuard(OpId op) const;
  /// By value, whether it is chosen by \p predicate, through a guard or a
  /// selection, or made from such a value.
  llvm::BitVector getDependents(ValueId predicate) const;
  /// Whether \p value, or one that decides which threads run `op`, is in
  /// \p dependents.
  bool isDependent(OpId op, ValueId value,
                   const llvm::BitVector &dependents) const;
  /// Threads that may run `op`, by guards and branches on their numbers.
  std::vector<bool> getActive(OpId op);
  /// How many threads getActive() has for \p op.
  unsigned countActive(OpId op);
  /// No form is worked out any more: the kernel has taken too long, and what is
  /// not known yet stays unknown.
  bool isExhausted() const { return *work > maxWork; }

  LaneForm add(const LaneForm &a, const LaneForm &b, int64_t factor = 1);
  LaneForm multiply(const LaneForm &a, int64_t factor);

  /// For tests: "base0 + 4096*ring1 + {0, 16, ...}"; the numbers of the first
  /// `lanes` threads.
  std::string toString(const LaneForm &form, unsigned lanes = 8) const;

private:
  using Key = std::vector<int64_t>;
  /// Who takes part in choices; see getDependents.
  struct Choices {
    /// By value, the block arguments that it is passed to, and by predicate
    /// without negations, what it chooses.
    std::vector<llvm::SmallVector<ValueId, 1>> passedTo;
    llvm::DenseMap<ValueId, llvm::SmallVector<ValueId, 4>> chosenBy;
  };

  const std::vector<bool> &getActiveIn(BlockId block);

  SymbolId makeSymbol(LaneSymbol symbol, LaneOrigin origin = {});
  static LaneForm unknown(OpId blocker);
  LaneForm ofSymbol(SymbolId symbol) const;
  static LaneForm ofNumber(int64_t number);
  /// A symbol for `value` when lanes agree on it, else unknown.
  LaneForm atom(ValueId value);
  /// A symbol for the function `code` of uniform forms; \p range may be full.
  LaneForm function(int64_t code, llvm::ArrayRef<const LaneForm *> of, OpId op,
                    Range range, uint64_t alignment = 1,
                    LaneOrigin origin = {});
  LaneSymbolKind kindOf(const LaneForm &form) const;
  unsigned getTermAlignment(const std::pair<SymbolId, ThreadNumbers> &t) const;
  /// What an address in shared memory, or the part of one that a descriptor
  /// holds, is below; 0 for other forms.
  int64_t getSharedEnd(const LaneForm &form) const;
  /// Power of two that divides all terms.
  unsigned getTermsAlignment(const LaneForm &form) const;

  LaneForm product(const LaneForm &a, const LaneForm &b, OpId op);
  LaneForm shiftRight(const LaneForm &a, unsigned by, bool isSigned,
                      unsigned width, OpId op);
  LaneForm bitwise(llvm::ArrayRef<const LaneForm *> in, uint8_t table,
                   unsigned width, OpId op);
  LaneForm divide(const LaneForm &a, int64_t by, bool remainder, OpId op);
  LaneForm choose(const LaneForm *condition, const LaneForm &a,
                  const LaneForm &b, ValueId value, OpId op,
                  bool uniformChoice = false);
  void foldRemainder(LaneForm &form);
  /// Makes one term of the terms that are functions of one ring index.
  void foldRings(LaneForm &form);
  /// `form` for each value of the ring index in it; itself when it has none.
  llvm::SmallVector<LaneForm, 8> expandRing(const LaneForm &form);
  /// What takes `outcomes` for the values of ring index `source`.
  LaneForm ofTable(SymbolId source, llvm::SmallVector<int64_t, 8> outcomes);
  /// The function \p fn of forms that depend on one ring index alone, worked
  /// out for each of its values.
  std::optional<LaneForm> tabulate(
      llvm::ArrayRef<const LaneForm *> in,
      llvm::function_ref<std::optional<int64_t>(llvm::ArrayRef<int64_t>)> fn);
  LaneForm computeCompare(kern::CompareOp compare, OpId op, ValueId value);

  LaneForm compute(ValueId value);
  LaneForm computeOp(ValueId value);
  LaneForm computeArith(kern::ArithOp arith, OpId op, ValueId value);
  LaneForm computeSpecial(llvm::StringRef reg, ValueId value);
  LaneForm computeLoad(kern::LoadOp load, ValueId value);
  LaneForm computeShuffle(kern::ShuffleOp shuffle, OpId op, ValueId value);
  LaneForm computeArg(ValueId value);
  LaneForm computeLoopArg(ValueId value, uint32_t loop);
  std::optional<LaneForm> findStep(ValueId value, uint32_t loop);
  std::optional<LaneForm> findRing(ValueId value);
  LaneForm computeJoin(ValueId value);
  std::optional<LaneForm> ringOf(llvm::ArrayRef<LaneForm> values,
                                 ValueId value);
  /// Whether control comes to `block` through edge `in` when the branch that
  /// decides it goes as `condition` says; see findRing.
  std::optional<std::pair<ValueId, bool>>
  getEdgeCondition(const KernelIndex::Incoming &in, BlockId block) const;

  /// Evaluates the slice behind `value` with `state` as value of `of`.
  LaneForm evaluateAt(ValueId value, ValueId of, const LaneForm &state);
  void collectStates(ValueId value, llvm::SmallVectorImpl<ValueId> &states,
                     llvm::SmallVectorImpl<ValueId> &visited) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  const Uniformity &uniformity;
  BlockShape shape;
  std::optional<unsigned> iteration;
  std::optional<std::pair<ValueId, bool>> assumed;
  unsigned numThreads;
  std::vector<LaneSymbol> symbols;
  std::vector<LaneOrigin> origins;
  std::vector<llvm::SmallVector<SymbolId, 2>> factors;
  std::vector<std::shared_ptr<const LaneForm>> forms;
  /// By value, how many others were being worked out when it was asked for;
  /// kNone for one that is not being worked out.
  std::vector<uint32_t> asked;
  /// Values whose forms were computed since the outermost loop-carried value
  /// that is being looked at.
  std::vector<ValueId> made;
  LaneSymbolKeys symbolOf;
  mutable std::shared_ptr<const Choices> choices;
  std::map<uint32_t, SymbolId> loopSymbols;
  /// Forms that may be unknown only because what asked for them takes part in
  /// them; they are forgotten as soon as that has its form.
  std::vector<ValueId> tentative;
  /// The first value that was asked for again while it was worked out, as a
  /// number of `asked`, since the innermost one of them was asked for.
  uint32_t lowestCut = kNone;
  LaneForm cut;
  /// `predicate` without the negations around it; each one turns `holds`.
  ValueId stripNot(ValueId predicate, bool &holds) const;
  unsigned depth = 0;
  /// Numbers of threads worked out for this kernel, and how many there may be.
  std::shared_ptr<uint64_t> work = std::make_shared<uint64_t>(0);
  uint64_t maxWork = 0;
  /// By block, the threads that branches lead there.
  llvm::DenseMap<BlockId, std::vector<bool>> activeIn;
  /// By block, guard, and whether the guard is negated.
  llvm::DenseMap<std::pair<BlockId, uint64_t>, unsigned> numActive;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_LANEFORMS_H
