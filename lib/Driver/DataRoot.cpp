// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Driver/DataRoot.h"

#include "d2k/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace d2k;

static bool holdsData(const std::string &folder) {
  return isDirectory(joinPath(folder, "rubrics")) &&
         isDirectory(joinPath(folder, "tasks"));
}

Result<std::string> d2k::findDataRoot(const std::string &executable) {
  if (const char *root = std::getenv("D2K_ROOT"); root && *root) {
    if (holdsData(root))
      return std::string(root);
    return fail(FailureKind::Environment,
                std::string("D2K_ROOT is ") + root +
                    ", which has no rubrics/ and tasks/ folders");
  }
  std::string program = llvm::sys::fs::getMainExecutable(
      executable.c_str(), reinterpret_cast<void *>(&findDataRoot));
  llvm::StringRef folder = llvm::sys::path::parent_path(program);
  llvm::SmallString<256> share(llvm::sys::path::parent_path(folder));
  llvm::sys::path::append(share, "share", "d2k");
  for (; !folder.empty(); folder = llvm::sys::path::parent_path(folder))
    if (holdsData(folder.str()))
      return folder.str();
  if (holdsData(share.str().str()))
    return share.str().str();
  return fail(FailureKind::Environment,
              "found no folder with rubrics/ and tasks/ above " + program +
                  "; set D2K_ROOT to the checkout");
}
