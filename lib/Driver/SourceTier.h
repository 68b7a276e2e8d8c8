// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tier `source`: host code, followed from the entry under each workload.

#ifndef D2K_LIB_DRIVER_SOURCETIER_H
#define D2K_LIB_DRIVER_SOURCETIER_H

#include "Sources.h"

#include "d2k/Driver/Analyze.h"

namespace d2k {

/// Reads the host code of \p files, which are CUDA sources, and adds what it
/// says to \p analysis, whose kernels were analysed before. What cannot be read
/// or understood makes the tier partial or unavailable; it never fails.
void readSourceTier(const AnalyzeRequest &request,
                    const std::vector<std::string> &files, Analysis &analysis,
                    SourceCache &sources);

} // namespace d2k

#endif // D2K_LIB_DRIVER_SOURCETIER_H
