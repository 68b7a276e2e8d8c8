// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds places in device code that name functions of which the device has an
// approximate unit: intrinsics, inline assembly, ordinary functions.

#ifndef D2K_LIB_FRONTEND_CUDA_MATHSITES_H
#define D2K_LIB_FRONTEND_CUDA_MATHSITES_H

#include "ClangUnit.h"

namespace d2k::cuda {

/// The sites in the device functions of \p unit, which was read with \p flags.
std::vector<MathSite> findMathSites(const ClangUnit &unit,
                                    const NvccFlags &flags);

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_MATHSITES_H
