// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All detectors of a tier over one kernel.

#ifndef D2K_LIB_PROPERTIES_ENGINE_ANALYZEKERNEL_H
#define D2K_LIB_PROPERTIES_ENGINE_ANALYZEKERNEL_H

#include "d2k/Analysis/KernelContext.h"
#include "d2k/Properties/Properties.h"

namespace d2k::properties {

/// Whether \p func has more operations than \p options allow.
bool exceedsLimit(kern::FuncOp func, const Options &options);

/// Adds to \p facts what \p kernel shows: findings, loops, uses of parameters,
/// completeness.
void analyzeKernel(analysis::KernelContext &kernel, const Options &options,
                   const SnippetProvider &snippets, KernelFacts &facts);

} // namespace d2k::properties

#endif // D2K_LIB_PROPERTIES_ENGINE_ANALYZEKERNEL_H
