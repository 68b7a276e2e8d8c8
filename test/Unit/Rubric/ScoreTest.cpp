// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores: levels, combined, item-weighted, workloads, gates, ranges and
// improvements. Comments show the arithmetic by which each value was found.

#include "d2k/Rubric/Score.h"

#include "RubricTestSupport.h"

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

namespace d2k::rubric {
static void PrintTo(const Interval &interval, std::ostream *os) {
  *os << '[' << interval.lo << ", " << interval.hi << ']';
}
} // namespace d2k::rubric

static constexpr const char *kCopy = R"("detect": {"fact": "copy"})";
static constexpr const char *kPipe = R"("detect": {"fact": "pipe"})";
static constexpr const char *kLater = R"("detect": {"fact": "later"})";
static constexpr const char *kQuarter = R"("detect": {"fact": "pipe"},
  "partial": [{"credit": 0.25, "reason": "a quarter",
               "when": {"fact": "copy"}}])";

static Score compute(const std::string &properties, const Analysis &analysis,
                     const std::vector<std::string> &workloads = {"w"}) {
  Result<Rubric> rubric = parseRubric(properties);
  EXPECT_TRUE(rubric) << rubric.error().message;
  PropertyCatalog catalog = makeCatalog();
  return rubric ? computeScore(*rubric, analysis, catalog, workloads) : Score();
}

/// A kernel with `copy`, without `pipe`.
static Analysis makeCopyAnalysis() {
  return makeAnalysis({makeKernel("k", {makeFact("copy")})});
}

static void expectInterval(const std::optional<Interval> &actual, double lo,
                           double hi) {
  ASSERT_TRUE(actual);
  EXPECT_NEAR(actual->lo, lo, 1e-9);
  EXPECT_NEAR(actual->hi, hi, 1e-9);
}

TEST(Score, StatusOfACredit) {
  EXPECT_EQ(getStatus({1, 1}), Status::Implemented);
  EXPECT_EQ(getStatus({0, 0}), Status::Missing);
  EXPECT_EQ(getStatus({0, 1}), Status::Undecided);
  EXPECT_EQ(getStatus({0, 0.5}), Status::Undecided);
  EXPECT_EQ(getStatus({0.5, 0.5}), Status::Partial);
  EXPECT_EQ(getStatus({0.5, 1}), Status::Partial);
}

TEST(Score, LevelIsTheWeightedMean) {
  // L1: (3*1 + 1*0 + 4*[0,1]) / 8 = 3/8 = 37.5 at the low end, 7/8 = 87.5 at
  // the high end.
  Score score = compute(makeProperty("a", "L1", 3, kCopy) + "," +
                            makeProperty("b", "L1", 1, kPipe) + "," +
                            makeProperty("c", "L1", 4, kLater),
                        makeCopyAnalysis());
  expectInterval(score.ungated.levels[0], 37.5, 87.5);
  expectInterval(score.ungated.combined, 37.5, 87.5);
  EXPECT_EQ(score.properties[0].status, Status::Implemented);
  EXPECT_EQ(score.properties[1].status, Status::Missing);
  EXPECT_EQ(score.properties[2].status, Status::Undecided);
  EXPECT_EQ(score.properties[2].wouldDecide, "a version that detects later");
}

TEST(Score, CombinedIsTheMeanOfLevels) {
  // L1: 10*1/10 = 100. L2: 1*0/1 = 0. L3: 1*[0,1]/1 = 0..100.
  // Combined: (100+0+0)/3 = 33.33.. and (100+0+100)/3 = 66.66..
  // Item-weighted: 10/12 = 83.33.. and 11/12 = 91.66..
  Score score = compute(makeProperty("a", "L1", 10, kCopy) + "," +
                            makeProperty("b", "L2", 1, kPipe) + "," +
                            makeProperty("c", "L3", 1, kLater),
                        makeCopyAnalysis());
  expectInterval(score.ungated.combined, 100.0 / 3, 200.0 / 3);
  expectInterval(score.ungated.itemWeighted, 1000.0 / 12, 1100.0 / 12);
}

TEST(Score, PartialCreditCounts) {
  // L1: (3*0.25 + 1*1) / 4 = 0.4375.
  Score score = compute(makeProperty("a", "L1", 3, kQuarter) + "," +
                            makeProperty("b", "L1", 1, kCopy),
                        makeCopyAnalysis());
  expectInterval(score.ungated.levels[0], 43.75, 43.75);
  EXPECT_EQ(score.properties[0].status, Status::Partial);
  EXPECT_EQ(score.properties[0].because,
            "a quarter; copy; for the rest: no pipe");
}

TEST(Score, LevelWithNothingApplicableLeavesTheMean) {
  // L2 has one property, for another architecture: combined = L1 = 100.
  Score score = compute(makeProperty("a", "L1", 1, kCopy) + "," +
                            makeProperty("b", "L2", 1, R"("targets": [
            {"arch": ["sm_100*"], "detect": {"fact": "pipe"}}])"),
                        makeCopyAnalysis());
  EXPECT_FALSE(score.ungated.levels[1]);
  expectInterval(score.ungated.combined, 100, 100);
  EXPECT_EQ(score.emptyLevels, (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(score.properties[1].status, Status::NotApplicable);
  EXPECT_EQ(score.properties[1].because, "the rubric has no entry for sm_90a");
}

TEST(Score, TargetsByArchitecture) {
  std::string properties = makeProperty("a", "L1", 1, R"("targets": [
        {"arch": ["sm_100a"], "detect": {"fact": "pipe"}},
        {"arch": ["sm_8*"], "not_applicable": "no such unit"},
        {"arch": ["*"], "detect": {"fact": "copy"}}])");
  Analysis analysis = makeCopyAnalysis();
  EXPECT_EQ(compute(properties, analysis).properties[0].status,
            Status::Implemented);
  analysis.target = "sm_100a";
  EXPECT_EQ(compute(properties, analysis).properties[0].status,
            Status::Missing);
  analysis.target = "sm_86";
  Score score = compute(properties, analysis);
  EXPECT_EQ(score.properties[0].status, Status::NotApplicable);
  EXPECT_EQ(score.properties[0].because, "no such unit");
  expectInterval(score.ungated.combined, 0, 0);
}

TEST(Score, WorkloadsAreAveragedByLevel) {
  // `dead` holds copy and is launched under `large` only.
  Analysis analysis = makeCopyAnalysis();
  analysis.kernels[0].reachableUnder["small"] = Tristate::No;
  // large: L1 = 100, L2 = 100 (only there).
  // small: L1 = 0; L2 does not apply and does not count as 0.
  // L1 = (100+0)/2 = 50, L2 = 100/1 = 100, combined = (50+100)/2 = 75.
  // Item-weighted: large (1+3)/4 = 100, small 0/1 = 0, mean 50.
  Score score = compute(makeProperty("a", "L1", 1, kCopy) + "," +
                            makeProperty("b", "L2", 3,
                                         R"("applies_to": ["large"],
                                            "detect": {"fact": "copy"})"),
                        analysis, {"large", "small"});
  expectInterval(score.ungated.levels[0], 50, 50);
  expectInterval(score.ungated.levels[1], 100, 100);
  expectInterval(score.ungated.combined, 75, 75);
  expectInterval(score.ungated.itemWeighted, 50, 50);
  ASSERT_EQ(score.workloads.size(), 2u);
  expectInterval(score.workloads[0].ungated.combined, 100, 100);
  expectInterval(score.workloads[1].ungated.combined, 0, 0);
  EXPECT_FALSE(score.workloads[1].ungated.levels[1]);
  EXPECT_EQ(score.workloads[0].kernels, std::vector<size_t>{0});
  EXPECT_TRUE(score.workloads[1].kernels.empty());
  // Property a: mean of 1 and 0, partial; b: 1 where it applies.
  expectInterval(score.properties[0].credit, 0.5, 0.5);
  EXPECT_EQ(score.properties[0].status, Status::Partial);
  EXPECT_EQ(score.properties[0].because,
            "small: no kernel is launched under small");
  EXPECT_EQ(score.properties[1].status, Status::Implemented);
  EXPECT_EQ(score.properties[1].workloads[1].status, Status::NotApplicable);
}

TEST(Score, UnnamedWorkloadTakesEverything) {
  Score score = compute(makeProperty("b", "L2", 3, R"("applies_to": ["large"],
                                            "detect": {"fact": "copy"})"),
                        makeCopyAnalysis(), {});
  EXPECT_EQ(score.properties[0].status, Status::Implemented);
}

TEST(Score, GatesStandBesideTheHeadline) {
  // ring needs a; a is missing. Ungated: L1 = 0, L2 = 100, combined 50.
  // Gated: ring = min(1, 0) = 0, combined 0.
  Score score =
      compute(makeProperty("a", "L1", 1, kPipe) + "," +
                  makeProperty("ring", "L2", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "a", "reason": "meaningless"}])"),
              makeCopyAnalysis());
  expectInterval(score.ungated.combined, 50, 50);
  expectInterval(score.gated.combined, 0, 0);
  EXPECT_EQ(score.properties[1].status, Status::Implemented);
  expectInterval(score.properties[1].gatedCredit, 0, 0);
  EXPECT_EQ(score.properties[1].blockedBy, std::vector<std::string>{"a"});
  EXPECT_TRUE(score.properties[0].blockedBy.empty());
}

TEST(Score, GatedCreditIsTheMinimum) {
  // quarter has 0.25; ring, proved, gets min(1, 0.25) = 0.25. An undecided
  // prerequisite leaves [0, 1].
  Score score =
      compute(makeProperty("quarter", "L1", 1, kQuarter) + "," +
                  makeProperty("open", "L1", 1, kLater) + "," +
                  makeProperty("ring", "L2", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "quarter", "reason": "r"}])") +
                  "," + makeProperty("tail", "L2", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "open", "reason": "r"}])"),
              makeCopyAnalysis());
  expectInterval(score.properties[2].gatedCredit, 0.25, 0.25);
  expectInterval(score.properties[3].gatedCredit, 0, 1);
  EXPECT_EQ(score.properties[3].blockedBy, std::vector<std::string>{"open"});
}

TEST(Score, GatesChain) {
  // c needs b needs a, given in the order c, b, a; a is missing.
  Score score =
      compute(makeProperty("c", "L3", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "b", "reason": "r"}])") +
                  "," + makeProperty("b", "L2", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "a", "reason": "r"}])") +
                  "," + makeProperty("a", "L1", 1, kPipe),
              makeCopyAnalysis());
  expectInterval(score.properties[0].gatedCredit, 0, 0);
  EXPECT_EQ(score.properties[0].blockedBy, std::vector<std::string>{"b"});
  // Ungated (0+100+100)/3, gated 0.
  expectInterval(score.ungated.combined, 200.0 / 3, 200.0 / 3);
  expectInterval(score.gated.combined, 0, 0);
}

TEST(Score, AnyOfTakesTheBestPrerequisite) {
  const char *gate = R"(, "depends_on": [
    {"any_of": ["missing", "quarter"], "reason": "r"}])";
  std::string properties =
      makeProperty("missing", "L1", 1, kPipe) + "," +
      makeProperty("quarter", "L1", 1, kQuarter) + "," +
      makeProperty("x", "L2", 1, std::string(kCopy) + gate);
  // max(0, 0.25) = 0.25
  Score score = compute(properties, makeCopyAnalysis());
  expectInterval(score.properties[2].gatedCredit, 0.25, 0.25);
  EXPECT_EQ(score.properties[2].blockedBy,
            (std::vector<std::string>{"missing", "quarter"}));
}

TEST(Score, NotApplicablePrerequisitesDoNotGate) {
  Score score =
      compute(makeProperty("a", "L1", 1, R"("targets": [
          {"arch": ["*"], "not_applicable": "why not"}])") +
                  "," + makeProperty("x", "L2", 1, std::string(kCopy) + R"(,
            "depends_on": [{"property": "a", "reason": "r"}])"),
              makeCopyAnalysis());
  expectInterval(score.properties[1].gatedCredit, 1, 1);
  EXPECT_TRUE(score.properties[1].blockedBy.empty());
}

TEST(Score, ImprovementsAreWhatApplyingThemGives) {
  // L1 (weights 3+1): a has 0.25, b 1: (0.75+1)/4 = 43.75. L2: c [0,1].
  // Combined (43.75+0)/2 = 21.875.
  // a in full: L1 = 100, combined 50: gain 28.125.
  // c in full: L2 = 100, combined 71.875: gain 50.
  Score score = compute(makeProperty("a", "L1", 3, kQuarter) + "," +
                            makeProperty("b", "L1", 1, kCopy) + "," +
                            makeProperty("c", "L2", 1, kLater),
                        makeCopyAnalysis());
  expectInterval(score.ungated.combined, 21.875, 71.875);
  ASSERT_EQ(score.improvements.size(), 2u);
  EXPECT_EQ(score.improvements[0].property, 2u);
  EXPECT_NEAR(score.improvements[0].gain, 50, 1e-9);
  EXPECT_EQ(score.improvements[1].property, 0u);
  EXPECT_NEAR(score.improvements[1].gain, 28.125, 1e-9);
}

TEST(Score, ImprovementUnderAGateSaysWhatItGivesThere) {
  // x is missing and needs a, which is missing too: alone it adds 50 ungated
  // and nothing gated; a alone adds 50 to both.
  Score score = compute(makeProperty("a", "L1", 1, kPipe) + "," +
                            makeProperty("x", "L2", 1, std::string(kPipe) + R"(,
            "depends_on": [{"property": "a", "reason": "r"}])"),
                        makeCopyAnalysis());
  ASSERT_EQ(score.improvements.size(), 2u);
  // Equal gain: the one that also counts when gated comes first.
  EXPECT_EQ(score.improvements[0].property, 0u);
  EXPECT_NEAR(score.improvements[0].gatedGain, 50, 1e-9);
  EXPECT_NEAR(score.improvements[1].gain, 50, 1e-9);
  EXPECT_NEAR(score.improvements[1].gatedGain, 0, 1e-9);
}

TEST(Score, ImprovementsOverSeveralWorkloads) {
  Analysis analysis = makeCopyAnalysis();
  analysis.kernels[0].reachableUnder["small"] = Tristate::No;
  // a: 1 under large, 0 under small; L1 = 50. In full: 100, gain 50.
  Score score =
      compute(makeProperty("a", "L1", 1, kCopy), analysis, {"large", "small"});
  ASSERT_EQ(score.improvements.size(), 1u);
  EXPECT_NEAR(score.improvements[0].gain, 50, 1e-9);
}

TEST(Score, CompleteNeedsAllStaticTiers) {
  std::string property = makeProperty("a", "L1", 1, kCopy);
  EXPECT_TRUE(compute(property, makeCopyAnalysis()).complete);
  Analysis analysis = makeCopyAnalysis();
  analysis.tiers[Tier::Sass] = {TierState::Unavailable, "no nvdisasm", {}, "",
                                std::nullopt,           std::nullopt};
  analysis.tiers.erase(Tier::Ptx);
  analysis.tiers[Tier::PtxClang].state = TierState::Ok;
  analysis.hostAnalysed = false;
  Score score = compute(property, analysis);
  EXPECT_FALSE(score.complete);
  EXPECT_EQ(score.incompleteBecause,
            (std::vector<std::string>{
                "ptx is unavailable", "sass is unavailable: no nvdisasm",
                "host code was not followed: every kernel counts as "
                "launched"}));
}

TEST(Score, OrderOfFactsAndKernelsDoesNotMatter) {
  std::string properties = makeProperty("a", "L1", 3, kQuarter) + "," +
                           makeProperty("b", "L2", 1, kCopy);
  std::vector<KernelFacts> kernels = {
      makeKernel("x", {makeFact("copy"), makeFact("spill")}),
      makeKernel("y", {makeFact("spill"), makeFact("pipe")})};
  Analysis forward = makeAnalysis(kernels);
  std::reverse(kernels.begin(), kernels.end());
  for (KernelFacts &kernel : kernels)
    std::reverse(kernel.facts.begin(), kernel.facts.end());
  Analysis backward = makeAnalysis(kernels);
  forward.normalize();
  backward.normalize();
  Score a = compute(properties, forward);
  Score b = compute(properties, backward);
  EXPECT_EQ(a.ungated.combined, b.ungated.combined);
  EXPECT_EQ(a.properties[0].because, b.properties[0].because);
}
