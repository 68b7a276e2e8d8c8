// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axis expressions: Python's meaning, exact arithmetic, errors with columns.

#include "d2k/Task/Expression.h"

#include "gtest/gtest.h"

using namespace d2k;

/// The value as text, or the error.
static std::string evaluate(std::string_view text,
                            const AxisValues &axes = {{"M", 7}, {"N", 128}}) {
  Result<Expression> expression = Expression::parse(text);
  if (!expression)
    return expression.error().message;
  Result<int64_t> value = expression->evaluate(axes);
  return value ? std::to_string(*value) : value.error().message;
}

TEST(Expression, Precedence) {
  EXPECT_EQ(evaluate("2+3*4"), "14");
  EXPECT_EQ(evaluate("(2+3)*4"), "20");
  EXPECT_EQ(evaluate("10-3-2"), "5");
  EXPECT_EQ(evaluate("-2*-3"), "6");
  EXPECT_EQ(evaluate("--2"), "2");
  EXPECT_EQ(evaluate("2*M*N"), "1792");
  // Comparison binds tighter than not, not tighter than and, and than or.
  EXPECT_EQ(evaluate("not 1 == 2 and 0 or 1"), "1");
  EXPECT_EQ(evaluate("1 or 0 and 0"), "1");
}

TEST(Expression, DivisionRoundsDown) {
  EXPECT_EQ(evaluate("7//2"), "3");
  EXPECT_EQ(evaluate("-7//2"), "-4");
  EXPECT_EQ(evaluate("7//-2"), "-4");
  EXPECT_EQ(evaluate("-7%2"), "1");
  EXPECT_EQ(evaluate("7%-2"), "-1");
  EXPECT_EQ(evaluate("N % 64 == 0"), "1");
}

TEST(Expression, Functions) {
  EXPECT_EQ(evaluate("ceil_div(7, 4)"), "2");
  EXPECT_EQ(evaluate("ceil_div(8, 4)"), "2");
  EXPECT_EQ(evaluate("ceil_div(-7, 4)"), "-1");
  EXPECT_EQ(evaluate("align_up(M, 4)"), "8");
  EXPECT_EQ(evaluate("min(3, M, 2)"), "2");
  EXPECT_EQ(evaluate("max(3, M, 2)"), "7");
}

TEST(Expression, ShortCircuit) {
  EXPECT_EQ(evaluate("M == 0 or N // M > 3"), "1");
  EXPECT_EQ(evaluate("M != 0 and N // M > 3", {{"M", 0}, {"N", 1}}), "0");
}

TEST(Expression, ReportsOverflow) {
  EXPECT_EQ(evaluate("9223372036854775807 + 1"),
            "column 21: overflow of 64 bits (9223372036854775807 and 1)");
  EXPECT_EQ(evaluate("4294967296 * 4294967296"),
            "column 12: overflow of 64 bits (4294967296 and 4294967296)");
  EXPECT_EQ(evaluate("-9223372036854775807 - 2"),
            "column 22: overflow of 64 bits (-9223372036854775807 and 2)");
  EXPECT_EQ(evaluate("(-9223372036854775807 - 1) // -1"),
            "column 28: overflow of 64 bits (-9223372036854775808 and -1)");
  EXPECT_EQ(evaluate("align_up(9223372036854775807, 2)"),
            "column 1: overflow of 64 bits (9223372036854775807 and 2)");
  EXPECT_EQ(evaluate("9223372036854775808"),
            "column 1: the number does not fit in 64 bits");
}

TEST(Expression, ReportsDivisionByZero) {
  EXPECT_EQ(evaluate("N // (M - 7)"), "column 3: division by zero (128 and 0)");
  EXPECT_EQ(evaluate("N % 0"), "column 3: division by zero (128 and 0)");
}

TEST(Expression, ReportsUnknownNames) {
  EXPECT_EQ(evaluate("2*Q"), "column 3: axis 'Q' has no value");
  EXPECT_EQ(evaluate("floor(2)"),
            "column 1: unknown function 'floor', expected min, max, ceil_div "
            "or align_up");
}

TEST(Expression, ReportsSyntax) {
  EXPECT_EQ(evaluate(""),
            "column 1: expected a number, an axis or '(', found the end");
  EXPECT_EQ(evaluate("2 +"),
            "column 4: expected a number, an axis or '(', found the end");
  EXPECT_EQ(evaluate("(2"), "column 3: expected ')', found the end");
  EXPECT_EQ(evaluate("2 M"),
            "column 3: expected an operator or the end, found 'M'");
  EXPECT_EQ(evaluate("M/2"), "column 2: `/` would be a fraction; write `//` "
                             "for floor division or ceil_div(a, b)");
  EXPECT_EQ(evaluate("M**2"), "column 2: `**` is not supported; multiply");
  EXPECT_EQ(evaluate("1 < M < 9"),
            "column 7: comparisons do not chain; join two with `and`");
  EXPECT_EQ(evaluate("2.5"), "column 1: expected an integer");
  EXPECT_EQ(evaluate("min(1)"),
            "column 1: min takes two or more arguments, found 1");
  EXPECT_EQ(evaluate("ceil_div(1, 2, 3)"),
            "column 1: ceil_div takes two arguments, found 3");
}

TEST(Expression, SurvivesDeepNesting) {
  std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_NE(evaluate(deep).find("nested deeper than 64"), std::string::npos);
  EXPECT_EQ(evaluate(std::string(100000, '-') + "1"), "1");
  std::string negations;
  for (int i = 0; i < 1001; ++i)
    negations += "not ";
  EXPECT_EQ(evaluate(negations + "1"), "0");
  // As deep a tree, without a bracket.
  std::string sum = "1", choice = "0";
  for (int i = 0; i < 200000; ++i) {
    sum += "+1";
    choice += " or 0";
  }
  EXPECT_EQ(evaluate(sum), "200001");
  EXPECT_EQ(evaluate(choice + " or 7"), "1");
  EXPECT_EQ(evaluate("1//0 + " + sum), "column 2: division by zero (1 and 0)");
}

TEST(Expression, RightSideThatCannotMatterMayFail) {
  EXPECT_EQ(evaluate("M == 0 and N // 0"), "0");
  EXPECT_EQ(evaluate("M or N // 0"), "1");
  EXPECT_EQ(evaluate("N // 0 or M"), "column 3: division by zero (128 and 0)");
}

TEST(Expression, CollectsNames) {
  Result<Expression> expression = Expression::parse("2*M + max(N, K)*M");
  ASSERT_TRUE(expression);
  EXPECT_EQ(expression->getNames(), (std::set<std::string>{"K", "M", "N"}));
}
