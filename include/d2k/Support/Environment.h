// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What execve takes, made before a fork.

#ifndef D2K_SUPPORT_ENVIRONMENT_H
#define D2K_SUPPORT_ENVIRONMENT_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace d2k {

/// The inherited variables, or none of them, with \p changes on top, as
/// "NAME=value". A change without value removes the variable.
std::vector<std::string> makeEnvironment(
    const std::vector<std::pair<std::string, std::optional<std::string>>>
        &changes,
    bool clear = false);

/// Pointers to \p strings, and a null at the end; valid as long as they are.
std::vector<char *> makePointers(std::vector<std::string> &strings);

} // namespace d2k

#endif // D2K_SUPPORT_ENVIRONMENT_H
