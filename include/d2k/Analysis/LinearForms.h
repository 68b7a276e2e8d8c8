// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers as sums: an address or a coordinate is written as
//   c1 * symbol1 + c2 * symbol2 + ... + a remainder in [low, high],
// so that two of them can be compared although neither is a constant.
//
// A *symbol* is something that is not taken apart further. Equal computations
// of equal operands are one symbol, wherever they stand. Its *kind* says what
// makes it differ:
//   Launch   the same in every thread of the launch: a parameter, the shape of
//            the grid or of a block, and what is computed from these alone
//   Index    may differ between blocks: ctaid, and what is computed from it
//   Loop     the number of a loop's iteration times a step
//   Other    anything else: a loaded value, a ring index, a nonlinear function
//            of the thread's number
// A value with a known small range (the thread's number, a masked index) is no
// symbol but part of the remainder.
//
// Example
//   %n = kern.load param u32 [%pn]         1 * n, n is a Launch symbol
//   %o = shl (%n, 2)                       4 * n
//   %t = and (tid.x, 31)                   [0, 31]
//   %a = add (address_of @s, %o)           4 * n
//   %w = mad (%t, 16, %a)                  4 * n + [0, 496]
//   %r = add (address_of @s, 64)           64
// `compare(w, r)`: the launch parts are 4 * n and 0, so that it is not known
// whether the two are near each other.
//
// Not detected: products of two sums, that a choice takes one of two sums,
// loops with several steps, wrapped ring indices (these are Other). 32-bit
// arithmetic is taken not to wrap.
//
// Unknown: a form with Other symbols, whose value may be anything.

#ifndef D2K_ANALYSIS_LINEARFORMS_H
#define D2K_ANALYSIS_LINEARFORMS_H

#include "d2k/Analysis/LoopNest.h"

#include "llvm/ADT/SmallVector.h"

#include <map>

namespace d2k::analysis {

/// What makes a symbol differ; see the top of this file. A function of several
/// symbols is of the greatest of their kinds.
enum class SymbolKind : uint8_t { Fixed, Launch, Index, Loop, Other };

/// A sum of symbols and a remainder.
struct LinearForm {
  /// Symbol and coefficient, by ascending symbol; no coefficient is 0.
  llvm::SmallVector<std::pair<uint32_t, int64_t>, 4> terms;
  /// The remainder, inclusive.
  int64_t low = 0, high = 0;

  bool isConstant() const { return terms.empty() && low == high; }
  /// This plus `factor` times `other`.
  LinearForm plus(const LinearForm &other, int64_t factor) const;
  LinearForm times(int64_t factor) const {
    return LinearForm().plus(*this, factor);
  }
};

class LinearForms {
public:
  LinearForms(const KernelIndex &index, const ConstantValues &constants,
              const LoopNest &loops);

  /// The form of `value`, an integer of 16 to 64 bits. Memory objects count as
  /// 0, so that addresses of one root can be compared.
  const LinearForm &get(ValueId value);
  SymbolKind getKind(uint32_t symbol) const { return symbols[symbol].kind; }
  /// The part of `form` that all threads of the launch agree on and that is not
  /// a constant: its Launch terms.
  LinearForm getLaunchPart(const LinearForm &form) const;
  /// For a Loop symbol, the loop; kNone for others.
  uint32_t getLoop(uint32_t symbol) const { return symbols[symbol].loop; }
  /// How far the value of Loop symbol `symbol` moves in one iteration.
  const LinearForm &getStep(uint32_t symbol) const {
    return symbols[symbol].step;
  }
  /// For tests: "4*launch0 + loop1 + [0, 496]".
  std::string toString(const LinearForm &form) const;

private:
  struct Symbol {
    SymbolKind kind = SymbolKind::Other;
    uint32_t loop = kNone;
    LinearForm step;
  };
  LinearForm compute(ValueId value);
  LinearForm computeArg(ValueId value);
  /// The form of loop-carried `value`, whose own symbol is `self`.
  LinearForm seeThrough(ValueId value, uint32_t loop, const LinearForm &self);
  LinearForm computeOp(ValueId value);
  /// The product of `form` and `factor`, a single symbol.
  LinearForm scale(const LinearForm &form, uint32_t factor);
  uint32_t makeSymbol(Symbol symbol);
  /// A value that is not taken apart.
  LinearForm atom(ValueId value);
  /// Number of the computation of `value`: the same for equal computations.
  uint32_t getNumber(ValueId value);
  SymbolKind getKindOf(ValueId value);

  const KernelIndex &index;
  const ConstantValues &constants;
  const LoopNest &loops;
  std::vector<Symbol> symbols;
  std::vector<std::optional<LinearForm>> forms;
  std::vector<uint32_t> numbers;
  std::vector<uint8_t> kinds;
  std::map<std::vector<uint64_t>, uint32_t> numberOf;
  std::map<uint32_t, uint32_t> symbolOfNumber;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> products;
  std::map<std::vector<int64_t>, uint32_t> steps;
  /// Values whose forms were computed since the outermost loop-carried value
  /// that is being seen through.
  std::vector<ValueId> made;
  unsigned depth = 0;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_LINEARFORMS_H
