// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a submission, read once: what is checked is what is compiled.

#ifndef D2K_RUNNER_SUBMISSION_H
#define D2K_RUNNER_SUBMISSION_H

#include "d2k/Support/Failure.h"

#include <string>
#include <vector>

namespace d2k::runner {

/// Most that a submission's files may have together: 4 MiB.
inline constexpr uint64_t kMaxSubmissionBytes = uint64_t(4) << 20;

struct SourceFile {
  /// Relative to the submission's folder.
  std::string path;
  std::string text;

  /// Whether it is compiled by itself, and not only included.
  bool isUnit() const;
};

struct Submission {
  /// Sorted by path.
  std::vector<SourceFile> files;
  /// Of names and contents together.
  std::string sha256;

  /// Reads the .cu file \p path, or all .cu, .cuh, .h, .hpp and .inl files
  /// below the folder \p path. Fails with kind Input when there is no .cu file
  /// or when the files are too large together.
  static Result<Submission> read(const std::string &path);

  /// Writes the files below \p folder.
  Result<void> write(const std::string &folder) const;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_SUBMISSION_H
