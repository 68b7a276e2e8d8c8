// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compute-sanitizer prints. The program under it can print too, so that
// this is a diagnosis for its author, and no proof.

#ifndef D2K_LIB_RUNNER_EVALUATE_SANITIZER_H
#define D2K_LIB_RUNNER_EVALUATE_SANITIZER_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace d2k::runner {

/// The number in the last line "ERROR SUMMARY: 2 errors" or "RACECHECK SUMMARY:
/// 1 hazard displayed (...)" of \p output; nothing without such a line.
std::optional<uint64_t> findSanitizerErrors(std::string_view output);

} // namespace d2k::runner

#endif // D2K_LIB_RUNNER_EVALUATE_SANITIZER_H
