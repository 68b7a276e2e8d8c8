// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agreement of clocks, with readings as they are seen on an H200 (an event
// exceeds the activity by about 2 us) and with those of cheats.

#include "d2k/Metrics/Clocks.h"

#include "gtest/gtest.h"

#include <vector>

using namespace d2k::metrics;

TEST(Clocks, HonestReadingsAgree) {
  std::vector<ClockReading> readings(20, {10600, 12900, 19000});
  EXPECT_EQ(findClockDisagreement(readings), std::nullopt);
  // One sample in 20 may be hit by an interrupt.
  readings[3] = {10600, 12900, 5000};
  EXPECT_EQ(findClockDisagreement(readings), std::nullopt);
}

TEST(Clocks, WorkOnASideStream) {
  // The events enclose nothing; the work is seen by the activity records.
  std::vector<ClockReading> readings(20, {100000, 2000, 9000});
  EXPECT_EQ(findClockDisagreement(readings),
            "GPU activity outlasts the events of the call's stream in 20 of 20 "
            "samples (at worst 100.00 us against 2.00 us)");
}

TEST(Clocks, PatchedHostClock) {
  std::vector<ClockReading> readings(20, {100000, 102000, 3000});
  EXPECT_EQ(findClockDisagreement(readings),
            "the events of the call's stream outlast the host's clock in 20 of "
            "20 samples (at worst 102.00 us against 3.00 us)");
}

TEST(Clocks, ForgedRecordsAreSeenFromOutside) {
  EXPECT_EQ(findOutsideDisagreement({105000, 100000, 0}), std::nullopt);
  EXPECT_EQ(findOutsideDisagreement({108000, 100000, 3000}), std::nullopt);
  EXPECT_EQ(findOutsideDisagreement({100000, 10000, 4000}),
            "a call takes 100.00 us by the clock outside its process and 10.00 "
            "us by its activity records; 9.00 us of difference are allowed");
  // Records that are too long are wrong too.
  EXPECT_NE(findOutsideDisagreement({10000, 100000, 4000}), std::nullopt);
}
