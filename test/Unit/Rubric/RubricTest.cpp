// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading rubrics: the model holds what the file says, and every fault of a
// file is reported with its path.

#include "d2k/Rubric/Rubric.h"

#include "d2k/Support/Files.h"

#include "RubricTestSupport.h"
#include "TestPaths.h"

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

static constexpr const char *kDetect = R"("detect": {"fact": "copy"})";

static std::string getError(const std::string &properties) {
  Result<Rubric> rubric = parseRubric(properties);
  return rubric ? "no error" : rubric.error().message;
}

TEST(Rubric, DocumentedExampleLoads) {
  Result<std::string> page = readFile(getSourcePath("docs/RubricFormat.md"));
  ASSERT_TRUE(page) << page.error().message;
  size_t begin = page->find("```json\n") + 8;
  Result<json::Document> document = json::Document::parse(
      page->substr(begin, page->find("```", begin) - begin), "example");
  ASSERT_TRUE(document) << document.error().message;
  Result<Rubric> rubric = Rubric::fromDocument(*document);
  ASSERT_TRUE(rubric) << rubric.error().message;
  ASSERT_EQ(rubric->properties.size(), 4u);
  const Property &staging = rubric->properties[1];
  EXPECT_EQ(staging.level, 1u);
  EXPECT_TRUE(staging.appliesToWorkload("large"));
  EXPECT_FALSE(staging.appliesToWorkload("small"));
  ASSERT_TRUE(staging.findTarget("sm_80"));
  EXPECT_EQ(toString(*staging.findTarget("sm_80")->detect),
            "async_copy in main where bytes in {8, 16}");
  EXPECT_EQ(toString(*staging.findTarget("sm_90a")->detect),
            "tma in main where op = load");
  EXPECT_EQ(toString(*rubric->properties[2].targets[0].detect),
            "all(async_pipeline in main where depth >= 3, in_flight >= 2, "
            "not(local_spills where bytes > 0))");
  EXPECT_EQ(rubric->properties[2].targets[0].detect->operands[1].path,
            "properties[2].detect.all[1]");
  EXPECT_EQ(rubric->properties[0].targets[0].partial[0].credit, 0.5);
}

TEST(Rubric, ArchitecturePatterns) {
  Target target;
  target.arch = {"sm_90a", "sm_10*"};
  EXPECT_TRUE(target.matches("sm_90a"));
  EXPECT_FALSE(target.matches("sm_90"));
  EXPECT_TRUE(target.matches("sm_100a"));
  EXPECT_TRUE(target.matches("sm_103a"));
  EXPECT_FALSE(target.matches("sm_120a"));
  target.arch = {"*"};
  EXPECT_TRUE(target.matches("sm_75"));
}

TEST(Rubric, SchemaFaultsHavePaths) {
  EXPECT_EQ(getError(R"({"id": "a"})"),
            "rubric.json: properties[0]: missing member \"level\"\n"
            "rubric.json: properties[0]: missing member \"guidance\"\n"
            "rubric.json: properties[0]: missing member \"title\"\n"
            "rubric.json: properties[0]: missing member \"weight\"\n"
            "rubric.json: properties[0]: missing member \"hint\"");
  EXPECT_EQ(getError(makeProperty("a", "L1", 0, kDetect)),
            "rubric.json: properties[0].weight: expected at least 0.001, "
            "found 0.0");
  // Sums of such weights are infinite.
  EXPECT_EQ(getError(makeProperty("a", "L1", 1e6, kDetect)),
            "rubric.json: properties[0].weight: expected at most 1000, found "
            "1e+06");
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, R"("partial": [])")),
            "rubric.json: properties[0].partial: expected at least 1 element, "
            "found 0\nrubric.json: properties[0]: missing member \"detect\"");
  EXPECT_EQ(getError(makeProperty(
                "a", "L1", 1, R"("detect": {"fact": "copy", "in": "man"})")),
            "rubric.json: properties[0].detect.in: expected \"main\", "
            "\"loop\", \"kernel\", \"any\", \"every\" or \"host\", found "
            "string \"man\"");
  EXPECT_EQ(
      getError(makeProperty(
          "a", "L1", 1,
          R"("detect": {"all": [{"fact": "copy", "where": {"bytes": {"gte": 4}}}]})")),
      "rubric.json: properties[0].detect.all[0].where.bytes.gte: "
      "unknown member, expected eq, ne, lt, le, gt, ge or in");
  EXPECT_EQ(
      getError(makeProperty(
          "a", "L1", 1, R"("detect": {"all": [{"fact": "x"}], "fact": "y"})")),
      "rubric.json: properties[0].detect: fits 2 forms that exclude "
      "each other");
}

TEST(Rubric, PartialCreditIsBetweenNoneAndFull) {
  for (const char *credit : {"0", "1", "1.5"})
    EXPECT_NE(getError(makeProperty(
                  "a", "L1", 1,
                  std::string(kDetect) + R"(, "partial": [{"credit": )" +
                      credit + R"(, "reason": "r", "when": {"fact": "x"}}])")),
              "no error");
}

TEST(Rubric, TargetsExcludeDetect) {
  EXPECT_EQ(getError(makeProperty("a", "L1", 1,
                                  std::string(kDetect) + R"(, "targets": [
              {"arch": ["*"], "detect": {"fact": "x"}}])")),
            "rubric.json: properties[0]: has `targets`, so that `detect` and "
            "`partial` belong into their entries");
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, R"("targets": [
              {"arch": ["sm90"], "detect": {"fact": "x"}}])")),
            "rubric.json: properties[0].targets[0].arch[0]: expected text "
            "that matches ^(sm_[0-9]+[af]?|sm_[0-9]*\\*|\\*)$, found string "
            "\"sm90\"");
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, R"("targets": [
              {"arch": ["*"]}])")),
            "rubric.json: properties[0].targets[0]: missing member "
            "\"detect\"");
}

TEST(Rubric, GatesNeedAReason) {
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, kDetect) + "," +
                     makeProperty("b", "L1", 1, std::string(kDetect) + R"(,
                       "depends_on": [{"property": "a"}])")),
            "rubric.json: properties[1].depends_on[0]: missing member "
            "\"reason\"");
}

TEST(Rubric, GatesMustExistAndEnd) {
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, std::string(kDetect) + R"(,
              "depends_on": [{"property": "z", "reason": "r"}])")),
            "rubric.json: properties[0].depends_on[0]: \"z\" is no property "
            "of this rubric");
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, std::string(kDetect) + R"(,
              "depends_on": [{"property": "b", "reason": "r"}])") +
                     "," +
                     makeProperty("b", "L1", 1, std::string(kDetect) + R"(,
              "depends_on": [{"property": "a", "reason": "r"}])")),
            "rubric.json: properties[0].depends_on: \"a\" depends on itself "
            "in a cycle");
}

TEST(Rubric, IdsAreUnique) {
  EXPECT_EQ(getError(makeProperty("a", "L1", 1, kDetect) + "," +
                     makeProperty("a", "L2", 1, kDetect)),
            "rubric.json: properties[1].id: \"a\" is another property's too");
}

TEST(Rubric, BadFiles) {
  Result<Rubric> missing = Rubric::load("/d2k/no/such/rubric.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "/d2k/no/such/rubric.json: no such file or directory");
  Result<json::Document> document =
      json::Document::parse(R"({"schema": "d2k.rubric/2"})", "r");
  EXPECT_EQ(Rubric::fromDocument(*document).error().message,
            "r: missing member \"task\"\n"
            "r: missing member \"properties\"\n"
            "r: schema: expected string \"d2k.rubric/1\", found string "
            "\"d2k.rubric/2\"");
}

TEST(Rubric, ShippedRubricsLoad) {
  Result<std::vector<std::string>> names =
      listDirectory(getSourcePath("rubrics"));
  ASSERT_TRUE(names) << names.error().message;
  unsigned loaded = 0;
  for (const std::string &name : *names) {
    if (name == "rubric.schema.json" || name.find(".json") == std::string::npos)
      continue;
    Result<Rubric> rubric = Rubric::load(getSourcePath("rubrics/" + name));
    EXPECT_TRUE(rubric) << rubric.error().message;
    if (rubric) {
      EXPECT_EQ(rubric->task + ".json", name);
    }
    ++loaded;
  }
  EXPECT_GE(loaded, 1u);
}

TEST(Rubric, LongChainsOfGatesAreOrdered) {
  // Each needs the next, so that the last comes first.
  constexpr int kCount = 1000;
  auto makeChain = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i)
      list +=
          (i ? "," : "") +
          makeProperty("p" + std::to_string(i), "L1", 1,
                       kDetect + (i + 1 == count
                                      ? std::string()
                                      : R"(, "depends_on": [{"property": "p)" +
                                            std::to_string(i + 1) +
                                            R"(", "reason": "r"}])"));
    return list;
  };
  Result<Rubric> rubric = parseRubric(makeChain(kCount));
  ASSERT_TRUE(rubric) << rubric.error().message;
  std::vector<size_t> order = rubric->getGateOrder();
  ASSERT_EQ(order.size(), size_t(kCount));
  for (int i = 0; i < kCount; ++i)
    EXPECT_EQ(order[i], size_t(kCount - 1 - i));
  EXPECT_EQ(getError(makeChain(kCount + 1)),
            "rubric.json: properties: expected at most 1000 elements, found "
            "1001");
}
