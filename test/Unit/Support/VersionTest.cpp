// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The version has three numeric parts and heads the --version line.

#include "d2k/Support/Version.h"
#include "gtest/gtest.h"

using namespace d2k;

TEST(VersionTest, HasThreeNumericParts) {
  unsigned parts = 1;
  bool digitBefore = false;
  for (char c : getVersion()) {
    if (c == '.') {
      EXPECT_TRUE(digitBefore) << getVersion();
      ++parts;
      digitBefore = false;
      continue;
    }
    EXPECT_TRUE(c >= '0' && c <= '9') << getVersion();
    digitBefore = true;
  }
  EXPECT_TRUE(digitBefore) << getVersion();
  EXPECT_EQ(parts, 3u) << getVersion();
}

TEST(VersionTest, LineNamesTheTool) {
  EXPECT_EQ(getVersionLine("d2k-analyze"),
            "d2k-analyze " + std::string(getVersion()));
}
