// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rubric of gemm_bf16 against facts written by hand: that an expert's
// design can reach 100 on every target, that the shipped kernels are told
// apart by what PTX alone proves, and that ornaments earn nothing. The expected
// levels are the sums of docs/Rationale/gemm_bf16-rubric.md.

#include "../TestPaths.h"
#include "RubricTestSupport.h"
#include "d2k/Rubric/Score.h"

#include "gtest/gtest.h"

#include <memory>
#include <set>
#include <utility>

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

namespace {

const std::vector<std::string> kWorkloads = {
    "llama3_70b_o_proj", "llama3_8b_down_proj", "qwen3_32b_o_proj",
    "llama3_8b_qkv_ragged"};

/// The vocabulary, and what the rubric uses of the properties that have
/// detectors. With \p all, every property can be refuted.
PropertyCatalog makeVocabulary(bool all = false) {
  PropertyCatalog catalog;
  for (PropertyInfo info : getUndetectedVocabulary()) {
    if (all)
      info.detectorTiers = info.decidingTiers = {
          info.subject == Subject::Host ? Tier::Source : Tier::Ptx};
    (void)catalog.add(std::move(info));
  }
  for (const char *id :
       {"async_copy", "tma", "tensor_core", "matrix_fragment_access",
        "vector_global_access", "register_reallocation", "cluster_launch",
        "dependent_launch"}) {
    PropertyInfo info;
    info.id = id;
    info.decidingTiers = {Tier::Ptx};
    info.detectorTiers = {Tier::Ptx};
    (void)catalog.add(std::move(info));
  }
  // Whether these can be refuted depends on the test.
  const std::set<std::string> ofTheHost = {
      "kernel_count", "global_intermediates", "shape_dispatch"};
  for (const char *id : {"local_spills",         "kernel_count",
                         "global_intermediates", "shape_dispatch",
                         "smem_tiling",          "tile_shape",
                         "async_pipeline",       "warp_specialization",
                         "persistent_kernel",    "tile_rasterization",
                         "epilogue_fusion",      "pingpong_schedule",
                         "smem_swizzle",         "smem_padding",
                         "async_mma_overlap",    "tmem_accumulator",
                         "bulk_store_epilogue",  "distributed_smem",
                         "register_tiling",      "coalesced_global_access",
                         "smem_bank_conflict",   "prologue_fusion"}) {
    PropertyInfo info;
    info.id = id;
    bool isKernel = ofTheHost.count(info.id) == 0;
    info.subject = isKernel ? Subject::Kernel : Subject::Host;
    info.decidingTiers = {isKernel ? Tier::Ptx : Tier::Source};
    if (all)
      info.detectorTiers = info.decidingTiers;
    (void)catalog.add(std::move(info));
  }
  return catalog;
}

const std::string kBf16 = "bf16", kF32 = "f32";

Fact makeProduct(const std::string &family, int64_t group = 1) {
  AttributeMap attributes = {{"family", family}};
  if (family == "tcgen05")
    attributes["cta_group"] = group;
  else
    attributes.insert({{"a", kBf16}, {"b", kBf16}, {"acc", kF32}});
  return makeMainFact("tensor_core", std::move(attributes));
}

Fact makeTma(const std::string &op, bool multicast = false) {
  AttributeMap attributes = {{"op", op}, {"dims", int64_t(2)}};
  if (op == "store")
    return makeFact("tma", std::move(attributes));
  attributes["multicast"] = multicast;
  return makeMainFact("tma", std::move(attributes));
}

Fact makeAsyncCopy() {
  return makeMainFact("async_copy", {{"mechanism", std::string("cp_async")},
                                     {"bytes", int64_t(16)}});
}

Fact makeVectors(const std::string &direction, double share = 1.0) {
  AttributeMap attributes = {
      {"direction", direction}, {"bytes", int64_t(16)}, {"share", share}};
  return direction == "load"
             ? makeMainFact("vector_global_access", std::move(attributes))
             : makeFact("vector_global_access", std::move(attributes));
}

Fact makeReallocation() {
  return makeFact("register_reallocation",
                  {{"decrease", int64_t(40)}, {"increase", int64_t(232)}});
}

class GemmBf16Test : public testing::Test {
protected:
  void SetUp() override {
    Result<Rubric> loaded =
        Rubric::load(getSourcePath("rubrics/gemm_bf16.json"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    rubric = std::make_unique<Rubric>(std::move(*loaded));
  }

  Score score(std::string target, std::vector<Fact> facts,
              std::vector<Fact> host = {}, bool all = false) {
    Analysis analysis = makeAnalysis({makeKernel("gemm", std::move(facts))});
    analysis.target = std::move(target);
    for (Fact &fact : host)
      fact.tier = Tier::Source;
    analysis.host.facts = std::move(host);
    return computeScore(*rubric, analysis, makeVocabulary(all), kWorkloads);
  }

  /// Proved credit of one property.
  double getLow(const Score &score, const std::string &id) {
    for (const PropertyScore &property : score.properties)
      if (rubric->properties[property.property].id == id)
        return property.credit.lo;
    ADD_FAILURE() << "no property " << id;
    return -1;
  }

  static void expectLevels(const Score &score, double l1, double l2,
                           double l3) {
    const double expected[] = {l1, l2, l3};
    for (unsigned i = 0; i < 3; ++i) {
      ASSERT_TRUE(score.ungated.levels[i]);
      EXPECT_NEAR(score.ungated.levels[i]->lo, expected[i], 0.01)
          << "L" << i + 1;
    }
    EXPECT_NEAR(score.ungated.combined.lo, (l1 + l2 + l3) / 3, 0.01);
  }

  std::unique_ptr<Rubric> rubric;
};

//===----------------------------------------------------------------------===//
// The shipped kernels, with what PTX proves in this version
//===----------------------------------------------------------------------===//

// Level 1 has applicable weights of 8, 8, 10 and 11 in the four workloads,
// level 2 of 22, 22, 22 and 20.
constexpr double kPerPointL1 = 100 * (1 / 8. + 1 / 8. + 1 / 10. + 1 / 11.) / 4;
constexpr double kPerPointL2 = 100 * (3 / 22. + 1 / 20.) / 4;

TEST_F(GemmBf16Test, PlainKernelHasNothing) {
  expectLevels(score("sm_90a", {}), 0, 0, 0);
  expectLevels(score("sm_80", {}), 0, 0, 0);
  expectLevels(score("sm_100a", {}), 0, 0, 0);
}

TEST_F(GemmBf16Test, TiledKernelHasWideAccesses) {
  std::vector<Fact> facts = {makeVectors("load"), makeVectors("store")};
  expectLevels(score("sm_90a", facts), 0, 0.4 * kPerPointL2, 100 * 2 / 12.);
  expectLevels(score("sm_100a", facts), 0, 0.4 * kPerPointL2, 100 * 2 / 10.);
}

TEST_F(GemmBf16Test, WarpLevelProductsAreHalfOfHopper) {
  std::vector<Fact> facts = {
      makeProduct("mma_sync"), makeAsyncCopy(), makeVectors("store"),
      makeMainFact("matrix_fragment_access",
                   {{"op", std::string("ldmatrix")}, {"transposed", false}})};
  expectLevels(score("sm_90a", facts), 2.5 * kPerPointL1, 1.2 * kPerPointL2,
               100 * 2 / 12.);
  expectLevels(score("sm_100a", facts), 1.25 * kPerPointL1, 1.2 * kPerPointL2,
               100 * 2 / 10.);
  // On its own target everything of it counts in full: L2 there has 13 points
  // (11 in the ragged workload), L3 has 8.
  expectLevels(score("sm_80", facts), 5 * kPerPointL1,
               100 * 2 * (3 / 13. + 1 / 11.) / 4, 100 * 4 / 8.);
}

TEST_F(GemmBf16Test, HopperKernel) {
  std::vector<Fact> facts = {makeProduct("wgmma"), makeTma("load"),
                             makeTma("load", /*multicast=*/true),
                             makeTma("store"), makeReallocation()};
  expectLevels(score("sm_90a", facts), 5 * kPerPointL1, 5 * kPerPointL2,
               100 * 4 / 12.);
  // It cannot run there.
  EXPECT_EQ(getLow(score("sm_100a", facts), "matrix_unit"), 0);
}

TEST_F(GemmBf16Test, BlackwellKernel) {
  std::vector<Fact> facts = {makeProduct("tcgen05", 2), makeTma("load"),
                             makeTma("store")};
  expectLevels(score("sm_100a", facts), 5 * kPerPointL1, 5 * kPerPointL2,
               100 * 2 / 10.);
  facts[0] = makeProduct("tcgen05", 1);
  EXPECT_EQ(getLow(score("sm_100a", facts), "operand_multicast"), 0);
  facts.push_back(makeTma("load", /*multicast=*/true));
  EXPECT_EQ(getLow(score("sm_100a", facts), "operand_multicast"), 0.6);
}

//===----------------------------------------------------------------------===//
// The whole design
//===----------------------------------------------------------------------===//

/// What an expert's kernel shows on every target, beside its products and
/// copies.
std::vector<Fact> makeCommonDesign() {
  return {makeMainFact("smem_tiling"),
          makeMainFact(
              "tile_shape",
              {{"m", int64_t(128)}, {"n", int64_t(256)}, {"k", int64_t(64)}}),
          makeFact("persistent_kernel"),
          makeFact("tile_rasterization", {{"group", int64_t(16)}}),
          makeFact("epilogue_fusion", {{"ops", std::string("add")}}),
          makeMainFact("smem_swizzle",
                       {{"kind", std::string("tma")}, {"bits", int64_t(3)}})};
}

std::vector<Fact> makeHost() {
  return {makeFact("kernel_count", {{"count", int64_t(1)}}),
          makeFact("shape_dispatch", {{"variants", int64_t(2)}})};
}

Fact makeRing(const std::string &mechanism, int64_t depth) {
  return makeMainFact(
      "async_pipeline",
      {{"mechanism", mechanism}, {"depth", depth}, {"in_flight", int64_t(2)}});
}

TEST_F(GemmBf16Test, ExpertReachesHundredOnHopper) {
  std::vector<Fact> facts = makeCommonDesign();
  for (Fact fact :
       {makeProduct("wgmma"), makeTma("load", true), makeTma("store"),
        makeReallocation(), makeRing("tma", 4),
        makeFact("warp_specialization",
                 {{"roles", std::string("copy+matrix")}}),
        makeFact("pingpong_schedule"),
        makeMainFact("async_mma_overlap", {{"outstanding", int64_t(1)}}),
        makeFact("dependent_launch", {{"side", std::string("wait")}})})
    facts.push_back(fact);
  Score score = this->score("sm_90a", facts, makeHost(), /*all=*/true);
  expectLevels(score, 100, 100, 100);
  EXPECT_NEAR(score.gated.combined.lo, 100, 0.01);
}

TEST_F(GemmBf16Test, ExpertReachesHundredOnBlackwell) {
  std::vector<Fact> facts = makeCommonDesign();
  for (Fact fact :
       {makeProduct("tcgen05", 2), makeTma("load"), makeTma("store"),
        makeRing("tma", 6),
        makeFact("warp_specialization",
                 {{"roles", std::string("copy+matrix+store")}}),
        makeFact("tmem_accumulator",
                 {{"columns", int64_t(512)}, {"stages", int64_t(2)}}),
        makeMainFact("async_mma_overlap", {{"outstanding", int64_t(1)}}),
        makeFact("dependent_launch", {{"side", std::string("wait")}})})
    facts.push_back(fact);
  Score score = this->score("sm_100a", facts, makeHost(), /*all=*/true);
  expectLevels(score, 100, 100, 100);
  EXPECT_NEAR(score.gated.combined.lo, 100, 0.01);
}

TEST_F(GemmBf16Test, ExpertReachesHundredOnAmpere) {
  std::vector<Fact> facts = makeCommonDesign();
  for (Fact fact : {makeProduct("mma_sync"), makeAsyncCopy(),
                    makeVectors("store"), makeRing("cp_async", 3),
                    makeMainFact("matrix_fragment_access",
                                 {{"op", std::string("ldmatrix")}})})
    facts.push_back(fact);
  Score score = this->score("sm_80", facts, makeHost(), /*all=*/true);
  expectLevels(score, 100, 100, 100);
  EXPECT_NEAR(score.gated.combined.lo, 100, 0.01);
}

// Spills are the one thing whose presence costs.
TEST_F(GemmBf16Test, SpillsLoseOnlyTheirOwnCredit) {
  std::vector<Fact> facts = {makeProduct("wgmma")};
  EXPECT_EQ(getLow(score("sm_90a", facts, {}, true), "no_spills"), 1);
  facts.push_back(makeFact("local_spills", {{"bytes", int64_t(48)}}));
  EXPECT_EQ(getLow(score("sm_90a", facts, {}, true), "no_spills"), 0.5);
  facts.back() = makeFact("local_spills", {{"bytes", int64_t(96)}});
  EXPECT_EQ(getLow(score("sm_90a", facts, {}, true), "no_spills"), 0);
}

//===----------------------------------------------------------------------===//
// Ornaments
//===----------------------------------------------------------------------===//

// Facts that are true of a plain kernel, and what it does not have to do for.
TEST_F(GemmBf16Test, OrnamentsOfAPlainKernelEarnNothing) {
  std::vector<Fact> ornaments = {
      makeFact("cluster_launch", {{"x", int64_t(2)}}),
      makeReallocation(),
      makeFact("dependent_launch", {{"side", std::string("wait")}}),
      makeFact("dependent_launch", {{"side", std::string("trigger")}}),
      makeFact("matrix_fragment_access", {{"op", std::string("ldmatrix")}}),
      makeVectors("store", 0.1)};
  for (const char *target : {"sm_80", "sm_90a", "sm_100a"})
    expectLevels(score(target, ornaments,
                       {makeFact("kernel_count", {{"count", int64_t(1)}}),
                        makeFact("shape_dispatch", {{"variants", int64_t(8)}})},
                       /*all=*/true),
                 0, 0, 0);
}

// Work outside of the main region, and products of the wrong kind.
TEST_F(GemmBf16Test, MisplacedWorkEarnsNothing) {
  Fact copy = makeTma("load", true);
  Fact product = makeProduct("wgmma");
  copy.inMain = product.inMain = Tristate::No;
  Fact half = makeProduct("wgmma");
  half.attributes["acc"] = std::string("f16");
  for (const std::vector<Fact> &facts :
       {std::vector<Fact>{copy, product}, std::vector<Fact>{half}}) {
    Score score = this->score("sm_90a", facts);
    EXPECT_EQ(getLow(score, "matrix_unit"), 0);
    EXPECT_EQ(getLow(score, "async_operand_copies"), 0);
    EXPECT_EQ(getLow(score, "operand_multicast"), 0);
  }
}

} // namespace
