// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Untrusted text on a terminal: nothing that moves, hides or reorders.

#include "d2k/Support/Terminal.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace d2k;

TEST(Terminal, LeavesPlainText) {
  EXPECT_EQ(sanitize("void gemm<128>(float *, µ-kernel)"),
            "void gemm<128>(float *, µ-kernel)");
  EXPECT_EQ(sanitize("a\tb"), "a b");
}

TEST(Terminal, EscapesControls) {
  EXPECT_EQ(sanitize("\x1b[2J\x1b]0;t\x07"), "\\x1b[2J\\x1b]0;t\\x07");
  EXPECT_EQ(sanitize(std::string_view("a\0b\r\n\x7f", 6)),
            "a\\x00b\\x0d\\x0a\\x7f");
  // C1 CSI, which some terminals obey, is the code point U+009B.
  EXPECT_EQ(sanitize("\u009b2J"), "\\x9b2J");
}

TEST(Terminal, EscapesBidirectionalAndInvisible) {
  EXPECT_EQ(sanitize("a\u202eb\u2066c\u200bd\ufeffe\U000e0041"),
            "a\\u202eb\\u2066c\\u200bd\\ufeffe\\U000e0041");
}

TEST(Terminal, EscapesIllFormedUtf8) {
  // A lone continuation, an overlong slash, a surrogate, and a cut sequence.
  EXPECT_EQ(sanitize("\x80|\xc0\xaf|\xed\xa0\x80|\xe2\x82"),
            "\\x80|\\xc0\\xaf|\\xed\\xa0\\x80|\\xe2\\x82");
  // U+FFFD itself is an ordinary character.
  EXPECT_EQ(sanitize("\ufffd"), "\ufffd");
}

TEST(Terminal, KeepsLinesOnRequest) {
  EXPECT_EQ(sanitizeLines("a\nb\x1b"), "a\nb\\x1b");
}

TEST(Terminal, CountsColumns) {
  EXPECT_EQ(displayWidth("µ-kernel"), 8u);
  EXPECT_EQ(displayWidth(""), 0u);
}

TEST(Terminal, ColorsOnlyWhenAsked) {
  EXPECT_EQ(paint("x", Style::Red, true), "\033[31mx\033[0m");
  EXPECT_EQ(paint("x", Style::Red, false), "x");
  EXPECT_TRUE(useColor(ColorMode::Always, -1));
  EXPECT_FALSE(useColor(ColorMode::Never, 1));
  // No terminal behind this descriptor.
  EXPECT_FALSE(useColor(ColorMode::Auto, -1));
}
