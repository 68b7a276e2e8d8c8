// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of architectures, and hints for those who chose the wrong one.

#include "d2k/Support/Architecture.h"

#include "gtest/gtest.h"

using namespace d2k;

TEST(ArchitectureTest, Names) {
  for (const char *name : {"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a",
                           "sm_100f", "sm_103a", "sm_120a", "sm_121"})
    EXPECT_TRUE(isArchitecture(name)) << name;
  for (const char *name :
       {"", "sm_", "sm_7", "sm_75", "sm_090", "sm_130a", "sm_1000", "sm_90b",
        "sm_90aa", "sm_a", "90a", "compute_90a", "SM_90", "sm_90 "})
    EXPECT_FALSE(isArchitecture(name)) << name;
  EXPECT_TRUE(isArchitecture(kDefaultArchitecture));
}

// The words are those of ptxas 13.0.
TEST(ArchitectureTest, Hints) {
  const char *wgmma = "ptxas x.ptx, line 20; error   : Instruction "
                      "'wgmma.fence' not supported on .target 'sm_100a'";
  EXPECT_EQ(getArchitectureHint(wgmma, "sm_100a"),
            "wgmma exists on sm_90a only, and this is sm_100a: give --arch "
            "sm_90a");
  EXPECT_EQ(getArchitectureHint(
                "error   : Instruction 'tcgen05.wait' not supported on .target "
                "'sm_90a'",
                "sm_90a"),
            "tcgen05 exists on sm_100a and its kin only, and this is sm_90a: "
            "give --arch sm_100a");
  // Nothing about an architecture, or what the hint would be.
  EXPECT_EQ(getArchitectureHint("error: wgmma_count is undefined", "sm_80"),
            "");
  EXPECT_EQ(getArchitectureHint(wgmma, "sm_90a"), "");
}
