// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The project's version, as the tools print it and as reports record it.

#ifndef D2K_SUPPORT_VERSION_H
#define D2K_SUPPORT_VERSION_H

#include <string>
#include <string_view>

namespace d2k {

/// The version of this build, "major.minor.patch", from the top-level
/// CMakeLists.txt.
std::string_view getVersion();

/// The line that `<tool> --version` prints, without a newline, for instance
/// "d2k-analyze 0.1.0".
std::string getVersionLine(std::string_view toolName);

} // namespace d2k

#endif // D2K_SUPPORT_VERSION_H
