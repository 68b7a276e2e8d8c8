// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the libraries that do not link LLVM report errors: a value or a Failure,
// which is a kind and one sentence. The kind decides the exit code of a tool,
// so that every tool ends alike for the same reason. The names avoid those of
// LLVM (Error, Expected, ErrorOr): code of both worlds can be in one file.

#ifndef D2K_SUPPORT_FAILURE_H
#define D2K_SUPPORT_FAILURE_H

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace d2k {

/// Who is to act on a failure.
enum class FailureKind : uint8_t {
  /// A check found faults, or a score is below its threshold.
  Finding,
  /// The command line is wrong.
  Usage,
  /// An input cannot be read, parsed or compiled.
  Input,
  /// A needed tool or device is missing or broken.
  Environment,
  /// A fault of this program.
  Internal,
};

/// The exit code of a tool that stops with a failure of \p kind:
/// 1, 2, 3, 4, 70 in the order of the enumerators.
constexpr int getExitCode(FailureKind kind) {
  switch (kind) {
  case FailureKind::Finding:
    return 1;
  case FailureKind::Usage:
    return 2;
  case FailureKind::Input:
    return 3;
  case FailureKind::Environment:
    return 4;
  case FailureKind::Internal:
    break;
  }
  return 70;
}

/// Why something did not work.
struct Failure {
  FailureKind kind = FailureKind::Internal;
  /// Starts in lower case, has no final period, names the file, the place, the
  /// value found and the one expected, and the remedy where there is one. It
  /// may quote untrusted text: sanitise before printing to a terminal.
  std::string message;
};

/// A value of type \p T, or why there is none.
template <typename T>
using Result = tl::expected<T, Failure>;

/// Shorthand for returning a failure from a function that returns a Result.
inline tl::unexpected<Failure> fail(FailureKind kind, std::string message) {
  return tl::unexpected<Failure>(Failure{kind, std::move(message)});
}

/// Hands the failure of \p result on to a Result of another type.
template <typename T>
tl::unexpected<Failure> forwardFailure(Result<T> &&result) {
  return tl::unexpected<Failure>(std::move(result.error()));
}

} // namespace d2k

#endif // D2K_SUPPORT_FAILURE_H
