// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks up from the running program.

#include "d2k/Support/DataRoot.h"

#include "d2k/Support/Files.h"

#include <cstdlib>
#include <filesystem>

using namespace d2k;

static bool holdsData(const std::string &folder) {
  return isDirectory(joinPath(folder, "rubrics")) &&
         isDirectory(joinPath(folder, "tasks"));
}

std::string d2k::getProgramPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

Result<std::string> d2k::findDataRoot() {
  if (const char *root = std::getenv("D2K_ROOT"); root && *root) {
    if (holdsData(root))
      return std::string(root);
    return fail(FailureKind::Environment,
                std::string("D2K_ROOT is ") + root +
                    ", which has no rubrics/ and tasks/ folders");
  }
  std::string program = getProgramPath();
  std::filesystem::path folder = std::filesystem::path(program).parent_path();
  std::string share = (folder.parent_path() / "share" / "d2k").string();
  for (;; folder = folder.parent_path()) {
    if (holdsData(folder.string()))
      return folder.string();
    if (folder == folder.parent_path())
      break;
  }
  if (holdsData(share))
    return share;
  return fail(FailureKind::Environment,
              "found no folder with rubrics/ and tasks/ above " + program +
                  "; set D2K_ROOT to the checkout");
}
