// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a value is in the first, second, third iteration of a loop: the loop is
// run symbolically, one iteration after the other, so that ring indices are
// seen through in whatever way they wrap.
//
// A value is a *sum* of atoms with coefficients, and a constant. Equal
// computations of equal operands are one atom, wherever in the kernel they
// stand: two roles that work out the same address agree on it. Known constants
// are calculated with exactly; other operations are understood as far as they
// keep a sum a sum (additions, constant factors and shifts, alignment, division
// by a constant, the fields of a matrix descriptor). Everything else is an atom
// made from its operands.
//
// Example, a ring of 3 slots of 16 KiB behind @ring, t counted from 0:
//   %q = mul_wide (%t, 0xaaaaaaab); %d = shr (%q, 33)      t / 3
//   %m = sub (%t, mul_lo (%d, 3))                          t % 3
//   %a = add (@ring, shl (%m, 14))
// is @ring + 0, 16384, 32768, 0, 16384, ... in iterations 0, 1, 2, 3, 4.
// So are `if (++s == 3) s = 0`, `s ^= 1`, `t & 3` and two pointers that swap.
//
// A ring may start at any slot: an index or a counter whose start only the
// launch knows counts as starting at 0, where what is asked for is its place in
// the ring.
//
// A loop around the one that is run counts as being in its first iteration,
// which is where its constants start. A loop inside it is not run: a value that
// it steps is the start and an unknown number of steps.
//
// Not detected: values that go through memory.
//
// Unknown: an atom that belongs to one iteration only. Two of them are never
// equal, so that a sequence with one has no period. 32-bit sums are taken not
// to wrap, and a mask that keeps the low 18 bits or more of a sum to keep all
// of it (an address in shared memory has no more).
//
// Numbers that only the launch knows (the block's number, a parameter) can be
// assumed: what the kernel makes of them is then calculated. What control flow
// that is not decided then chooses is an atom made from all that it chooses
// from and by; what goes through memory is unknown.

#ifndef D2K_ANALYSIS_ITERATIONVALUES_H
#define D2K_ANALYSIS_ITERATIONVALUES_H

#include "d2k/Analysis/LoopNest.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

namespace d2k::analysis {

/// One value in one iteration: a sum of atoms, by number, and a constant. Sum 0
/// has no atoms.
struct IterationValue {
  uint32_t sum = 0;
  int64_t constant = 0;

  bool isConstant() const { return sum == 0; }
  bool operator==(const IterationValue &other) const {
    return sum == other.sum && constant == other.constant;
  }
  bool operator<(const IterationValue &other) const {
    return std::pair(sum, constant) < std::pair(other.sum, other.constant);
  }
};

class IterationValues {
public:
  IterationValues(const KernelIndex &index, const ConstantValues &constants,
                  const LoopNest &loops);

  /// From now on each first value is the second number, and what was assumed
  /// before is forgotten. Sums of different assumptions can be compared.
  void assume(llvm::ArrayRef<std::pair<ValueId, int64_t>> numbers);

  /// \p value in iteration \p iteration (from 0) of \p loop; in the code
  /// outside of loops when \p loop is kNone. Cheapest when asked in ascending
  /// order.
  IterationValue get(ValueId value, uint32_t loop, unsigned iteration);
  /// \p value as \p user finds it where its guard lets it run: what was made
  /// or chosen by the same predicate is known then.
  IterationValue getWhereRuns(ValueId value, OpId user, uint32_t loop,
                              unsigned iteration);
  /// Whether control may come to \p block in that iteration, as far as
  /// conditions are known then.
  bool mayRun(BlockId block, uint32_t loop, unsigned iteration);
  /// Whether control may go from \p from to its successor \p to then.
  bool mayTake(BlockId from, BlockId to, uint32_t loop, unsigned iteration);
  /// Whether \p value belongs to one iteration only: see "Unknown".
  bool isUnknown(IterationValue value) const;
  /// Whether \p a and \p b are certain to be different addresses: the same
  /// atoms and another constant, or places in two memory objects.
  bool differ(IterationValue a, IterationValue b) const;
  /// \p a minus \p b when they have the same atoms.
  std::optional<int64_t> distance(IterationValue a, IterationValue b) const;

  /// Whether bit 0 of \p a and \p b is certain to differ, as that of a value
  /// and of itself exclusive-or 1.
  bool differInBit0(IterationValue a, IterationValue b) const;

private:
  /// An atom and its coefficient.
  using Term = std::pair<uint32_t, int64_t>;
  using Sum = llvm::SmallVector<Term, 4>;
  /// A sum that is kept, in `storage`.
  using Terms = llvm::ArrayRef<Term>;
  /// `of` exclusive-or `bits`.
  struct Turned {
    IterationValue of;
    int64_t bits = 0;
  };
  struct Atom {
    bool unknown = false;
    /// The address of a memory object.
    bool symbol = false;
    /// Low bits that are known to be zero.
    uint8_t trailingZeros = 0;
    /// The sum of this alone.
    uint32_t sum = 0;
    std::optional<Turned> turned;
  };
  /// Where a value is looked at.
  struct Place {
    uint32_t loop;
    unsigned iteration;
  };
  /// What is known about one iteration of a loop.
  struct Frame {
    llvm::DenseMap<ValueId, IterationValue> values;
    /// By value, and by guard with its negation.
    llvm::DenseMap<std::pair<ValueId, uint64_t>, IterationValue> whereRuns;
    llvm::DenseMap<BlockId, bool> runs;
  };
  /// Good until the next frame is asked for.
  Frame &getFrame(uint32_t loop, unsigned iteration);

  IterationValue compute(ValueId value, Place place);
  IterationValue computeArg(ValueId value, BlockId block, Place place);
  IterationValue computeHeader(ValueId value, Place place);
  IterationValue computeInnerHeader(ValueId value, uint32_t inner, Place place);
  IterationValue computeOp(OpId op, unsigned result, Place place);
  /// \p value where the predicate \p holds.first is \p holds.second; what was
  /// asked for before is in \p known.
  IterationValue
  getWhere(ValueId value, std::pair<ValueId, bool> holds, Place place,
           llvm::SmallDenseMap<ValueId, IterationValue, 8> &known);
  IterationValue computeArith(OpId op, unsigned result, Place place,
                              llvm::ArrayRef<IterationValue> in);
  std::optional<IterationValue> computeBits(OpId op, Place place,
                                            llvm::ArrayRef<IterationValue> in,
                                            unsigned width);
  /// How a number that a loop carries goes on.
  enum class Wrap : uint8_t {
    /// In some other way.
    None,
    /// By the same small number each time.
    Counts,
    /// By a small number, or with bits turned over, and back to a constant.
    Wraps,
  };
  Wrap getWrap(ValueId value, uint32_t loop) const;
  bool hasSymbol(IterationValue value) const;
  /// \p value as if it began at 0, when it is a counter whose start is not
  /// known.
  IterationValue dropStart(IterationValue value, Place place) const;
  /// Whether control may go over edge number \p edge of \p from.
  bool mayTake(BlockId from, uint32_t edge, Place place);
  /// The one value that all ways agree on.
  std::optional<IterationValue>
  agree(llvm::ArrayRef<KernelIndex::Incoming> ways, Place place);
  /// What \p value may be, under assumptions: the ways that control may take,
  /// all of \p ways when none is certain to be one.
  IterationValue makeChoice(ValueId value,
                            llvm::ArrayRef<KernelIndex::Incoming> ways,
                            Place place);
  bool isInside(BlockId block, uint32_t loop) const {
    return loop == kNone || loops.contains(loop, block);
  }

  IterationValue makeConstant(int64_t constant) const { return {0, constant}; }
  IterationValue makeAtom(llvm::ArrayRef<uint64_t> key) {
    return makeAtom(key, Atom());
  }
  IterationValue makeAtom(llvm::ArrayRef<uint64_t> key, Atom atom);
  /// The atom of a function of \p operands, unknown when one of them is.
  IterationValue makeAtomOf(llvm::SmallVectorImpl<uint64_t> &key,
                            llvm::ArrayRef<IterationValue> operands);
  /// The atom of \p value; in each iteration another one when \p fresh.
  IterationValue makeOpaque(ValueId value, Place place, bool fresh);
  IterationValue makeSum(Sum sum, int64_t constant, unsigned width);
  IterationValue add(IterationValue a, IterationValue b, int64_t factor,
                     unsigned width);
  /// Floor of \p value divided by \p divisor > 0.
  IterationValue divide(IterationValue value, int64_t divisor);
  /// \p value with the low \p bits bits cleared.
  IterationValue align(IterationValue value, unsigned bits, unsigned width);
  unsigned trailingZeros(uint32_t sum) const;
  /// \p value with some bits turned over: twice is not at all.
  IterationValue turn(IterationValue value, int64_t bits);
  std::optional<Turned> getTurned(IterationValue value) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const LoopNest &loops;
  /// Of keys and sums.
  llvm::BumpPtrAllocator storage;
  std::vector<Atom> atoms;
  llvm::DenseMap<llvm::ArrayRef<uint64_t>, uint32_t> atomOf;
  std::vector<Terms> sums;
  std::vector<bool> unknownSum;
  llvm::DenseMap<Terms, uint32_t> sumOf;
  /// By loop (kNone, which is the first, plus one) and iteration.
  std::vector<std::vector<Frame>> frames;
  /// See assume.
  llvm::DenseMap<ValueId, int64_t> assumed;
  /// Sums at which counters start.
  llvm::DenseSet<uint32_t> starts;
  /// The loop that is asked about.
  uint32_t frame = kNone;
  unsigned depth = 0;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_ITERATIONVALUES_H
