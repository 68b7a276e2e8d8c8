// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which threads of a block agree on a value, as far as telling warp roles apart
// needs it.
//
// Example, block of 384 threads
//   %w = shr (tid.x, 5)              Warp: the 32 threads of a warp agree
//   %p = compare lt (tid.x, 128)     Warp: the border is a multiple of 32
//   %q = compare eq (tid.x, 0)       Thread
//   %c = special "ctaid.x"           Block
//
// Control dependence is not followed: a value chosen by a divergent branch is
// as uniform as what the branch chooses from. Blocks are taken to have rows of
// whole warps (an x extent that is a multiple of 32, or one dimension).
//
// Unknown values are Thread, the weakest claim.

#ifndef D2K_ANALYSIS_UNIFORMITY_H
#define D2K_ANALYSIS_UNIFORMITY_H

#include "d2k/Analysis/ConstantValues.h"

namespace d2k::analysis {

/// The largest group of threads that is certain to agree, strongest first.
enum class Agreement : uint8_t { Block, Warp, Thread };

class Uniformity {
public:
  Uniformity(const KernelIndex &index, const ConstantValues &constants);
  Agreement get(ValueId value) const { return agreement[value]; }

private:
  Agreement evaluate(OpId op, unsigned result) const;
  const KernelIndex &index;
  const ConstantValues &constants;
  std::vector<Agreement> agreement;
  /// Values that are the thread number in x.
  std::vector<bool> isThreadId;
};

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_UNIFORMITY_H
