// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every way in which PTX and machine code can agree and disagree about one
// property of one kernel.

#include "d2k/Fact/MergeTiers.h"

#include "gtest/gtest.h"

using namespace d2k;

namespace {

/// `copy` is decided by both tiers, `spills` by machine code, `bounds` by PTX.
PropertyCatalog makeCatalog() {
  PropertyCatalog catalog;
  auto add = [&](const char *id, TierSet tiers) {
    PropertyInfo info;
    info.id = id;
    info.decidingTiers = info.detectorTiers = tiers;
    info.perTier = {"share"};
    EXPECT_TRUE(catalog.add(info));
  };
  add("copy", {Tier::Ptx, Tier::Sass});
  add("async_pipeline", {Tier::Ptx, Tier::Sass});
  add("spills", {Tier::Sass});
  add("bounds", {Tier::Ptx});
  return catalog;
}

SourceLocation at(int64_t line) {
  SourceLocation place;
  place.file = "/src/copy.cu";
  place.line = line;
  return place;
}

Fact makeFact(Tier tier, int64_t bytes, int64_t line,
              const char *property = "copy") {
  Fact fact;
  fact.property = property;
  fact.tier = tier;
  fact.tiers.insert(tier);
  fact.attributes["bytes"] = bytes;
  SourceLocation place = at(line);
  if (tier == Tier::Sass) {
    place.sassOffset = line * 16;
    place.sassInstruction = "LDG.E.128";
  } else {
    place.ptxLine = line * 10;
    place.instruction = "ld.global.v4.f32";
  }
  fact.where = {place};
  return fact;
}

KernelFacts makeKernel(Tier tier, bool whole = true) {
  KernelFacts kernel;
  kernel.name = kernel.demangled = "k";
  if (whole)
    kernel.completeTiers.insert(tier);
  return kernel;
}

class MergeTiers : public testing::Test {
protected:
  MergeTiers()
      : ptx(makeKernel(Tier::Ptx)), sass(makeKernel(Tier::Sass)),
        catalog(makeCatalog()) {}
  KernelFacts merge() { return mergeTiers(ptx, sass, catalog); }
  void makeUndecided(KernelFacts &kernel, const char *reason) {
    kernel.undecided.push_back({"copy", reason, "more", {}, {}});
  }

  KernelFacts ptx, sass;
  PropertyCatalog catalog;
};

TEST_F(MergeTiers, Corroborates) {
  ptx.facts = {makeFact(Tier::Ptx, 16, 7)};
  ptx.facts[0].attributes["share"] = 1.0;
  ptx.facts[0].loop = "L0";
  sass.facts = {makeFact(Tier::Sass, 16, 7)};
  sass.facts[0].attributes["share"] = 0.5;
  sass.facts[0].attributes["direction"] = std::string("load");
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  const Fact &fact = merged.facts[0];
  EXPECT_EQ(fact.tier, Tier::Ptx);
  EXPECT_EQ(fact.tiers, (TierSet{Tier::Ptx, Tier::Sass}));
  EXPECT_EQ(fact.loop, "L0");
  // What PTX knows stays, what it does not know comes from machine code.
  EXPECT_EQ(fact.attributes, (AttributeMap{{"bytes", int64_t(16)},
                                           {"direction", std::string("load")},
                                           {"share", 1.0}}));
  ASSERT_EQ(fact.where.size(), 1u);
  EXPECT_EQ(fact.where[0].ptxLine, 70);
  EXPECT_EQ(fact.where[0].instruction, "ld.global.v4.f32");
  EXPECT_EQ(fact.where[0].sassOffset, 112);
  EXPECT_EQ(fact.where[0].sassInstruction, "LDG.E.128");
  EXPECT_EQ(merged.completeTiers, (TierSet{Tier::Ptx, Tier::Sass}));
  EXPECT_TRUE(merged.nearMisses.empty());
}

TEST_F(MergeTiers, PtxasMakesNoPipelineOfCopies) {
  auto makePipeline = [](const char *mechanism) {
    Fact fact = makeFact(Tier::Sass, 16, 7, "async_pipeline");
    fact.attributes = {{"mechanism", std::string(mechanism)}};
    return fact;
  };
  NearMiss miss;
  miss.property = "async_pipeline";
  miss.reason = "serial";
  sass.facts = {makePipeline("cp_async")};
  ptx.nearMisses = {miss};
  KernelFacts merged = merge();
  EXPECT_TRUE(merged.facts.empty());
  ASSERT_EQ(merged.nearMisses.size(), 1u);
  EXPECT_EQ(merged.nearMisses[0].reason, "serial");
  // Loads it does move.
  sass.facts = {makePipeline("register_prefetch")};
  EXPECT_EQ(merge().facts.size(), 1u);
  // PTX that leaves something open, was seen in part, or says nothing.
  sass.facts = {makePipeline("cp_async")};
  ptx.undecided.push_back({"async_pipeline", "unknown", "more", {}, {}});
  EXPECT_EQ(merge().facts.size(), 1u);
  ptx.undecided.clear();
  ptx.completeTiers = {};
  EXPECT_EQ(merge().facts.size(), 1u);
  ptx.completeTiers.insert(Tier::Ptx);
  ptx.nearMisses.clear();
  EXPECT_EQ(merge().facts.size(), 1u);
}

TEST_F(MergeTiers, PlacesWithoutPartnerAreAdded) {
  // ptxas attributed the instruction to another line.
  ptx.facts = {makeFact(Tier::Ptx, 16, 7)};
  sass.facts = {makeFact(Tier::Sass, 16, 9)};
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  ASSERT_EQ(merged.facts[0].where.size(), 2u);
  EXPECT_EQ(merged.facts[0].where[1].line, 9);
  // Places in PTX without line information are met through the PTX line.
  ptx.facts[0].where[0].kind = LocationKind::Ptx;
  ptx.facts[0].where[0].line = 70;
  ptx.facts[0].where[0].ptxLine.reset();
  sass.facts[0].where[0].kind = LocationKind::Sass;
  sass.facts[0].where[0].ptxLine = 70;
  merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  ASSERT_EQ(merged.facts[0].where.size(), 1u);
  EXPECT_EQ(merged.facts[0].where[0].sassOffset, 144);
}

TEST_F(MergeTiers, OtherPlacesOfThePartnerAreAdded) {
  // The machine code has one instruction at the line of PTX's, and one that
  // ptxas attributed to another line.
  ptx.facts = {makeFact(Tier::Ptx, 16, 7)};
  sass.facts = {makeFact(Tier::Sass, 16, 7)};
  sass.facts[0].where.push_back(makeFact(Tier::Sass, 16, 9).where[0]);
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  ASSERT_EQ(merged.facts[0].where.size(), 2u);
  EXPECT_EQ(merged.facts[0].where[0].sassOffset, 112);
  EXPECT_EQ(merged.facts[0].where[1].line, 9);
  EXPECT_EQ(merged.facts[0].where[1].sassOffset, 144);
  // With two partners it is not known whose the other one is.
  ptx.facts.push_back(makeFact(Tier::Ptx, 16, 7));
  ptx.facts[1].loop = "L1";
  merged = merge();
  ASSERT_EQ(merged.facts.size(), 2u);
  for (const Fact &fact : merged.facts)
    EXPECT_EQ(fact.where.size(), 1u);
}

// Two loops with a copy each: the instruction of the one is none of the other.
TEST_F(MergeTiers, PlacesOfAnotherLoopAreNotAdded) {
  ptx.facts = {makeFact(Tier::Ptx, 16, 7), makeFact(Tier::Ptx, 16, 8)};
  ptx.facts[0].loop = "L0";
  ptx.facts[1].loop = "L1";
  sass.facts = {makeFact(Tier::Sass, 16, 7), makeFact(Tier::Sass, 16, 8)};
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 2u);
  for (const Fact &fact : merged.facts) {
    EXPECT_TRUE(fact.tiers.contains(Tier::Sass));
    ASSERT_EQ(fact.where.size(), 1u);
    EXPECT_EQ(fact.where[0].sassOffset, fact.where[0].line * 16);
  }
}

TEST_F(MergeTiers, WholeMachineCodeContradicts) {
  ptx.facts = {makeFact(Tier::Ptx, 16, 7)};
  sass.facts = {makeFact(Tier::Sass, 4, 7)};
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  EXPECT_EQ(merged.facts[0].tier, Tier::Sass);
  ASSERT_EQ(merged.nearMisses.size(), 1u);
  EXPECT_EQ(merged.nearMisses[0].property, "copy");
  EXPECT_EQ(merged.nearMisses[0].reason,
            "`ld.global.v4.f32` (bytes 16) is in the PTX at copy.cu:7, and the "
            "machine code does not have it, which has: bytes 4");
  EXPECT_EQ(merged.nearMisses[0].where[0].line, 7);
}

TEST_F(MergeTiers, UnsureMachineCodeDoesNotContradict) {
  ptx.facts = {makeFact(Tier::Ptx, 16, 7)};
  sass = makeKernel(Tier::Sass, /*whole=*/false);
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  EXPECT_EQ(merged.facts[0].tiers, TierSet{Tier::Ptx});
  EXPECT_TRUE(merged.nearMisses.empty());
  // Whole, and undecided about this property.
  sass = makeKernel(Tier::Sass);
  makeUndecided(sass, "unknown address");
  merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  EXPECT_TRUE(merged.nearMisses.empty());
  // PTX was whole and sure: nothing stays undecided.
  EXPECT_TRUE(merged.undecided.empty());
}

TEST_F(MergeTiers, MachineCodeAloneHolds) {
  sass.facts = {makeFact(Tier::Sass, 16, 7)};
  makeUndecided(ptx, "a call");
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 1u);
  EXPECT_EQ(merged.facts[0].tier, Tier::Sass);
  // Machine code settles what PTX left open.
  EXPECT_TRUE(merged.undecided.empty());
}

TEST_F(MergeTiers, BothUnsure) {
  makeUndecided(ptx, "a call");
  makeUndecided(sass, "unknown address");
  KernelFacts merged = merge();
  ASSERT_EQ(merged.undecided.size(), 1u);
  EXPECT_EQ(merged.undecided[0].reason, "a call");
  // PTX is silent without having been seen whole: the doubt of machine code
  // stays.
  ptx = makeKernel(Tier::Ptx, /*whole=*/false);
  merged = merge();
  ASSERT_EQ(merged.undecided.size(), 1u);
  EXPECT_EQ(merged.undecided[0].reason, "unknown address");
}

TEST_F(MergeTiers, NearMisses) {
  ptx.nearMisses = {{"copy", "drains at once", {at(7)}}};
  sass.nearMisses = {{"copy", "the same in other words", {at(7)}}};
  KernelFacts merged = merge();
  ASSERT_EQ(merged.nearMisses.size(), 1u);
  EXPECT_EQ(merged.nearMisses[0].reason, "drains at once");
  ptx.nearMisses.clear();
  merged = merge();
  ASSERT_EQ(merged.nearMisses.size(), 1u);
  EXPECT_EQ(merged.nearMisses[0].reason, "the same in other words");
}

TEST_F(MergeTiers, PropertiesOfOneTier) {
  ptx.facts = {makeFact(Tier::Ptx, 1, 3, "bounds")};
  sass.facts = {makeFact(Tier::Sass, 2, 4, "spills")};
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 2u);
  EXPECT_TRUE(merged.nearMisses.empty());
}

TEST_F(MergeTiers, LoopsByPlace) {
  auto loop = [](const char *id, int64_t line) {
    KernelLoop entry;
    entry.id = id;
    entry.where = at(line);
    return entry;
  };
  ptx.loops = {loop("L0", 5), loop("L1", 6), loop("L2", 6)};
  sass.loops = {loop("L0", 6), loop("L1", 5)};
  sass.facts = {makeFact(Tier::Sass, 16, 7), makeFact(Tier::Sass, 8, 8)};
  sass.facts[0].loop = "L1";
  sass.facts[1].loop = "L0";
  KernelFacts merged = merge();
  ASSERT_EQ(merged.facts.size(), 2u);
  EXPECT_EQ(merged.facts[0].loop, "L0");
  // Two loops of PTX start at line 6: which one it is, is not known.
  EXPECT_EQ(merged.facts[1].loop, std::nullopt);
  EXPECT_EQ(merged.loops.size(), 3u);
}

TEST_F(MergeTiers, PartnersByName) {
  // nvcc names what is in an anonymous namespace after the path.
  ptx.name = "_ZN1a1kEv";
  sass.name = "_ZN1b1kEv";
  ptx.demangled = sass.demangled = "(anonymous namespace)::k()";
  std::vector<KernelFacts> merged = mergeKernels({ptx}, {sass}, catalog);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].completeTiers, (TierSet{Tier::Ptx, Tier::Sass}));
  // Two of them: nothing tells which is which.
  EXPECT_EQ(mergeKernels({ptx, ptx}, {sass}, catalog).size(), 3u);
  // The mangled name comes first.
  KernelFacts same = sass;
  same.name = ptx.name;
  merged = mergeKernels({ptx}, {sass, same}, catalog);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[1].name, "_ZN1b1kEv");
}

} // namespace
