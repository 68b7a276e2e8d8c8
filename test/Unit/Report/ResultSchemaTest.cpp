// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema of results: accepts what interfaces promise and refuses what
// contradicts itself.

#include "d2k/Support/JsonSchema.h"

#include "TestPaths.h"
#include "gtest/gtest.h"

using namespace d2k;

static constexpr const char *kResult = R"({
  "schema": "d2k.result/1", "task": "gemm_bf16",
  "submission_sha256":
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  "device": {"name": "NVIDIA H200", "arch": "sm_90a"},
  "verdict": "correct", "reason": "",
  "workloads": [{"id": "w", "verdict": "correct", "max_error": 0.3,
    "trials": 5,
    "time_us": {"cold": {"median": 10.5, "ci": [10.0, 11.0]}, "warm": null},
    "baseline_us": 12.0, "speedup": 1.14, "speed_of_light": 0.8,
    "kernels": [{"name": "k", "module": "m", "count": 1}],
    "counters": {"dram_bytes": null}}],
  "speedup": 1.14, "implementation": null, "isolation": {},
  "environment": {}, "seconds": {"compile": 1, "validate": 2, "profile": 0}})";

/// The faults of the result with one piece of text replaced.
static std::string getFaults(std::string_view from = "",
                             std::string_view to = "") {
  Result<json::Schema> schema = json::Schema::read(
      test::getSourcePath("docs/schemas/result.schema.json"));
  EXPECT_TRUE(schema) << schema.error().message;
  std::string text = kResult;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  Result<json::Value> value =
      json::parse(text.replace(at, from.size(), to), "result.json");
  EXPECT_TRUE(value) << value.error().message;
  std::string faults;
  for (const json::SchemaError &error : schema->validate(*value))
    faults += error.toString() + "\n";
  return faults;
}

TEST(ResultSchema, AcceptsAResult) { EXPECT_EQ(getFaults(), ""); }

TEST(ResultSchema, RefusesContradictions) {
  EXPECT_EQ(getFaults(R"("verdict": "correct", "reason": "")",
                      R"("verdict": "fine", "reason": "")"),
            "verdict: expected \"correct\", \"incorrect\", "
            "\"compile_error\", \"crash\", \"timeout\", \"unstable\", "
            "\"invalid_measurement\", \"quarantined\" or \"exploit\", found "
            "string \"fine\"\n"
            "reason: must not be empty\n");
  // A verdict that is not `correct` has a reason.
  EXPECT_EQ(getFaults(R"("verdict": "correct", "reason": "")",
                      R"("verdict": "crash", "reason": "")"),
            "reason: must not be empty\n");
  // Correct means every workload is, and there is a speedup.
  EXPECT_EQ(getFaults(R"("id": "w", "verdict": "correct")",
                      R"("id": "w", "verdict": "incorrect")"),
            "workloads[0].verdict: expected string \"correct\", found string "
            "\"incorrect\"\n");
  EXPECT_EQ(getFaults(R"("speedup": 1.14, "implementation")",
                      R"("speedup": null, "implementation")"),
            "speedup: expected number, found null\n");
  EXPECT_EQ(getFaults(R"("ci": [10.0, 11.0])", R"("ci": [10.0])"),
            "workloads[0].time_us.cold.ci: expected at least 2 elements, "
            "found 1\n");
  EXPECT_EQ(getFaults(R"("trials": 5,)", ""),
            "workloads[0]: missing member \"trials\"\n");
}
