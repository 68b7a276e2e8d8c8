// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which multiply-adds of floating point build up a sum of products, and which
// are affine maps: the last one of a normalisation is fma(x * r, gain, shift),
// and its addend is no sum.
//
// What additions, subtractions, multiply-adds (by their addend) and joins of
// control connect is one *sum* when a loop carries it, when it starts at zero
// or at a product of two values that hold no products themselves, or when it is
// kept in memory.
//
// Example: `s = 0; for i: s = fma(a[i], b[i], s)` is one; of
// `y = fma(x, r, b)` behind `r = rsqrt(q)`, `for i: q = fma(x, x, q)`, q is one
// and y is none.
//
// Not detected: a running maximum that a choice makes of sums.
//
// Unknown: what is neither is taken for a map.

#ifndef D2K_ANALYSIS_PRODUCTSUMS_H
#define D2K_ANALYSIS_PRODUCTSUMS_H

#include "d2k/Analysis/ConstantValues.h"
#include "d2k/Analysis/DataFlow.h"
#include "d2k/Analysis/LoopNest.h"
#include "d2k/Analysis/Provenance.h"

#include "llvm/ADT/BitVector.h"

namespace d2k::analysis {

/// What a sum or a difference of floating point is made of, or a block argument
/// is passed; nothing for other values.
llvm::SmallVector<ValueId, 3> getSummands(const KernelIndex &index,
                                          ValueId value);

class ProductSums {
public:
  ProductSums(const KernelIndex &index, const ConstantValues &constants,
              const LoopNest &loops, const Provenance &provenance,
              const DataFlow &flow);

  /// Whether multiply-add \p op adds to a sum.
  bool builds(OpId op);

private:
  ValueId find(ValueId value);

  const DataFlow &flow;
  /// By value, one that is connected to it; itself for one of each sum.
  std::vector<ValueId> parent;
  llvm::BitVector isSum;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_PRODUCTSUMS_H
