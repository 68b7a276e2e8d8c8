// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lint of rubrics and guidance: one case a fault, and one that is sound.

#include "d2k/Rubric/Lint.h"

#include "RubricTestSupport.h"

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

/// The faults of a rubric with these properties, one a line.
static std::string lint(const std::string &properties,
                        const Guidance *guidance = nullptr) {
  Result<Rubric> rubric = parseRubric(properties);
  if (!rubric)
    return rubric.error().message;
  PropertyCatalog catalog = makeCatalog();
  std::vector<std::string> workloads = {"large", "small"};
  LintContext context;
  context.catalog = &catalog;
  context.guidance = guidance;
  context.workloads = &workloads;
  std::string text;
  for (const std::string &fault : lintRubric(*rubric, context))
    text += fault + "\n";
  return text;
}

/// The faults of one property with this `detect`.
static std::string lintDetect(const std::string &detect) {
  return lint(makeProperty("p", "L1", 1, "\"detect\": " + detect));
}

TEST(RubricLint, SoundPredicates) {
  EXPECT_EQ(lintDetect(R"({"all": [
    {"fact": "copy", "in": "main", "where": {"bytes": {"ge": 4},
       "share": {"in": [1, 0.5]}, "kind": "bulk", "fused": true}},
    {"fact": "launches", "in": "host"}, {"fact": "launches"},
    {"not": {"fact": "spill"}}]})"),
            "");
}

TEST(RubricLint, UnknownPropertiesAreSuggested) {
  EXPECT_EQ(lintDetect(R"({"fact": "pip"})"),
            "properties[0].detect.fact: unknown property \"pip\"; did you "
            "mean \"pipe\"?\n");
  EXPECT_EQ(lintDetect(R"({"fact": "quite_another"})"),
            "properties[0].detect.fact: unknown property "
            "\"quite_another\"\n");
}

TEST(RubricLint, AttributesAndValues) {
  auto where = [](const std::string &text) {
    return lintDetect("{\"fact\": \"copy\", \"where\": {" + text + "}}");
  };
  EXPECT_EQ(where(R"("byte": 4)"),
            "properties[0].detect.where.byte: \"copy\" has no attribute "
            "\"byte\"; did you mean \"bytes\"?\n");
  EXPECT_EQ(where(R"("kind": "bulc")"),
            "properties[0].detect.where.kind: \"bulc\" is no value of "
            "\"kind\"; did you mean \"bulk\"?\n");
  EXPECT_EQ(where(R"("kind": {"in": ["bulk", "x"]})"),
            "properties[0].detect.where.kind: \"x\" is no value of "
            "\"kind\"\n");
  EXPECT_EQ(where(R"("bytes": "4")"),
            "properties[0].detect.where.bytes: expected integer for "
            "\"bytes\", found 4\n");
  EXPECT_EQ(where(R"("kind": {"ge": 4})"),
            "properties[0].detect.where.kind: \"ge\" needs a number, but "
            "\"kind\" is string\n");
}

TEST(RubricLint, ScopesFitTheSubject) {
  EXPECT_EQ(lintDetect(R"({"fact": "launches", "in": "main"})"),
            "properties[0].detect.in: \"launches\" is a property of the host, "
            "so that its scope is \"host\", not \"main\"\n");
  EXPECT_EQ(lintDetect(R"({"fact": "copy", "in": "host"})"),
            "properties[0].detect.in: \"copy\" is a property of kernels and "
            "never holds in the host code\n");
}

TEST(RubricLint, NegationsNeedAGuard) {
  const std::string fault =
      "a helper kernel that does nothing fulfils this `not`; put it into an "
      "`all` beside a fact of the same kernel, or give its facts the scope "
      "\"any\"\n";
  EXPECT_EQ(lintDetect(R"({"not": {"fact": "copy"}})"),
            "properties[0].detect: " + fault);
  EXPECT_EQ(lintDetect(R"({"not": {"fact": "copy", "in": "any"}})"), "");
  EXPECT_EQ(lintDetect(R"({"not": {"fact": "launches"}})"), "");
  EXPECT_EQ(lintDetect(R"({"all": [{"fact": "pipe"},
      {"any": [{"fact": "copy"}, {"not": {"fact": "copy"}}]}]})"),
            "");
  // A fact of any kernel is no guard for this one.
  EXPECT_EQ(lintDetect(R"({"all": [{"fact": "pipe", "in": "any"},
      {"not": {"fact": "copy"}}]})"),
            "properties[0].detect.all[1]: " + fault);
  // An `any` guards when all of its branches do.
  EXPECT_EQ(lintDetect(R"({"all": [{"any": [{"fact": "pipe"},
      {"fact": "copy"}]}, {"not": {"fact": "spill"}}]})"),
            "");
  EXPECT_EQ(lintDetect(R"({"all": [{"any": [{"fact": "pipe"},
      {"fact": "launches"}]}, {"not": {"fact": "spill"}}]})"),
            "properties[0].detect.all[1]: " + fault);
}

TEST(RubricLint, InverseProperties) {
  EXPECT_EQ(lintDetect(R"({"fact": "spill"})"),
            "properties[0].detect: asks for \"spill\", of which less is "
            "better; put it under `not`\n");
}

TEST(RubricLint, PartialsAreLesserClaims) {
  EXPECT_EQ(lint(makeProperty("p", "L1", 1, R"("detect": {"fact": "copy"},
      "partial": [{"credit": 0.5, "reason": "r", "when": {"fact": "copy"}}])")),
            "properties[0].partial[0].when: is the same as `detect`, so that "
            "it never counts\n");
}

TEST(RubricLint, ArchitecturesAreCovered) {
  EXPECT_EQ(lint(makeProperty("p", "L1", 1, R"("targets": [
      {"arch": ["sm_9*"], "detect": {"fact": "copy"}}])")),
            "properties[0].targets: no entry matches sm_80, sm_100a; add one, "
            "or say `not_applicable` with the reason\n");
  EXPECT_EQ(lint(makeProperty("p", "L1", 1, R"("targets": [
      {"arch": ["*"], "detect": {"fact": "copy"}},
      {"arch": ["sm_9*"], "detect": {"fact": "pipe"}}])")),
            "properties[0].targets[1].arch: is never reached: the entry "
            "before it matches everything\n");
}

TEST(RubricLint, WorkloadsExist) {
  EXPECT_EQ(lint(makeProperty("p", "L1", 1, R"("applies_to": ["larg"],
      "detect": {"fact": "copy"})")),
            "properties[0].applies_to[0]: the task has no workload \"larg\"; "
            "did you mean \"large\"?\n");
}

//===----------------------------------------------------------------------===//
// Guidance
//===----------------------------------------------------------------------===//

/// Eight sound items, L1.1 to L1.8.
static std::string makeGuidance() {
  std::string text = "# task: how an expert would do it\n";
  for (int i = 1; i <= 8; ++i)
    text += "\n## L1." + std::to_string(i) + " Do it\nDepends on: nothing\n";
  return text;
}

static std::string getFaults(const std::string &text) {
  std::string faults;
  for (const std::string &fault : parseGuidance(text).faults)
    faults += fault + "\n";
  return faults;
}

TEST(Guidance, ReadsItems) {
  Guidance guidance =
      parseGuidance(makeGuidance() + "\n## L2.13 Feed it: a ring\n"
                                     "Depends on: L1.1, L1.2.\nProse.\n");
  EXPECT_TRUE(guidance.faults.empty());
  ASSERT_EQ(guidance.items.size(), 9u);
  const GuidanceItem *item = guidance.find("L2.13");
  ASSERT_TRUE(item);
  EXPECT_EQ(item->level, 1u);
  EXPECT_EQ(item->title, "Feed it: a ring");
  EXPECT_EQ(item->dependsOn, (std::vector<std::string>{"L1.1", "L1.2"}));
  // A title, then eight items of three lines each, then an empty line.
  EXPECT_EQ(item->line, 27u);
}

TEST(Guidance, IgnoresCode) {
  EXPECT_EQ(getFaults(makeGuidance() + "```\n## not an item\n```\n"), "");
}

TEST(Guidance, Faults) {
  EXPECT_EQ(getFaults(makeGuidance() + "## Summary\n"),
            "26: expected a heading `## L2.3 Title`\n");
  EXPECT_EQ(getFaults(makeGuidance() + "## L1.8 Again\nDepends on: nothing\n"),
            "26: L1.8 is given twice\n");
  EXPECT_EQ(getFaults(makeGuidance() + "## L2.1 Bare\n"),
            "26: L2.1 has no line `Depends on:`; write `Depends on: nothing` "
            "when it depends on no other item\n");
  EXPECT_EQ(getFaults(makeGuidance() + "## L2.1 X\nDepends on: L1.99\n"),
            "26: L2.1 depends on L1.99, which does not exist\n");
  EXPECT_EQ(getFaults(makeGuidance() +
                      "## L2.1 X\nDepends on: L3.1\n## L3.1 Y\nDepends on: "
                      "nothing\n"),
            "26: L2.1 depends on L3.1, which is of a later level\n");
  EXPECT_EQ(getFaults(makeGuidance() + "## L2.1 X\nDepends on: L2.2\n"
                                       "## L2.2 Y\nDepends on: L2.1\n"),
            "26: L2.1 depends on itself in a cycle\n"
            "28: L2.2 depends on itself in a cycle\n");
  EXPECT_EQ(getFaults(makeGuidance() + "## L2.1 X\nDepends on: the rest\n"),
            "27: expected items like L1.1, L2.2 or `nothing` after `Depends "
            "on:`\n");
  EXPECT_EQ(getFaults(""), "0: has 0 items, expected 8 to 14\n");
}

TEST(RubricLint, GuidanceAndRubricCoverEachOther) {
  std::string text = makeGuidance();
  // Drop two items: six are left besides L1.1.
  Guidance guidance = parseGuidance(text);
  guidance.items.resize(2);
  EXPECT_EQ(
      lint(makeProperty("p", "L1", 1, R"("detect": {"fact": "copy"})") + "," +
               makeProperty("q", "L2", 1, R"("detect": {"fact": "copy"})"),
           &guidance),
      "properties[1].guidance: the guidance has no item L2.1\n"
      "properties: no property checks the guidance's item L1.2 (Do "
      "it)\n");
}

TEST(RubricLint, ItemAndPropertyAreOfOneLevel) {
  EXPECT_EQ(lint(R"({"id": "p", "level": "L2", "guidance": "L1.1",
      "title": "t", "weight": 1, "hint": "h", "detect": {"fact": "copy"}})"),
            "properties[0].guidance: item L1.1 is not of level L2\n");
}

TEST(Guidance, LevelsAreCutAtTheirItems) {
  const char *text = "# Title\nBefore.\n"
                     "## L1.1 A\nDepends on: nothing\nOne.\n"
                     "## L2.1 B\nDepends on: L1.1\nTwo.\n"
                     "## L1.2 C\nDepends on: nothing\nThree.\n"
                     "## L3.1 D\nDepends on: L2.1\nFour.";
  EXPECT_EQ(selectGuidance(text, 0), "# Title\nBefore.\n");
  EXPECT_EQ(selectGuidance(text, 1),
            "# Title\nBefore.\n"
            "## L1.1 A\nDepends on: nothing\nOne.\n"
            "## L1.2 C\nDepends on: nothing\nThree.\n");
  EXPECT_EQ(selectGuidance(text, 3), text);
}
