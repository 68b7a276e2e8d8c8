// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block that a kernel was written for, where it does not declare it.

#ifndef D2K_LIB_ANALYSIS_BLOCKSHAPE_H
#define D2K_LIB_ANALYSIS_BLOCKSHAPE_H

#include "d2k/Analysis/KernelContext.h"
#include "d2k/Analysis/LaneForms.h"

namespace d2k::analysis {

/// The largest block of a usual shape that stays inside of all arrays in shared
/// memory and fills one; nothing when no array has a size or no shape fits.
/// \p make works out the forms for a shape.
std::optional<BlockShape> guessBlockShape(
    KernelContext &kernel,
    llvm::function_ref<std::unique_ptr<LaneForms>(BlockShape)> make);

} // namespace d2k::analysis

#endif // D2K_LIB_ANALYSIS_BLOCKSHAPE_H
