// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as reports write them in JSON, and back.

#ifndef D2K_REPORT_READFACTS_H
#define D2K_REPORT_READFACTS_H

#include "d2k/Fact/Fact.h"
#include "d2k/Fact/PropertyInfo.h"
#include "d2k/Support/Json.h"

namespace d2k::report {

/// An element of `kernels` in the JSON of a report (d2k.analysis).
json::Value writeKernelFacts(const KernelFacts &kernel);

/// The kernel that writeKernelFacts wrote; \p catalog has the types of
/// attributes. Fails with kind Input and the path of what is not as it writes
/// it.
Result<KernelFacts> readKernelFacts(const json::Cursor &kernel,
                                    const PropertyCatalog &catalog);

} // namespace d2k::report

#endif // D2K_REPORT_READFACTS_H
