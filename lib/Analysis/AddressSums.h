// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses as sums of values, so that two that are computed in different ways
// can be told to be the same.
//
// Example
//   %i = mad (ctaid.x, 256, tid.x)
//   %a = mad_wide (%i, 4, %o)            4*%i ... 1024*ctaid.x + 4*tid.x + o
//   %h = mad_wide (shl (%i, 1), 2, %o)   the same
//
// Not detected: sums that wrap around are taken not to; what a choice, a mask
// or a remainder makes is a value by itself.

#ifndef D2K_LIB_ANALYSIS_ADDRESSSUMS_H
#define D2K_LIB_ANALYSIS_ADDRESSSUMS_H

#include "d2k/Analysis/ConstantValues.h"
#include "d2k/Analysis/KernelIndex.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <optional>
#include <string>

namespace d2k::analysis {

class AddressSums {
public:
  using Terms = llvm::SmallVector<std::pair<ValueId, int64_t>, 4>;
  /// Values and factors, by ascending value, no factor 0, and a number.
  struct Sum {
    Terms terms;
    int64_t number = 0;
  };

  AddressSums(const KernelIndex &index, const ConstantValues &constants)
      : index(index), constants(constants) {}

  /// Special registers and parameters that are read twice are one value.
  Sum get(ValueId value) { return compute(value, 0); }
  /// Whether \p value is the same whenever it is computed: it is made from
  /// special registers and parameters.
  bool isFixed(ValueId value, unsigned depth = 0) const;
  /// Whether it is the same in all threads of a block, too.
  bool isSameInBlock(ValueId value) const;
  /// What \p value is in each of the first \p numThreads threads of a block of
  /// one row, when it is made from their numbers alone.
  std::optional<std::vector<int64_t>>
  getByThread(ValueId value, unsigned numThreads, unsigned depth = 0);

private:
  Sum compute(ValueId value, unsigned depth);
  Sum atom(ValueId value);
  bool isParameter(OpId op) const;

  const KernelIndex &index;
  const ConstantValues &constants;
  llvm::DenseMap<ValueId, Sum> sums;
  std::map<std::string, ValueId> specials;
  std::map<std::pair<ValueId, int64_t>, ValueId> parameters;
};

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_ADDRESSSUMS_H
