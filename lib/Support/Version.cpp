// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The project's version. The number comes from the build, so that it is
// written down once.

#include "d2k/Support/Version.h"

std::string_view d2k::getVersion() { return D2K_VERSION_STRING; }

std::string d2k::getVersionLine(std::string_view toolName) {
  std::string line(toolName);
  line += ' ';
  line += getVersion();
  return line;
}
