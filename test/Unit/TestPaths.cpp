// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where unit tests find checked-in files.

#include "TestPaths.h"

std::string d2k::test::getSourcePath(std::string_view relative) {
  std::string path = D2K_SOURCE_DIR "/";
  path += relative;
  return path;
}

std::string d2k::test::getInputPath(std::string_view relative) {
  std::string path = D2K_SOURCE_DIR "/test/";
  path += relative;
  return path;
}
