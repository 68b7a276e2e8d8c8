// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts: one order whatever the order of insertion, and merging by identity.

#include "d2k/Fact/Fact.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace d2k;

static Fact makeFact(std::string property, int64_t bytes, int64_t line) {
  Fact fact;
  fact.property = std::move(property);
  fact.attributes["bytes"] = bytes;
  SourceLocation where;
  where.file = "a.cu";
  where.line = line;
  fact.where.push_back(where);
  return fact;
}

TEST(Fact, TierNamesRoundTrip) {
  for (Tier tier :
       {Tier::Source, Tier::Ptx, Tier::PtxClang, Tier::Sass, Tier::Runtime})
    EXPECT_EQ(parseTier(getTierName(tier)), tier);
  EXPECT_EQ(getTierName(Tier::PtxClang), "ptx:clang");
  EXPECT_FALSE(parseTier("PTX"));
}

TEST(Fact, TierSets) {
  TierSet set = {Tier::Sass, Tier::Source};
  EXPECT_TRUE(set.contains(Tier::Sass));
  EXPECT_FALSE(set.contains(Tier::Ptx));
  EXPECT_EQ(set.toVector(), (std::vector<Tier>{Tier::Source, Tier::Sass}));
  EXPECT_TRUE(set.intersect({Tier::Ptx}).empty());
}

TEST(Fact, PrintsAttributes) {
  EXPECT_EQ(toString(AttrValue(true)), "true");
  EXPECT_EQ(toString(AttrValue(int64_t(-16))), "-16");
  EXPECT_EQ(toString(AttrValue(0.75)), "0.75");
  EXPECT_EQ(toString(AttrValue(std::string("cp_async"))), "cp_async");
}

TEST(Fact, MergesWhatDiffersOnlyInPlace) {
  FactSet set;
  set.facts = {makeFact("tma", 16, 9), makeFact("tma", 16, 3),
               makeFact("tma", 16, 9), makeFact("tma", 8, 5)};
  set.facts[1].tiers = {Tier::Source};
  set.normalize();
  ASSERT_EQ(set.facts.size(), 2u);
  EXPECT_EQ(std::get<int64_t>(set.facts[0].attributes["bytes"]), 8);
  ASSERT_EQ(set.facts[1].where.size(), 2u);
  EXPECT_EQ(set.facts[1].where[0].line, 3);
  EXPECT_EQ(set.facts[1].where[1].line, 9);
  EXPECT_EQ(set.facts[1].tiers, (TierSet{Tier::Source, Tier::Ptx}));
}

TEST(Fact, KeepsApartWhatDiffersInIdentity) {
  FactSet set;
  set.facts = {makeFact("tma", 16, 1), makeFact("tma", 16, 1),
               makeFact("tma", 16, 1)};
  set.facts[1].inMain = Tristate::Yes;
  set.facts[2].loop = "L0";
  set.normalize();
  EXPECT_EQ(set.facts.size(), 3u);
}

TEST(Fact, OrderOfInsertionDoesNotMatter) {
  std::vector<Fact> facts = {makeFact("tma", 16, 9),
                             makeFact("async_copy", 4, 2),
                             makeFact("tma", 8, 5), makeFact("tma", 16, 1)};
  std::vector<int> order = {0, 1, 2, 3};
  std::string expected;
  do {
    FactSet set;
    for (int i : order)
      set.facts.push_back(facts[size_t(i)]);
    set.normalize();
    std::string text;
    for (const Fact &fact : set.facts)
      text += fact.property + toString(fact.attributes.at("bytes")) + "@" +
              std::to_string(fact.where.front().line) + " ";
    if (expected.empty())
      expected = text;
    EXPECT_EQ(text, expected);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(expected, "async_copy4@2 tma8@5 tma16@1 ");
}

TEST(Fact, DropsRepeatedNearMissesAndUndecided) {
  FactSet set;
  set.nearMisses = {{"tma", "why", {}}, {"tma", "why", {}}, {"tma", "a", {}}};
  set.undecided = {{"tma", "why", "run it", {}, {}},
                   {"tma", "why", "run it", {}, {}}};
  set.normalize();
  ASSERT_EQ(set.nearMisses.size(), 2u);
  EXPECT_EQ(set.nearMisses[0].reason, "a");
  EXPECT_EQ(set.undecided.size(), 1u);
}
