// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The catalog: what decides, what refutes, and what was meant.

#include "d2k/Fact/PropertyInfo.h"

#include "gtest/gtest.h"

#include <set>

using namespace d2k;

static PropertyInfo makeProperty(TierSet deciding, TierSet detectors) {
  PropertyInfo info;
  info.id = "p";
  info.decidingTiers = deciding;
  info.detectorTiers = detectors;
  return info;
}

TEST(PropertyInfo, RefutesOnlyWhereADetectorLooked) {
  PropertyInfo info = makeProperty({Tier::Ptx, Tier::Sass}, {Tier::Ptx});
  EXPECT_TRUE(info.canRefute({Tier::Ptx}));
  // Clang's PTX decides what PTX decides.
  EXPECT_TRUE(info.canRefute({Tier::PtxClang}));
  // No detector there yet; and not seen whole at any deciding tier.
  EXPECT_FALSE(info.canRefute({Tier::Sass}));
  EXPECT_FALSE(info.canRefute({Tier::Source}));
  EXPECT_FALSE(info.canRefute({}));
  // Looking where the property is not decided proves nothing.
  EXPECT_FALSE(makeProperty({Tier::Sass}, {Tier::Ptx}).canRefute({Tier::Ptx}));
  // No detector at all.
  EXPECT_FALSE(makeProperty({Tier::Ptx}, {}).canRefute({Tier::Ptx}));
}

TEST(PropertyInfo, DecidesAtItsTiers) {
  PropertyInfo info = makeProperty({Tier::Ptx}, {Tier::Ptx});
  EXPECT_TRUE(info.isDecidedAt(Tier::Ptx));
  EXPECT_TRUE(info.isDecidedAt(Tier::PtxClang));
  EXPECT_FALSE(info.isDecidedAt(Tier::Source));
  EXPECT_FALSE(info.isDecidedAt(Tier::Runtime));
}

TEST(PropertyCatalog, RefusesASecondDefinition) {
  PropertyCatalog catalog;
  PropertyInfo info = makeProperty({}, {});
  EXPECT_TRUE(catalog.add(info));
  EXPECT_FALSE(catalog.add(info));
  EXPECT_EQ(catalog.getProperties().size(), 1u);
}

TEST(PropertyCatalog, SuggestsTheClosestId) {
  PropertyCatalog catalog;
  for (PropertyInfo &info : getUndetectedVocabulary())
    ASSERT_TRUE(catalog.add(std::move(info)));
  EXPECT_EQ(catalog.suggest("split_reducton"), "split_reduction");
  EXPECT_EQ(catalog.suggest("cache_polcy"), "cache_policy");
  EXPECT_EQ(catalog.suggest("completely_different"), "");
  EXPECT_EQ(catalog.suggest(std::string(100000, 'x')), "");
}

TEST(Vocabulary, RowsAreWellFormed) {
  std::set<std::string> ids;
  for (const PropertyInfo &info : getUndetectedVocabulary()) {
    SCOPED_TRACE(info.id);
    EXPECT_TRUE(ids.insert(info.id).second) << "defined twice";
    EXPECT_TRUE(info.group >= 'A' && info.group <= 'F');
    EXPECT_FALSE(info.summary.empty());
    EXPECT_FALSE(info.decidingTiers.empty());
    EXPECT_FALSE(info.isImplemented());
    // Whoever decides about the host reads the source.
    if (info.subject == Subject::Host) {
      EXPECT_TRUE(info.decidingTiers.contains(Tier::Source));
    }
    for (const AttributeInfo &attribute : info.attributes) {
      EXPECT_FALSE(attribute.meaning.empty()) << attribute.name;
      if (attribute.type != AttrType::String) {
        EXPECT_TRUE(attribute.values.empty()) << attribute.name;
      }
    }
  }
  const char *expected[] = {"scale_promotion", "split_reduction",
                            "parallel_scan", "gqa_packing", "reduction_scheme"};
  for (const char *id : expected)
    EXPECT_TRUE(ids.count(id)) << id;
}
