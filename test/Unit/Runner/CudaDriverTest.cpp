// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading the driver: what is said when it is not there.

#include "Cuda/CudaDriver.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace d2k;
using namespace d2k::runner;

namespace {

// One test: the driver is loaded once in a process.
TEST(CudaDriverTest, SaysWhatIsMissing) {
  ::setenv("D2K_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
  Result<const CudaDriver *> driver = CudaDriver::load();
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, FailureKind::Environment);
  EXPECT_NE(driver.error().message.find("/nowhere/libcuda.so"),
            std::string::npos);
  EXPECT_NE(driver.error().message.find("NVIDIA GPU"), std::string::npos);
}

} // namespace
