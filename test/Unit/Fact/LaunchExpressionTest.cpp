// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "d2k/Fact/LaunchExpression.h"

#include "gtest/gtest.h"

using namespace d2k;

static std::optional<int64_t> evaluate(std::string_view text,
                                       std::string *unknown = nullptr) {
  return evaluateLaunchExpression(
      text,
      [](std::string_view leaf) -> std::optional<int64_t> {
        if (leaf == "grid.x")
          return 132;
        if (leaf == "ctaid.x")
          return 0;
        return std::nullopt;
      },
      unknown);
}

TEST(LaunchExpression, Arithmetic) {
  EXPECT_EQ(evaluate("7"), 7);
  EXPECT_EQ(evaluate("-7"), -7);
  EXPECT_EQ(evaluate("grid.x"), 132);
  // (0 >> 1) + (132 >> 1) < 66
  EXPECT_EQ(evaluate("lt add shr ctaid.x 1 shr grid.x 1 66"), 0);
  EXPECT_EQ(evaluate("le add shr ctaid.x 1 shr grid.x 1 66"), 1);
  EXPECT_EQ(evaluate("sub 10 3"), 7);
  EXPECT_EQ(evaluate("div sub 0 7 2"), -3);
  EXPECT_EQ(evaluate("rem 7 4"), 3);
  EXPECT_EQ(evaluate("min 7 max 3 4"), 4);
  EXPECT_EQ(evaluate("xor and 6 3 or 8 1"), 11);
  EXPECT_EQ(evaluate("if eq 1 1 5 6"), 5);
  EXPECT_EQ(evaluate("if lt 1 1 5 6"), 6);
}

TEST(LaunchExpression, Unknown) {
  std::string unknown;
  EXPECT_EQ(evaluate("add 1 param:2:4:4", &unknown), std::nullopt);
  EXPECT_EQ(unknown, "param:2:4:4");
  // What is not chosen need not be known.
  EXPECT_EQ(evaluate("if 0 param:2:4:4 3"), 3);
  EXPECT_EQ(evaluate("div 1 0"), std::nullopt);
  EXPECT_EQ(evaluate("shl 1 64"), std::nullopt);
  EXPECT_EQ(evaluate("add 1"), std::nullopt);
  EXPECT_EQ(evaluate("1 2"), std::nullopt);
  EXPECT_EQ(evaluate(""), std::nullopt);
}

TEST(LaunchExpression, Parameters) {
  std::optional<LaunchParameter> at = parseLaunchParameter("param:2:16:8");
  ASSERT_TRUE(at);
  EXPECT_EQ(at->parameter, 2u);
  EXPECT_EQ(at->offset, 16);
  EXPECT_EQ(at->bytes, 8);
  EXPECT_FALSE(parseLaunchParameter("param:2:16"));
  EXPECT_FALSE(parseLaunchParameter("param:2:x:8"));
  EXPECT_FALSE(parseLaunchParameter("grid.x"));
}
