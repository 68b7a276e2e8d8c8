// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a value is computed from, close by.

#ifndef D2K_LIB_ANALYSIS_VALUESLICE_H
#define D2K_LIB_ANALYSIS_VALUESLICE_H

#include "d2k/Analysis/ConstantValues.h"
#include "d2k/Analysis/KernelIndex.h"

#include "llvm/ADT/SetVector.h"

namespace d2k::analysis {

/// What `value` is worked out of, itself included, up to loads and joins of
/// control; nearest first, without constants; it stops at 64 values.
llvm::SetVector<ValueId> getSlice(const KernelIndex &index,
                                  const ConstantValues &constants,
                                  ValueId value);

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_VALUESLICE_H
