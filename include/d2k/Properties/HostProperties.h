// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host code says about kernels and about itself.

#ifndef D2K_PROPERTIES_HOSTPROPERTIES_H
#define D2K_PROPERTIES_HOSTPROPERTIES_H

#include "d2k/Frontend/CUDA/HostTrace.h"
#include "d2k/Properties/Catalog.h"

namespace d2k::properties {

/// Adds what the host code says to \p analysis, whose kernels were analysed
/// before: which of them one call of the entry launches under which workload,
/// the properties of the host, and those of kernels that the launch decides.
/// Sets Analysis::hostAnalysed when there is a trace.
void analyzeHost(const cuda::HostProgram &program, Analysis &analysis,
                 const SnippetProvider &snippets);

/// Whether a question about \p analysis is open that the source of device code
/// may answer, and that the sites which \p program has do not touch: then the
/// source is worth reading as the device's compiler does.
bool needsDeviceSource(const cuda::HostProgram &program,
                       const Analysis &analysis);

} // namespace d2k::properties

#endif // D2K_PROPERTIES_HOSTPROPERTIES_H
