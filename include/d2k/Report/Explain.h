// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why one property holds or does not: for each kernel (or the host code) the
// places that prove it with the code around them, or the near misses with the
// smallest change that would make it hold, or what is undecided and what would
// decide it, or that nothing in the code reaches for it.
//
// A report of all properties is in Report.h.

#ifndef D2K_REPORT_EXPLAIN_H
#define D2K_REPORT_EXPLAIN_H

#include "d2k/Report/Report.h"

#include <functional>

namespace d2k::report {

/// The lines of a file without their ends; empty when it cannot be read.
using LineReader =
    std::function<std::vector<std::string>(const std::string &file)>;

/// The text of `--explain`. \p info is a property of the catalog that
/// \p analysis was made with. Untrusted text is sanitised.
std::string renderExplanation(const Analysis &analysis,
                              const PropertyInfo &info,
                              const LineReader &readLines,
                              const TextOptions &options);

} // namespace d2k::report

#endif // D2K_REPORT_EXPLAIN_H
