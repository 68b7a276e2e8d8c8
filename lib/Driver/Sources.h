// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source text for evidence: lines of files that locations name, read once.

#ifndef D2K_LIB_DRIVER_SOURCES_H
#define D2K_LIB_DRIVER_SOURCES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace d2k {

/// Lines by file name. A file that cannot be read has none.
class SourceCache {
public:
  /// Serves \p text under \p name instead of reading a file of that name.
  /// Returns the kept text, which ends with a null byte.
  llvm::StringRef add(llvm::StringRef name, std::string text);

  /// Line \p line (1-based) of \p file without blanks at its ends, cut to
  /// kMaxSnippet bytes; empty when there is none.
  std::string getLine(llvm::StringRef file, int64_t line);

  /// Longest text of a snippet in bytes.
  static constexpr size_t kMaxSnippet = 200;

private:
  struct Text {
    std::string text;
    /// Offset of the start of each line.
    std::vector<size_t> starts;
  };
  const Text &get(llvm::StringRef file);
  static Text index(std::string text);

  llvm::StringMap<Text> files;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_SOURCES_H
