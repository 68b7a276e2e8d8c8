// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON: what is read is what was written, and every error says where.

#include "d2k/Support/Json.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace d2k;
using namespace d2k::json;

static std::string getParseError(std::string_view text) {
  Result<Value> value = parse(text, "f.json");
  return value ? "no error" : value.error().message;
}

TEST(Json, KeepsOrderAndKinds) {
  const char *text = R"({"b": 1, "a": [2.0, true, null, "x"], "c": {}})";
  Result<Value> value = parse(text, "f.json");
  ASSERT_TRUE(value) << value.error().message;
  // 2.0 stays a real number, members stay in order.
  EXPECT_EQ(dump(*value, false),
            R"({"b": 1, "a": [2.0, true, null, "x"], "c": {}})");
  EXPECT_EQ(dump(*value), "{\n"
                          "  \"b\": 1,\n"
                          "  \"a\": [\n"
                          "    2.0,\n"
                          "    true,\n"
                          "    null,\n"
                          "    \"x\"\n"
                          "  ],\n"
                          "  \"c\": {}\n"
                          "}\n");
}

TEST(Json, WritesShortestNumbers) {
  EXPECT_EQ(dump(Value(0.1), false), "0.1");
  EXPECT_EQ(dump(Value(int64_t(INT64_MIN)), false), "-9223372036854775808");
  EXPECT_EQ(dump(Value(std::nan("")), false), "null");
  EXPECT_EQ(dump(Value(-INFINITY), false), "null");
}

TEST(Json, EscapesHostileText) {
  // An escape sequence, DEL, a right-to-left override, an ill-formed byte and a
  // code point outside the basic plane.
  std::string text = "\x1b[2J\x7f\u202e\xff\U0001F600\"\\";
  std::string written = dump(Value(text), false);
  EXPECT_EQ(written, R"("\u001b[2J\u007f\u202e\ufffd\ud83d\ude00\"\\")");
  Result<Value> back = parse(written, "f.json");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back->getAsString(), "\x1b[2J\x7f\u202e\ufffd\U0001F600\"\\");
}

TEST(Json, SaysWhereTheSyntaxIsWrong) {
  EXPECT_EQ(getParseError(""), "f.json:1:1: the file is empty, expected JSON");
  // The closing brace of line 3 stands where a value should.
  std::string error = getParseError("{\n  \"a\": 1,\n  \"b\": }\n");
  EXPECT_EQ(error.substr(0, 13), "f.json:3:8: s") << error;
  // Truncated in the middle of a string: the fault is at the end.
  error = getParseError("{\"a\": \"xy");
  EXPECT_EQ(error.substr(0, 12), "f.json:1:10:") << error;
}

TEST(Json, RefusesBinaryAndInvalidUtf8) {
  std::string error = getParseError("\x7f"
                                    "ELF\x02\x01");
  EXPECT_EQ(error.substr(0, 11), "f.json:1:1:") << error;
  error = getParseError("[\"\xc3\x28\"]");
  EXPECT_NE(error.find("UTF-8"), std::string::npos) << error;
}

TEST(Json, RefusesDuplicateMembers) {
  EXPECT_EQ(getParseError("{\"a\": 1,\n \"a\": 2}"),
            "f.json:2:8: member \"a\" is given twice");
}

TEST(Json, RefusesDeepNesting) {
  std::string deep(kMaxDepth, '[');
  EXPECT_TRUE(parse(deep + std::string(kMaxDepth, ']'), "f.json"));
  // One more; and a million more must not overflow the stack.
  EXPECT_NE(getParseError(deep + "[").find("nested deeper than 256"),
            std::string::npos);
  EXPECT_NE(getParseError(std::string(1000000, '[')).find("nested deeper"),
            std::string::npos);
}

TEST(Json, KeepsLargeIntegersApart) {
  Result<Document> document = Document::parse(
      R"({"fits": 9223372036854775807, "not": 9223372036854775808})", "f");
  ASSERT_TRUE(document);
  EXPECT_EQ(*document->getRoot().getInteger("fits"), INT64_MAX);
  Result<int64_t> tooLarge = document->getRoot().getInteger("not");
  ASSERT_FALSE(tooLarge);
  EXPECT_EQ(tooLarge.error().message,
            "f: not: expected integer of 64 bits, found number "
            "9223372036854775808.0");
}

TEST(Json, TypedAccessNamesThePath) {
  Result<Document> document = Document::parse(
      R"({"properties": [{}, {"weight": "x", "odd name": 1}]})", "rubric.json");
  ASSERT_TRUE(document);
  Cursor root = document->getRoot();
  Cursor second = root.at("properties").at(1);
  Result<double> weight = second.getNumber("weight");
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().message,
            "rubric.json: properties[1].weight: expected number, found string "
            "\"x\"");
  EXPECT_EQ(root.at("properties").at(0).getString("id").error().message,
            "rubric.json: properties[0]: missing member \"id\"");
  EXPECT_EQ(second.getBoolean("odd name").error().message,
            "rubric.json: properties[1][\"odd name\"]: expected boolean, "
            "found number 1");
  EXPECT_EQ(root.getString("properties").error().message,
            "rubric.json: properties: expected string, found array");
  EXPECT_EQ(root.at("properties").get("x").error().message,
            "rubric.json: properties: expected object, found array");
}

TEST(Json, ComparesByValue) {
  EXPECT_EQ(Value(2), Value(2.0));
  EXPECT_FALSE(Value(1) == Value(true));
  EXPECT_EQ(Value(Object{{"a", 1}, {"b", 2}}),
            Value(Object{{"b", 2}, {"a", 1}}));
  EXPECT_FALSE(Value(Object{{"a", 1}}) == Value(Object{{"a", 2}}));
}
