// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floors computed by hand for an H200.

#include "d2k/Metrics/SpeedOfLight.h"

#include "gtest/gtest.h"

using namespace d2k::metrics;

static const MachineState kH200 = {132, 1980, 60e6};

TEST(SpeedOfLight, KnowsChips) {
  ASSERT_NE(findDevicePeaks("sm_90a"), nullptr);
  EXPECT_EQ(findDevicePeaks("sm_90a"), findDevicePeaks("sm_90"));
  EXPECT_EQ(findDevicePeaks("sm_90a")->memoryBytesPerNs, 4800);
  ASSERT_NE(findDevicePeaks("sm_100f"), nullptr);
  EXPECT_EQ(findDevicePeaks("sm_20"), nullptr);
}

TEST(SpeedOfLight, ArithmeticLimit) {
  // 8192^3 products: 2^40 FLOP at 4096 * 132 * 1.98 = 1070530.56 a ns.
  CompulsoryWork work;
  work.flops = 2.0 * 8192 * 8192 * 8192;
  work.readBytes = 3 * 8192.0 * 8192 * 2;
  TimeFloor floor = computeFloor(work, *findDevicePeaks("sm_90a"), kH200);
  EXPECT_NEAR(floor.nanoseconds, 1099511627776 / 1070530.56, 1e-3);
  EXPECT_EQ(floor.limit, Limit::Arithmetic);
  // Half of it with operands of 8 bits, and no less with 4 on this chip.
  work.operandBits = 8;
  double eight =
      computeFloor(work, *findDevicePeaks("sm_90a"), kH200).nanoseconds;
  EXPECT_NEAR(eight, 1099511627776 / 1070530.56 / 2, 1e-3);
  work.operandBits = 4;
  EXPECT_EQ(computeFloor(work, *findDevicePeaks("sm_90a"), kH200).nanoseconds,
            eight);
}

TEST(SpeedOfLight, MemoryLimitLeavesOutputsInL2) {
  // 480 MB read at 4.8 TB/s: 100 us. 60 MB of the outputs need not leave L2.
  CompulsoryWork work;
  work.readBytes = 480e6;
  work.writtenBytes = 60e6;
  TimeFloor floor = computeFloor(work, *findDevicePeaks("sm_90a"), kH200);
  EXPECT_NEAR(floor.nanoseconds, 100000, 1e-6);
  EXPECT_EQ(floor.limit, Limit::Memory);
  work.writtenBytes = 108e6; // 48 MB more than fit: 10 us.
  EXPECT_NEAR(computeFloor(work, *findDevicePeaks("sm_90a"), kH200).nanoseconds,
              110000, 1e-6);
}

TEST(SpeedOfLight, PeerLimit) {
  CompulsoryWork work;
  work.readBytes = 1e6;
  work.peerBytes = 4.5e6;
  TimeFloor floor = computeFloor(work, *findDevicePeaks("sm_90a"), kH200);
  EXPECT_NEAR(floor.nanoseconds, 10000, 1e-6);
  EXPECT_EQ(floor.limit, Limit::Peers);
  EXPECT_EQ(getLimitName(floor.limit), "peers");
}
