// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations take elements of at most 8 bits out of a register, as
// dequantisation does with bytes and nibbles that were loaded.
//
// The halves of a word are no such elements: they are bf16 or f16. Nor are the
// bits of a number in floating point, which expf, logf and powf shift and mask
// to get at its exponent: of one that was computed in floating point, or that
// single or double precision computes with as it is.
//
// Not detected: elements that pass through memory as numbers of such a kind.

#ifndef D2K_LIB_ANALYSIS_NARROWELEMENTS_H
#define D2K_LIB_ANALYSIS_NARROWELEMENTS_H

#include "d2k/Analysis/ConstantValues.h"

namespace d2k::analysis {

/// Whether \p op is such an operation, or may be.
bool takesNarrowElements(const KernelIndex &index,
                         const ConstantValues &constants, OpId op);

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_NARROWELEMENTS_H
