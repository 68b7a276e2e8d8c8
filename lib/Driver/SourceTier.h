// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tier `source`: host code, followed from the entry under each workload.

#ifndef D2K_LIB_DRIVER_SOURCETIER_H
#define D2K_LIB_DRIVER_SOURCETIER_H

#include "Inputs.h"

#include "d2k/Driver/Analyze.h"

namespace d2k {

/// What the front end is asked for. Fails with kind Environment when the
/// toolkit's headers are missing.
Result<cuda::HostRequest>
makeHostRequest(const AnalyzeRequest &request,
                const std::vector<const Input *> &sources,
                const std::string &arch);

/// Reads the host code of \p sources for \p arch. Fails with kind Environment
/// when the toolkit's headers are missing.
Result<cuda::HostProgram>
readHostCode(const AnalyzeRequest &request,
             const std::vector<const Input *> &sources,
             const std::string &arch);

/// Adds what \p program, which was read from \p sources, says to \p analysis,
/// whose kernels were analysed before. What could not be read or understood
/// makes the tier partial, failed or unavailable; it never fails the analysis.
void addSourceTier(const AnalyzeRequest &request,
                   const std::vector<const Input *> &sources,
                   Result<cuda::HostProgram> program, Analysis &analysis);

} // namespace d2k

#endif // D2K_LIB_DRIVER_SOURCETIER_H
