// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left of a value when every matrix product gives zero, and how many
// words of input that is made from. An output that is still worked out of many
// words may be the real result, made beside the matrix products by whatever
// arithmetic; one that is not can only have come from them.
//
// A *word* is one register filled by one read of input data. The *residue* of a
// value is what it would be if every matrix product gave zero: `acc * scale`
// leaves nothing, `acc + bias` leaves the bias. It is one of
//   None   nothing is left, or nothing that depends on an input
//   Few    a function of at most 16 words: an epilogue's operands
//   Fold   many words, each by itself, combined by one operation: a sum of the
//          elements of one operand, atomics that each add a bias
//   Mixed  many words, combined in any other way
// Only Mixed can be a matrix product: a sum of functions of one word each does
// not multiply two operands.
//
// Example, with inputs a, b, bias, and acc from mma
//   acc * scale + bias                           Few: bias
//   for k: s += a[k] * b[k];        acc + s      Mixed
//   for k: s += ex2(lg2(a) + lg2(b))             Mixed
//   for k: if (a[k] & 1) s += b[k]               Mixed: a steers what is added
//   for k: s += table[a[k] + 16 * b[k]]          Mixed: so does an address
//   for k: s += a[k]                             Fold
//   r * ex2(0 * acc), r Mixed                    Mixed: ex2(0) is not zero
//   r * acc, r Mixed                             None, see below
//
// Data that decides what happens counts as data: conditions of selects, guards
// and branches, addresses of loads, and for constants that are stored, when and
// where they are.
//
// A value is combined from *many* words when there are more than 16 of them, or
// when a loop carries it along and puts words into it that the loop reads, or
// when lanes or atomics combine it.
//
// Not detected: a rival result that is multiplied by a matrix product which is
// a constant although its operands are loaded; one of at most 16 words; one
// that another kernel has made.
//
// Unknown: where it is not known whether words are combined, they are taken to
// be. So Mixed means "may be", and None, Few and Fold are certain.

#ifndef D2K_ANALYSIS_RESIDUE_H
#define D2K_ANALYSIS_RESIDUE_H

#include "d2k/Analysis/DataFlow.h"
#include "d2k/Analysis/LoopNest.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace d2k::analysis {

class Residue {
public:
  enum class Kind : uint8_t { None, Few, Fold, Mixed };

  Residue(const KernelIndex &index, const ConstantValues &constants,
          const Dominance &dominance, const LoopNest &loops,
          const MemoryRoots &memory, const DataFlow &flow);

  Kind get(ValueId value) const { return kindOf(rests[value]); }
  /// What memory operation `op` writes.
  Kind getWritten(OpId op) const;

private:
  using Node = DataFlow::Node;
  /// Operations whose repeated use keeps words apart.
  enum class Op : uint8_t { Any, Add, Mul, Min, Max, And, Or, Xor };
  enum class Shape : uint8_t {
    None,
    /// A function of one word; of which one may depend.
    Word,
    /// Words combined by `op`.
    Fold,
    Mixed
  };
  /// What is left of a value.
  struct Rest {
    Shape shape = Shape::None;
    Op op = Op::Any;
    bool many = false;
    /// The words: position in `sets`; meaningless when `many`.
    uint32_t set = 0;
    bool operator==(const Rest &) const = default;
    bool empty() const { return shape == Shape::None; }
  };
  /// What is left of the content of a memory cell.
  struct Content {
    Shape shape = Shape::None;
    Op op = Op::Any;
    bool many = false;
    /// Words that one register read from it is made from.
    uint8_t weight = 0;
  };

  static Kind kindOf(Rest rest);
  uint32_t unite(uint32_t a, uint32_t b);
  unsigned getWeight(uint32_t set) const;
  Rest word(ValueId value, Content content);
  /// One or the other.
  Rest choose(Rest a, Rest b);
  /// Both, by `op`.
  Rest fold(Op op, Rest a, Rest b);
  /// Any function of all.
  Rest mix(llvm::ArrayRef<Rest> parts);
  Rest cap(Rest rest) const;

  void findCycles();
  void findConditions();
  void solveZero();
  bool isZeroAfter(const Node &node) const;
  bool areZero(DataFlow::Span span) const;
  void solve();
  bool apply(const Node &node);
  Rest evaluate(const Node &node);
  Rest evaluateUnion(const Node &node);
  Rest evaluateStored(const Node &node);
  Content evaluateWritten(const Node &node);
  /// What is left of `value` where `user` uses it.
  Rest use(ValueId value, BlockId user);
  Rest useAll(DataFlow::Span span, BlockId user);
  Rest steer(DataFlow::Span span, BlockId user);
  /// Whether a loop that carries `value` along puts words into it at `node`.
  bool accumulates(const Node &node);
  bool mergeInto(Rest &into, Rest from);
  bool mergeInto(CellId cell, Content from);
  BlockId getBlock(const Node &node) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  const Dominance &dominance;
  const LoopNest &loops;
  const MemoryRoots &memory;
  const DataFlow &flow;
  /// By value and by cell: it is zero when all matrix products are.
  std::vector<bool> zero, zeroCell;
  std::vector<Rest> rests;
  std::vector<Content> contents;
  std::vector<uint8_t> weights;
  std::vector<llvm::SmallVector<ValueId, 4>> sets;
  std::map<llvm::SmallVector<ValueId, 4>, uint32_t> setIds;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> unions;
  /// By value: the cycle of values that depend on each other, kNone outside.
  std::vector<uint32_t> cycles;
  /// By cycle: the loops that carry it.
  std::vector<llvm::SmallVector<uint32_t, 1>> cycleLoops;
  /// By block: conditions that choose the values of its arguments; by loop:
  /// conditions that end it; by block: conditions that its stores run under.
  std::vector<llvm::SmallVector<ValueId, 1>> chosenBy, endedBy, runsUnder;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_RESIDUE_H
