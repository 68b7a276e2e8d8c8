// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the author's files from the headers of libraries: the former are under
// the folder of an input. Reports show the author's line that calls a library,
// and not the line inside of it.

#ifndef D2K_LIB_DRIVER_AUTHOREDFILES_H
#define D2K_LIB_DRIVER_AUTHOREDFILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace d2k {

class AuthoredFiles {
public:
  /// \p inputs are files and folders, as the user named them.
  explicit AuthoredFiles(llvm::ArrayRef<std::string> inputs);

  /// Whether \p file, as a compiler recorded it, is under one of the folders.
  bool contains(llvm::StringRef file);

  /// Absolute, each ending in a separator, ascending.
  const std::vector<std::string> &getFolders() const { return folders; }

private:
  std::vector<std::string> folders;
  llvm::StringMap<bool> answers;
};

} // namespace d2k

#endif // D2K_LIB_DRIVER_AUTHOREDFILES_H
