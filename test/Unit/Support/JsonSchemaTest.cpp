// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schema validation: each keyword accepts and refuses, every fault is reported
// with its path, and a schema that says what we cannot check does not load.

#include "d2k/Support/JsonSchema.h"

#include "gtest/gtest.h"

using namespace d2k;
using namespace d2k::json;

/// The faults of `value` under `schema`, one a line.
static std::string validate(std::string_view schema, std::string_view value) {
  Result<Document> schemaDocument = Document::parse(schema, "schema.json");
  EXPECT_TRUE(schemaDocument) << schemaDocument.error().message;
  Result<Schema> loaded = Schema::create(std::move(*schemaDocument));
  EXPECT_TRUE(loaded) << loaded.error().message;
  Result<Document> document = Document::parse(value, "value.json");
  EXPECT_TRUE(document) << document.error().message;
  std::string text;
  for (const SchemaError &error : loaded->validate(document->getValue()))
    text += error.toString() + "\n";
  return text;
}

static std::string getLoadError(std::string_view schema) {
  Result<Document> document = Document::parse(schema, "schema.json");
  EXPECT_TRUE(document) << document.error().message;
  Result<Schema> loaded = Schema::create(std::move(*document));
  return loaded ? "no error" : loaded.error().message;
}

TEST(JsonSchema, Types) {
  EXPECT_EQ(validate(R"({"type": "string"})", "\"x\""), "");
  EXPECT_EQ(validate(R"({"type": "string"})", "3"),
            "expected string, found number 3\n");
  EXPECT_EQ(validate(R"({"type": ["integer", "null"]})", "2.0"), "");
  EXPECT_EQ(validate(R"({"type": ["integer", "null"]})", "2.5"),
            "expected integer or null, found number 2.5\n");
}

TEST(JsonSchema, ReportsAllFaultsWithPaths) {
  const char *schema = R"({
    "type": "object",
    "required": ["id", "weight"],
    "additionalProperties": false,
    "properties": {
      "id": {"type": "string", "pattern": "^[a-z]+$"},
      "weight": {"type": "number", "exclusiveMinimum": 0},
      "list": {"type": "array", "minItems": 1, "uniqueItems": true,
               "items": {"enum": ["a", "b", 3]}}
    }})";
  EXPECT_EQ(validate(schema, R"({"id": "x", "weight": 0.5, "list": [3, "a"]})"),
            "");
  EXPECT_EQ(
      validate(schema, R"({"id": "X1", "weigth": 1, "list": ["a", "c", "a"]})"),
      "missing member \"weight\"\n"
      "id: expected text that matches ^[a-z]+$, found string \"X1\"\n"
      "weigth: unknown member, expected id, weight or list\n"
      "list[2]: string \"a\" is in the list twice\n"
      "list[1]: expected \"a\", \"b\" or 3, found string \"c\"\n");
  EXPECT_EQ(validate(schema, R"({"id": "x", "weight": 0, "list": []})"),
            "weight: expected more than 0, found 0\n"
            "list: expected at least 1 element, found 0\n");
}

TEST(JsonSchema, PrefixItemsAndBounds) {
  const char *schema = R"({
    "prefixItems": [{"type": "number", "minimum": 0, "maximum": 1}],
    "items": {"type": "string", "minLength": 1, "maxLength": 2}})";
  EXPECT_EQ(validate(schema, R"([0.5, "a", "bc"])"), "");
  EXPECT_EQ(validate(schema, R"([1.5, "", "abc"])"),
            "[0]: expected at most 1, found 1.5\n"
            "[1]: must not be empty\n"
            "[2]: is too long: string \"abc\"\n");
}

TEST(JsonSchema, ReferencesAndRecursion) {
  const char *schema = R"({
    "$ref": "#/$defs/tree",
    "$defs": {"tree": {
      "type": "object", "additionalProperties": false,
      "properties": {"all": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}
    }}})";
  EXPECT_EQ(validate(schema, R"({"all": [{"all": []}]})"), "");
  EXPECT_EQ(validate(schema, R"({"all": [{"all": [{"any": 1}]}]})"),
            "all[0].all[0].any: unknown member, expected all\n");
}

TEST(JsonSchema, AlternativesReportTheClosest) {
  const char *schema = R"({
    "oneOf": [
      {"required": ["fact"], "properties": {"fact": {"type": "string"}}},
      {"required": ["all"], "properties": {"all": {"type": "array"}}}
    ]})";
  EXPECT_EQ(validate(schema, R"({"fact": "x"})"), "");
  EXPECT_EQ(validate(schema, R"({"fact": 1})"),
            "fact: expected string, found number 1\n");
  EXPECT_EQ(validate(schema, R"({"fact": "x", "all": []})"),
            "fits 2 forms that exclude each other\n");
}

TEST(JsonSchema, ConditionsAndNegation) {
  const char *schema = R"({
    "if": {"required": ["targets"]},
    "then": {"not": {"description": "has both", "required": ["detect"]}},
    "else": {"required": ["detect"]}})";
  EXPECT_EQ(validate(schema, R"({"targets": 1})"), "");
  EXPECT_EQ(validate(schema, R"({"targets": 1, "detect": 1})"), "has both\n");
  EXPECT_EQ(validate(schema, "{}"), "missing member \"detect\"\n");
}

TEST(JsonSchema, NamesOfMembers) {
  const char *schema = R"({
    "minProperties": 1,
    "propertyNames": {"pattern": "^[a-z]+$"},
    "patternProperties": {"^x": {"type": "integer"}},
    "additionalProperties": {"type": "string"}})";
  EXPECT_EQ(validate(schema, R"({"x": 1, "y": "s"})"), "");
  EXPECT_EQ(validate(schema, "{}"), "expected at least 1 members, found 0\n");
  EXPECT_EQ(validate(schema, R"({"xy": "s", "A": "s", "b": 1})"),
            "xy: expected integer, found string \"s\"\n"
            "A: as a name: expected text that matches ^[a-z]+$, found string "
            "\"A\"\n"
            "b: expected string, found number 1\n");
}

TEST(JsonSchema, RefusesWhatItCannotCheck) {
  EXPECT_EQ(getLoadError(R"({"properties": {"a": {"requird": []}}})"),
            "schema.json: properties.a.requird: unknown schema keyword");
  EXPECT_EQ(getLoadError(R"({"$ref": "other.json"})"),
            "schema.json: $ref: the reference string \"other.json\" leads "
            "nowhere");
  EXPECT_NE(getLoadError(R"({"pattern": "["})").find("ill-formed pattern"),
            std::string::npos);
}

TEST(JsonSchema, SurvivesEndlessReferences) {
  EXPECT_EQ(validate(R"({"allOf": [{"$ref": "#"}]})", "1"),
            "the schema refers to itself without end\n");
}

TEST(JsonSchema, ChecksDocuments) {
  Result<Document> schema =
      Document::parse(R"({"required": ["a", "b"]})", "schema.json");
  Result<Schema> loaded = Schema::create(std::move(*schema));
  Result<Document> document = Document::parse("{}", "value.json");
  Result<void> result = loaded->check(*document);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "value.json: missing member \"a\"\n"
                                    "value.json: missing member \"b\"");
}

TEST(JsonSchema, UniqueItemsCompareByValue) {
  const char *schema = R"({"type": "array", "uniqueItems": true})";
  EXPECT_EQ(validate(schema, R"([1, "1", true, null, [1], {"a": 1}, 1.5])"),
            "");
  EXPECT_EQ(validate(schema, R"([2, 2.0])"),
            "[1]: number 2.0 is in the list twice\n");
  EXPECT_EQ(validate(schema, R"([{"a": [1], "b": 2}, {"b": 2.0, "a": [1]}])"),
            "[1]: object is in the list twice\n");
  EXPECT_EQ(validate(schema, R"([[], {}, [[]], [{}]])"), "");
  // The two differ by less than a double resolves.
  EXPECT_EQ(validate(schema, "[9007199254740992, 9007199254740993]"), "");
}

TEST(JsonSchema, ManyFaultsAreCounted) {
  Result<Document> document =
      Document::parse(R"({"type": "array", "items": {"type": "string"}})", "s");
  ASSERT_TRUE(document);
  Result<Schema> schema = Schema::create(std::move(*document));
  ASSERT_TRUE(schema);
  std::string text = "[0";
  for (int i = 1; i < 1000; ++i)
    text += ", 0";
  Result<Document> list = Document::parse(text + "]", "list.json");
  ASSERT_TRUE(list);
  Result<void> checked = schema->check(*list);
  ASSERT_FALSE(checked);
  const std::string &message = checked.error().message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  EXPECT_NE(message.find("list.json: [99]: expected string, found number 0\n"
                         "list.json: and 900 more faults"),
            std::string::npos)
      << message;
}
