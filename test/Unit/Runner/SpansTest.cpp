// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clock A of records that are written down here, of honest calls and of those
// that try to look short.

#include "Cuda/Spans.h"

#include "gtest/gtest.h"

using namespace d2k::runner;

/// A kernel that runs from \p start to \p end; the order of calls is that of
/// the list.
static Activity run(std::string_view name, uint64_t start, uint64_t end,
                    uint32_t device = 0) {
  Activity activity;
  activity.name = name;
  activity.start = start;
  activity.end = end;
  activity.device = device;
  return activity;
}

/// The span of a cold sample, or -1 when our kernels are not all there.
static double spanOf(const std::vector<Activity> &activities) {
  ActivityList list = selectDevice(activities, 0);
  const std::string_view before[] = {kReadClocks, kSpin, kReadFlush};
  const std::string_view after[] = {kReadClocks};
  return stripHarness(list, before, after) ? getSpan(list) : -1;
}

TEST(Spans, FromTheFirstStartToTheLastEnd) {
  EXPECT_EQ(spanOf({run(kReadClocks, 0, 1), run(kSpin, 1, 10),
                    run(kReadFlush, 10, 50), run("gemm", 52, 90),
                    run("epilogue", 91, 100), run(kReadClocks, 102, 103)}),
            48);
  // A call that runs nothing.
  EXPECT_EQ(spanOf({run(kReadClocks, 0, 1), run(kSpin, 1, 10),
                    run(kReadFlush, 10, 50), run(kReadClocks, 51, 52)}),
            0);
}

TEST(Spans, OtherStreamsAndThreadsCount) {
  // Beside the flush, and after our last kernel.
  EXPECT_EQ(
      spanOf({run(kReadClocks, 0, 1), run("early", 5, 20), run(kSpin, 1, 10),
              run(kReadFlush, 10, 50), run("gemm", 52, 90),
              run(kReadClocks, 92, 93), run("late", 95, 120)}),
      115);
}

TEST(Spans, OurNamesHideNothing) {
  EXPECT_EQ(spanOf({run(kReadClocks, 0, 1), run(kSpin, 1, 10),
                    run(kReadFlush, 10, 50), run(kReadFlush, 52, 90),
                    run(kSpin, 90, 100), run(kReadClocks, 102, 103)}),
            48);
}

TEST(Spans, LostRecordsAreSeen) {
  EXPECT_EQ(spanOf({run(kReadClocks, 0, 1), run(kSpin, 1, 10),
                    run("gemm", 52, 90), run(kReadClocks, 92, 93)}),
            -1);
  // One of the two readings of clocks.
  EXPECT_EQ(spanOf({run(kReadClocks, 0, 1), run(kSpin, 1, 10),
                    run(kReadFlush, 10, 50), run("gemm", 52, 90)}),
            -1);
  EXPECT_EQ(spanOf({}), -1);
}

TEST(Spans, DevicesAreApart) {
  std::vector<Activity> activities = {run("a", 0, 10), run("b", 500, 600, 1)};
  EXPECT_EQ(getSpan(selectDevice(activities, 0)), 10);
  EXPECT_EQ(getSpan(selectDevice(activities, 1)), 100);
  EXPECT_EQ(getSpan(selectDevice(activities, 2)), 0);
}

TEST(Spans, BatchesAreSplitAtFlushes) {
  std::vector<Activity> activities = {
      run(kBarrier, 0, 5),     run(kSpin, 5, 10),
      run(kReadFlush, 10, 50), run("gemm", 51, 61),
      run(kSpin, 62, 64),      run(kReadFlush, 65, 115),
      run("gemm", 116, 130),   run("epilogue", 131, 136),
      run(kSpin, 137, 139),    run(kReadFlush, 140, 190),
      run("gemm", 191, 200)};
  ActivityList list = selectDevice(activities, 0);
  // Spans of 10, 20 and 9.
  EXPECT_DOUBLE_EQ(getRoundSpan(list, 3, /*flush=*/true), 10);
  // From 51 to 200 without our kernels.
  EXPECT_DOUBLE_EQ(getRoundSpan(list, 1, /*flush=*/false), 149);
  // A spin of the submission's own, in the middle of its call, counts.
  activities[7].name = kSpin;
  activities[8].name = "tail";
  activities[3].end = 1000;
  EXPECT_DOUBLE_EQ(getRoundSpan(list, 3, /*flush=*/true), 139 - 116);
}

TEST(Spans, HarnessByKindAndName) {
  Activity copy = run(kSpin, 0, 1);
  EXPECT_TRUE(isHarness(copy));
  copy.kind = ActivityKind::Copy;
  EXPECT_FALSE(isHarness(copy));
  EXPECT_FALSE(isHarness(run("d2k_gemm_bf16", 0, 1)));
}
