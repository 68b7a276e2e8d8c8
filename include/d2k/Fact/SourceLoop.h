// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop as the author wrote it, in device code: what the compiler made of it
// is compared with this. Plain data; the CUDA front end fills it.

#ifndef D2K_FACT_SOURCELOOP_H
#define D2K_FACT_SOURCELOOP_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d2k {

/// The memory accesses of one size that one line of a loop's body spells out,
/// inner loops left out: no iteration does more than these there.
struct SourceAccess {
  int64_t line = 0, bytes = 0;
  int64_t loads = 0, stores = 0;

  friend bool operator==(const SourceAccess &, const SourceAccess &) = default;
};

/// Example: `for (int k = 0; k < n; k += 8) {` in line 12 with its `}` in line
/// 20 has lines 12, 12 and 20 and step 8; a `y[k] = x[k];` of floats in line 14
/// is an access {14, 4, 1, 1}.
struct SourceLoop {
  /// Absolute path without `.` and `..`.
  std::string file;
  /// Lines of the keyword, of the last part of the head, and of the end.
  int64_t line = 0, headEnd = 0, end = 0;
  /// Column of the keyword: two loops may begin in one line.
  int64_t column = 0;
  /// By how much the counter moves in an iteration, up or down, when the head
  /// says so by a constant. Never 0.
  std::optional<int64_t> step;
  /// `#pragma unroll`: the iterations asked for, 0 for all of them.
  std::optional<int64_t> unroll;
  /// Mangled name of the function, or of one instantiation of it; empty for
  /// constructors and destructors.
  std::string function;
  /// By line and size. Lines in which something else may access memory, too (a
  /// reference, inline assembly), are left out.
  std::vector<SourceAccess> accesses;

  friend bool operator==(const SourceLoop &, const SourceLoop &) = default;
};

} // namespace d2k

#endif // D2K_FACT_SOURCELOOP_H
