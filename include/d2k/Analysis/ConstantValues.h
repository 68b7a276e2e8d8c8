// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse conditional constant propagation over one kernel: which values are
// constant, which blocks and edges can be executed, and in which range an
// integer value lies.
//
// Example
//   %c = kern.constant 0 : i32
//   %p = kern.compare ne u32 (%c, %c)      constant 0
//   kern.cond_br %p, ^a, ^b                edge to ^a not executable; ^a is
//                                          unreachable unless others go there
//   %t = kern.special "tid.x"              range [0, maxntid.x - 1]
//   %l = kern.arith and b32 (%t, 31)       range [0, 31]
//
// Also folded: what an operation makes of anything, such as x ^ x, x & 0, a
// shift by the width, or tid.x > 5000.
//
// Not detected: values known through memory, relations between values, values
// that a branch condition implies. Floating-point numbers are compared, but
// arithmetic with them is not folded, and values wider than 64 bits are never
// constant.
//
// Unknown: isConstant false, range full. A block that is not reachable is
// certain to be dead; a reachable one may still be dead.

#ifndef D2K_ANALYSIS_CONSTANTVALUES_H
#define D2K_ANALYSIS_CONSTANTVALUES_H

#include "d2k/Analysis/KernelIndex.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace d2k::analysis {

/// An inclusive range of integers; `full` when nothing is known. A register is
/// read as signed when the range holds negative numbers, and otherwise signed
/// and unsigned reading agree.
struct Range {
  int64_t low = 0, high = 0;
  bool full = true;

  static Range of(int64_t low, int64_t high) { return {low, high, false}; }
  bool isNonNegative() const { return !full && low >= 0; }
};

/// What is known of values from elsewhere, such as the launch: they are this
/// constant, or in this range, whatever their operation would make of it.
struct KnownValues {
  llvm::DenseMap<ValueId, uint64_t> constants;
  llvm::DenseMap<ValueId, Range> ranges;
};

class ConstantValues {
public:
  /// \p known, when given, has to outlive the analysis.
  explicit ConstantValues(const KernelIndex &index,
                          const KnownValues *known = nullptr);

  /// Bits of `value` when it is the same constant in every execution.
  std::optional<uint64_t> get(ValueId value) const {
    if (states[value] != State::Constant)
      return std::nullopt;
    return bits[value];
  }
  bool isZero(ValueId value) const {
    return states[value] == State::Constant && bits[value] == 0;
  }
  /// Constant zero when read as floating point, of either sign.
  bool isFloatZero(ValueId value, kern::ElementType type) const;
  /// The bits of `value` as a signed number of the register's width.
  std::optional<int64_t> getSigned(ValueId value) const;
  Range getRange(ValueId value) const { return ranges[value]; }

  bool isReachable(BlockId block) const { return reachable[block]; }
  bool isExecutableEdge(uint32_t edge) const { return executable[edge]; }
  /// Whether the operation may run: its block is reachable and its guard is
  /// not constantly off.
  bool mayRun(OpId op) const;

private:
  enum class State : uint8_t { Undefined, Constant, Varying };
  struct Lattice {
    State state = State::Undefined;
    uint64_t bits = 0;
  };
  Lattice get(ValueId value, int) const { return {states[value], bits[value]}; }
  void solve();
  void evaluate(OpId op);
  void evaluateTerminator(OpId op);
  void reach(uint32_t edge, BlockId to);
  void meetInto(ValueId value, Lattice with);
  void visitArgs(uint32_t edge, BlockId block);
  /// The constant that `value` is known to be.
  std::optional<uint64_t> getKnown(ValueId value) const;
  void computeRanges();
  Range rangeOf(OpId op, unsigned resultNo) const;
  /// The result of `op` when it is the same for all values of the operands
  /// that are not constant.
  std::optional<uint64_t> foldPartly(kern::ArithOp op,
                                     mlir::ValueRange operands) const;
  /// The outcome of the comparison itself, without what it is combined with.
  std::optional<bool> decide(OpId compare) const;
  /// Notes which comparisons the ranges decide; false when none.
  bool decideByRanges();

  const KernelIndex &index;
  const KnownValues *known;
  std::vector<State> states;
  std::vector<uint64_t> bits;
  std::vector<Range> ranges;
  llvm::DenseMap<OpId, bool> decided;
  std::vector<bool> reachable, executable;
  std::vector<OpId> worklist;
  std::vector<bool> queued;
  std::vector<BlockId> blockWorklist;
};

/// Bits of a register of type `type`; 0 for anything else.
unsigned getWidth(mlir::Type type);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_CONSTANTVALUES_H
