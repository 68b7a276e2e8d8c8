// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Driver/Compile.h"

#include "gtest/gtest.h"

using namespace d2k;

TEST(KernelResourcesTest, ReadsFiguresOfEachEntry) {
  std::map<std::string, KernelResources> resources = parseKernelResources(
      "ptxas info    : 3 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers, 16 bytes "
      "cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Compile time = 12.3 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources["first"].registers, 168);
  EXPECT_EQ(resources["first"].sharedBytes, 1024);
  EXPECT_EQ(resources["first"].spillBytes, 32);
  EXPECT_EQ(resources["second"].registers, 8);
  // No "smem" part: the kernel has none.
  EXPECT_EQ(resources["second"].sharedBytes, 0);
  EXPECT_EQ(resources["second"].spillBytes, 0);
}

TEST(KernelResourcesTest, IgnoresOtherText) {
  EXPECT_TRUE(parseKernelResources("").empty());
  EXPECT_TRUE(parseKernelResources("warning: unused variable 'x'\n"
                                   "Used 3 registers\n")
                  .empty());
}

TEST(KernelResourcesTest, LeavesOutFiguresThatAreNotNumbers) {
  std::map<std::string, KernelResources> resources = parseKernelResources(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Used many registers, 99999999999999999999 bytes smem\n");
  ASSERT_EQ(resources.size(), 1u);
  EXPECT_FALSE(resources["k"].registers.has_value());
  EXPECT_EQ(resources["k"].sharedBytes, 0);
}
