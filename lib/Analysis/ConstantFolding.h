// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What integer operations of kern make of constants and of ranges: functions of
// their operands alone, without the kernel around them. ConstantValues knows
// which operands are constant.

#ifndef D2K_LIB_ANALYSIS_CONSTANTFOLDING_H
#define D2K_LIB_ANALYSIS_CONSTANTFOLDING_H

#include "d2k/Analysis/ConstantValues.h"

namespace d2k::analysis {

/// The low `width` bits of `value`.
uint64_t mask(uint64_t value, unsigned width);
/// The low `width` bits of `value`, read as a signed number.
int64_t asSigned(uint64_t value, unsigned width);
bool isSignedType(kern::ElementType type);

/// What an operation does with integers, read once for many numbers.
struct IntegerFunction {
  explicit IntegerFunction(kern::ArithOp op);
  kern::ArithKind kind;
  /// Bits of its type; 0 when it is none of integers that wrap around.
  unsigned bits = 0;
  bool isSigned = false;
};

/// Value of an integer or bitwise function of constants; nothing when it is not
/// known.
std::optional<uint64_t> foldArith(const IntegerFunction &function,
                                  llvm::ArrayRef<uint64_t> in);
/// An operand of many threads: that of thread t is numbers[t * step], of which
/// `width` bits count.
struct OperandNumbers {
  const int64_t *numbers = nullptr;
  unsigned step = 0, width = 0;
};
/// foldArith of each thread, as a signed number of \p width bits. False, and
/// \p out means nothing, when it is not known for all of them; a kind that is
/// rare among addresses is not known here.
bool foldArithEach(const IntegerFunction &function,
                   llvm::ArrayRef<OperandNumbers> in, unsigned width,
                   llvm::MutableArrayRef<int64_t> out);
/// What a comparison does, read once for many numbers.
struct IntegerComparison {
  IntegerComparison(kern::CompareOp op);
  kern::Compare predicate;
  /// Bits of its type; 0 when it compares no integers.
  unsigned bits = 0;
  bool isSigned = false;
};
/// The comparison itself, without what it is combined with.
std::optional<bool> foldCompare(const IntegerComparison &comparison, uint64_t x,
                                uint64_t y);

/// The same for numbers in single or double precision. Nothing for other types,
/// and for numbers that the machine may take for zero (subnormal ones).
std::optional<bool> foldFloatCompare(kern::CompareOp op, uint64_t x,
                                     uint64_t y);

/// What a conversion does, read once for many numbers.
struct NumberConversion {
  NumberConversion(kern::ConvertOp op);
  unsigned fromBits, toBits;
  bool isFloat, isFromSigned, isToSigned, saturates;
};
/// Conversion between integers, or of a zero, which is zero in every format.
std::optional<uint64_t> foldConvert(const NumberConversion &conversion,
                                    uint64_t x, unsigned width);
/// The truth table of a bitwise operation as in `lop3`: bit 4a + 2b + c is the
/// result for the bits a, b and c. Nothing for other operations.
std::optional<uint8_t> getTruthTable(kern::ArithOp op,
                                     std::optional<uint64_t> table);
/// Decides `x ? y` for all numbers of two ranges.
std::optional<bool> compareRanges(kern::CompareOp op, Range x, Range y);
/// Decides `x ? x` for an integer x.
std::optional<bool> compareSame(kern::CompareOp op);

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_CONSTANTFOLDING_H
