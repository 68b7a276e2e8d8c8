// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits of the self-test, on figures on both sides of each.

#include "d2k/Runner/SelfTest.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::runner;

static json::Value parse(const std::string &text) {
  Result<json::Value> value = json::parse(text, "figures");
  EXPECT_TRUE(value) << value.error().message;
  return *value;
}

/// The answers of those checks that have one.
static std::vector<bool> answers(const std::vector<SelfTestCheck> &checks) {
  std::vector<bool> answers;
  for (const SelfTestCheck &check : checks)
    if (check.passed)
      answers.push_back(*check.passed);
  return answers;
}

using Answers = std::vector<bool>;

static json::Value makeEqual(unsigned same, unsigned holds, unsigned beyond) {
  return parse(R"({"programs": [{"program": "copy", "pairs": 300, "same": )" +
               std::to_string(same) +
               R"(, "faster": 0, "slower": 0, "ambiguous": 0,)"
               R"( "interval_holds_1": )" +
               std::to_string(holds) + R"(, "decided_beyond_2_percent": )" +
               std::to_string(beyond) + "}]}");
}

TEST(SelfTestJudge, Equal) {
  EXPECT_EQ(answers(judgeEqual(makeEqual(290, 285, 0))),
            (Answers{true, true, true}));
  // 279 of 300 are 93%, of which the lower bound is 89.5%.
  EXPECT_EQ(answers(judgeEqual(makeEqual(279, 285, 0))),
            (Answers{false, true, true}));
  EXPECT_EQ(answers(judgeEqual(makeEqual(290, 285, 1))),
            (Answers{true, false, true}));
  // 270 of 300 are 90%, at most 92.9%: surely below 95%.
  EXPECT_EQ(answers(judgeEqual(makeEqual(290, 270, 0))),
            (Answers{true, true, false}));
  EXPECT_EQ(answers(judgeEqual(parse("{}"))), Answers{false});
}

TEST(SelfTestJudge, Peaks) {
  std::vector<SelfTestCheck> checks =
      judgePeaks(parse(R"({"copy_gb_s": 4088.03, "tensor_tflop_s": 812.5})"));
  auto find = [&](const std::string &start) {
    for (const SelfTestCheck &check : checks)
      if (check.found.starts_with(start))
        return check.found;
    return std::string();
  };
  EXPECT_EQ(find("memory copy"), "memory copy, read and write, GB/s: 4088.0");
  EXPECT_EQ(find("dense bf16"), "dense bf16 products, TFLOP/s: 812.5");
  EXPECT_EQ(find("the same for 20 ms"),
            "the same for 20 ms, TFLOP/s: not measured");
  EXPECT_TRUE(answers(checks).empty());
}

TEST(SelfTestJudge, Different) {
  auto judge = [](const char *speedup, const char *same) {
    return answers(judgeDifferent(parse(
        R"({"programs": [{"program": "copy", "pairs": 100, "same": )" +
        std::string(same) + R"(, "median_speedup": )" + speedup + "}]}")));
  };
  EXPECT_EQ(judge("0.971", "0"), Answers{true});
  EXPECT_EQ(judge("0.971", "1"), Answers{false});
  // A kernel whose time is not its bytes is no test.
  EXPECT_EQ(judge("0.999", "100"), Answers{});
}

TEST(SelfTestJudge, Delays) {
  auto judge = [](const char *found) {
    return answers(
        judgeDelays(parse(R"({"delays": [{"delay_ns": 10000, "time_ns": 30000,)"
                          R"( "found_ns": )" +
                          std::string(found) + "}]}")));
  };
  // 2% of 10 us are 200 ns, 0.3% of 30 us are 90 ns.
  EXPECT_EQ(judge("10199"), Answers{true});
  EXPECT_EQ(judge("9801"), Answers{true});
  EXPECT_EQ(judge("10201"), Answers{false});
}

TEST(SelfTestJudge, Counters) {
  auto judge = [](const char *bytes) {
    return answers(judgeCounters(
        parse(R"({"bytes": 1000000, "profile": {"counters":)"
              R"( {"dram_write_bytes": 1000000, "dram_read_bytes": )" +
              std::string(bytes) + "}}}")));
  };
  EXPECT_EQ(judge("1029000"), Answers{true});
  EXPECT_EQ(judge("1031000"), Answers{false});
  // Without permission there is nothing to judge, and it is said.
  std::vector<SelfTestCheck> without = judgeCounters(
      parse(R"({"profile": {"counters_unavailable": "no permission"}})"));
  ASSERT_EQ(without.size(), 1u);
  EXPECT_EQ(without[0].passed, std::nullopt);
  EXPECT_EQ(without[0].found, "none: no permission");
}

TEST(SelfTestJudge, Clocks) {
  auto judge = [](const char *part, const char *state, const char *outside) {
    return answers(
        judgeClocks(parse(R"({"cases": [{"program": "copy", "inside_ns": 1,)"
                          R"( "calls_per_sample": 1,)"
                          R"( "reported_part": )" +
                          std::string(part) + R"(, "state": ")" + state +
                          R"(", "outside_ns": )" + outside + "}]}")));
  };
  EXPECT_EQ(judge("1", "valid", "10000"), Answers{true});
  EXPECT_EQ(judge("1", "invalid", "10000"), Answers{false});
  EXPECT_EQ(judge("0.5", "invalid", "300000"), Answers{true});
  EXPECT_EQ(judge("0.5", "valid", "300000"), Answers{false});
  // A few microseconds cannot be seen beside a launch.
  EXPECT_EQ(judge("0.5", "valid", "15000"), Answers{});
}

TEST(SelfTestJudge, Medians) {
  auto judge = [](double second) {
    return answers(judgeMedians(
        {parse(R"({"median_ns": {"copy": 10000}})"),
         parse(R"({"median_ns": {"copy": )" + std::to_string(second) + "}}"),
         parse(R"({"median_ns": {"copy": 10000}})")}));
  };
  // 0.5% of 10 us are 50 ns; 64 ns are more.
  EXPECT_EQ(judge(10063), Answers{true});
  EXPECT_EQ(judge(10065), Answers{false});
  EXPECT_EQ(answers(judgeMedians({})), Answers{false});
}

TEST(SelfTestJudge, Ncu) {
  std::string csv =
      "==PROF== Connected to process 1\n"
      "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
      "Value\"\n";
  for (const char *time : {"2,900", "11,500", "301,000"})
    for (unsigned round = 0; round != 3; ++round)
      csv += "\"2\",\"d2k_selftest_copy(a, b)\",\"dram__bytes_read.sum\","
             "\"byte\",\"1,000\"\n" +
             std::string("\"1\",\"d2k_selftest_read(a, b)\",\"gpu__time_"
                         "duration.sum\",\"ns\",\"1\"\n") +
             "\"2\",\"d2k_selftest_copy(a, b)\",\"gpu__time_duration.sum\","
             "\"ns\",\"" +
             time + "\"\n";
  json::Value medians =
      parse(R"({"median_ns": {"copy_256_kb": 2000, "copy_16_mb": 10000,)"
            R"( "copy_512_mb": 300000}})");
  // Allowed: 1.3 us and 1%: 1.329, 1.415 and 4.31 us.
  EXPECT_EQ(answers(judgeNcu(csv, medians, {})), (Answers{true, false, true}));
  auto makeCounters = [](const char *bytes) {
    return parse(R"({"profile": {"counters": {"dram_read_bytes": )" +
                 std::string(bytes) + "}}}");
  };
  EXPECT_EQ(answers(judgeNcu(csv, medians, makeCounters("1029"))),
            (Answers{true, false, true, true}));
  EXPECT_EQ(answers(judgeNcu(csv, medians, makeCounters("960"))),
            (Answers{true, false, true, false}));
  // ncu without permission prints no rows.
  EXPECT_EQ(answers(judgeNcu("==ERROR== ERR_NVGPUCTRPERM\n", medians, {})),
            Answers{});
}
