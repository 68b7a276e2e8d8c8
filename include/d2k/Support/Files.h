// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing whole files, with errors that name the file, say what is
// wrong with it, and tell a missing one from one that may not be read.

#ifndef D2K_SUPPORT_FILES_H
#define D2K_SUPPORT_FILES_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d2k {

/// Largest file that readFile reads unless told otherwise: 1 GiB.
inline constexpr uint64_t kMaxFileBytes = uint64_t(1) << 30;

/// The contents of the regular file or pipe at \p path. Fails with kind Input
/// when it is missing, unreadable, a directory, or longer than \p maxBytes.
Result<std::string> readFile(const std::string &path,
                             uint64_t maxBytes = kMaxFileBytes);

/// Replaces the contents of \p path. The new contents appear at once or not at
/// all: they go to a temporary file beside it first. Devices and pipes, such
/// as /dev/stdout, are written directly.
Result<void> writeFile(const std::string &path, std::string_view contents);

/// Whether \p path is an existing directory.
bool isDirectory(const std::string &path);

/// Whether \p path is an existing regular file.
bool isRegularFile(const std::string &path);

/// Names in the directory \p path without "." and "..", sorted bytewise.
Result<std::vector<std::string>> listDirectory(const std::string &path);

/// \p directory and \p name with one slash between them.
std::string joinPath(std::string_view directory, std::string_view name);

/// A new private directory for temporary files that is removed, with all it
/// holds, when the object dies.
class TemporaryDirectory {
public:
  /// Creates it below TMPDIR, or /tmp.
  static Result<TemporaryDirectory> create();

  TemporaryDirectory(TemporaryDirectory &&other) noexcept;
  TemporaryDirectory &operator=(TemporaryDirectory &&other) noexcept;
  ~TemporaryDirectory();

  const std::string &getPath() const { return path; }

private:
  explicit TemporaryDirectory(std::string path) : path(std::move(path)) {}

  std::string path;
};

} // namespace d2k

#endif // D2K_SUPPORT_FILES_H
