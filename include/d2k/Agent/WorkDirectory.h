// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that an agent sees and writes, all below one folder. Paths come
// from a model: none leads out, whatever it says and whatever lies there.

#ifndef D2K_AGENT_WORKDIRECTORY_H
#define D2K_AGENT_WORKDIRECTORY_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d2k::agent {

/// Most files, and most bytes of all of them: what a submission may have.
inline constexpr size_t kMaxWorkFiles = 256;
inline constexpr uint64_t kMaxWorkBytes = uint64_t(4) << 20;

class WorkDirectory {
public:
  /// Makes the folder \p path, or takes one that is there.
  static Result<WorkDirectory> open(const std::string &path);
  WorkDirectory(WorkDirectory &&other) noexcept;
  WorkDirectory &operator=(WorkDirectory &&other) noexcept;
  ~WorkDirectory();

  const std::string &getPath() const { return path; }

  /// All of these fail with kind Input, in words for the model, when \p file is
  /// no path of this kind: names of letters, digits, `_`, `-` and `.`, none of
  /// which begins with `.` or `-`, at most eight of them with `/` between.
  /// Links are not followed.
  Result<std::string> read(const std::string &file) const;
  /// Replaces or makes the file, with its folders.
  Result<void> write(const std::string &file, std::string_view text);
  Result<void> remove(const std::string &file);

  struct Entry {
    std::string file;
    uint64_t bytes = 0;
  };
  /// All files, sorted by name.
  std::vector<Entry> list() const;
  /// Removes everything.
  Result<void> clear();

private:
  explicit WorkDirectory(std::string path) : path(std::move(path)) {}

  std::string path;
  int root = -1;
};

} // namespace d2k::agent

#endif // D2K_AGENT_WORKDIRECTORY_H
