// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AuthoredFiles.h"

#include "d2k/Support/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace d2k;
namespace path = llvm::sys::path;

/// The absolute path without `.` and `..`.
static llvm::SmallString<256> normalize(llvm::StringRef file) {
  llvm::SmallString<256> absolute(file);
  // What has no absolute path is under no folder.
  if (llvm::sys::fs::make_absolute(absolute))
    return {};
  path::remove_dots(absolute, /*remove_dot_dot=*/true);
  return absolute;
}

AuthoredFiles::AuthoredFiles(llvm::ArrayRef<std::string> inputs) {
  auto add = [&](llvm::StringRef folder) {
    if (folder.empty())
      return;
    std::string text = folder.str();
    if (!path::is_separator(text.back()))
      text += path::get_separator();
    folders.push_back(std::move(text));
  };
  for (const std::string &input : inputs) {
    llvm::SmallString<256> folder = normalize(input);
    if (!isDirectory(input))
      path::remove_filename(folder);
    add(folder);
    // Compilers may record the path behind a link.
    llvm::SmallString<256> real;
    if (!llvm::sys::fs::real_path(folder, real))
      add(real);
  }
  llvm::sort(folders);
  folders.erase(llvm::unique(folders), folders.end());
}

bool AuthoredFiles::contains(llvm::StringRef file) {
  auto [entry, isNew] = answers.try_emplace(file, false);
  if (isNew) {
    llvm::SmallString<256> absolute = normalize(file);
    entry->second = llvm::any_of(folders, [&](const std::string &folder) {
      return absolute.str().starts_with(folder);
    });
  }
  return entry->second;
}
