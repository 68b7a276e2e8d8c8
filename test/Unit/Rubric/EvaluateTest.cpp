// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicates: every rule of the three-valued logic, each by a case worked by
// hand.

#include "d2k/Rubric/Evaluate.h"

#include "RubricTestSupport.h"

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

static constexpr Interval kYes = Interval::yes();
static constexpr Interval kNo = Interval::no();
static constexpr Interval kUnknown = Interval::unknown();

namespace d2k::rubric {
static void PrintTo(const Interval &interval, std::ostream *os) {
  *os << '[' << interval.lo << ", " << interval.hi << ']';
}
} // namespace d2k::rubric

/// The outcome of `detect` (JSON), with optional further members such as
/// `partial`.
static Outcome evaluate(const Analysis &analysis, const std::string &detect,
                        const std::string &more = "",
                        const std::string &workload = "w") {
  Result<Rubric> rubric =
      parseRubric(makeProperty("p", "L1", 1, "\"detect\": " + detect + more));
  EXPECT_TRUE(rubric) << rubric.error().message;
  PropertyCatalog catalog = makeCatalog();
  return Evaluator(analysis, catalog, workload)
      .evaluateTarget(rubric->properties[0].targets[0]);
}

static Interval getCredit(const Analysis &analysis, const std::string &detect,
                          const std::string &more = "",
                          const std::string &workload = "w") {
  return evaluate(analysis, detect, more, workload).credit;
}

TEST(Interval, Arithmetic) {
  Interval partial = {0.5, 1};
  EXPECT_EQ(meet(partial, kUnknown), (Interval{0, 1}));
  EXPECT_EQ(join(partial, kUnknown), (Interval{0.5, 1}));
  // 1 - x with the ends swapped.
  EXPECT_EQ(negate(partial), (Interval{0, 0.5}));
  EXPECT_EQ(negate(kUnknown), kUnknown);
  EXPECT_EQ(scale(partial, 0.5), (Interval{0.25, 0.5}));
}

TEST(Evaluate, ProvedAbsentAndUndecidedFacts) {
  Analysis analysis = makeAnalysis({makeKernel("k", {makeFact("copy")})});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kYes);
  // No fact, no undecided entry, PTX seen whole and a detector there.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "pipe"})"), kNo);
  // No detector in this version.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "later"})"), kUnknown);
  // The detector was not sure.
  analysis.kernels[0].undecided.push_back(
      {"pipe", "the ring index is not affine", "unroll it", {}, {}});
  Outcome outcome = evaluate(analysis, R"({"fact": "pipe"})");
  EXPECT_EQ(outcome.credit, kUnknown);
  EXPECT_EQ(outcome.because,
            std::vector<std::string>{"the ring index is not affine"});
  EXPECT_EQ(outcome.wouldDecide, std::vector<std::string>{"unroll it"});
  // Being unsure elsewhere does not unsettle what is proved.
  analysis.kernels[0].undecided.push_back(
      {"copy", "some other copy", "", {}, {}});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kYes);
}

TEST(Evaluate, AbsenceNeedsACompleteDecidingTier) {
  Analysis analysis = makeAnalysis({makeKernel("k", {})});
  analysis.kernels[0].completeTiers = {};
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kUnknown);
  // Source does not decide `copy`; the machine code does, but this version has
  // no detector there.
  analysis.kernels[0].completeTiers = {Tier::Source, Tier::Sass};
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kUnknown);
  // Clang's PTX decides what PTX decides.
  analysis.kernels[0].completeTiers = {Tier::PtxClang};
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kNo);
}

TEST(Evaluate, OnlyDecidingTiersEstablish) {
  Fact fact = makeFact("copy");
  fact.tier = Tier::Source;
  Analysis analysis = makeAnalysis({makeKernel("k", {fact})});
  // The author wrote it; PTX, seen whole, does not have it.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kNo);
  analysis.kernels[0].facts[0].tier = Tier::Runtime;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kNo);
  analysis.kernels[0].facts[0].tier = Tier::Sass;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kYes);
}

TEST(Evaluate, Comparisons) {
  Analysis analysis = makeAnalysis(
      {makeKernel("k", {makeFact("copy", {{"bytes", int64_t(16)},
                                          {"share", 0.75},
                                          {"kind", std::string("bulk")},
                                          {"fused", true}})})});
  auto test = [&](const std::string &where) {
    return getCredit(analysis,
                     "{\"fact\": \"copy\", \"where\": {" + where + "}}");
  };
  EXPECT_EQ(test(R"("bytes": 16)"), kYes);
  EXPECT_EQ(test(R"("bytes": 8)"), kNo);
  // Numbers compare by value, whatever their kind.
  EXPECT_EQ(test(R"("bytes": 16.0)"), kYes);
  EXPECT_EQ(test(R"("bytes": {"ne": 16})"), kNo);
  EXPECT_EQ(test(R"("bytes": {"ne": 8})"), kYes);
  EXPECT_EQ(test(R"("bytes": {"lt": 16})"), kNo);
  EXPECT_EQ(test(R"("bytes": {"le": 16})"), kYes);
  EXPECT_EQ(test(R"("bytes": {"gt": 16})"), kNo);
  EXPECT_EQ(test(R"("bytes": {"ge": 16})"), kYes);
  EXPECT_EQ(test(R"("bytes": {"ge": 8, "lt": 16})"), kNo);
  EXPECT_EQ(test(R"("bytes": {"ge": 8, "lt": 17})"), kYes);
  EXPECT_EQ(test(R"("bytes": {"in": [4, 8]})"), kNo);
  EXPECT_EQ(test(R"("bytes": {"in": [8, 16]})"), kYes);
  EXPECT_EQ(test(R"("share": {"ge": 0.75})"), kYes);
  EXPECT_EQ(test(R"("share": {"gt": 0.75})"), kNo);
  EXPECT_EQ(test(R"("kind": "bulk")"), kYes);
  EXPECT_EQ(test(R"("kind": {"in": ["plain"]})"), kNo);
  EXPECT_EQ(test(R"("fused": true)"), kYes);
  EXPECT_EQ(test(R"("fused": false)"), kNo);
}

TEST(Evaluate, ConditionsHoldForOneFact) {
  // Each condition holds for some fact, both for none.
  Analysis analysis = makeAnalysis(
      {makeKernel("k", {makeFact("copy", {{"bytes", int64_t(16)},
                                          {"kind", std::string("plain")}}),
                        makeFact("copy", {{"bytes", int64_t(4)},
                                          {"kind", std::string("bulk")}})})});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "where": {
      "bytes": 16, "kind": "bulk"}})"),
            kNo);
  EXPECT_EQ(getCredit(analysis, R"({"all": [
      {"fact": "copy", "where": {"bytes": 16}},
      {"fact": "copy", "where": {"kind": "bulk"}}]})"),
            kYes);
}

TEST(Evaluate, UnknownAttributes) {
  Analysis analysis = makeAnalysis(
      {makeKernel("k", {makeFact("copy", {{"bytes", int64_t(4)}})})});
  // `kind` is not known: it may be bulk.
  Outcome outcome =
      evaluate(analysis, R"({"fact": "copy", "where": {"kind": "bulk"}})");
  EXPECT_EQ(outcome.credit, kUnknown);
  ASSERT_EQ(outcome.wouldDecide.size(), 1u);
  EXPECT_EQ(outcome.wouldDecide[0],
            "knowing whether copy (bytes 4) at k.cu:7 fulfils: copy where "
            "kind = bulk");
  // A condition that fails settles it, whatever the unknown one says.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "where": {
      "kind": "bulk", "bytes": 16}})"),
            kNo);
}

TEST(Evaluate, Scopes) {
  Fact inLoop = makeFact("copy", {{"bytes", int64_t(8)}});
  inLoop.loop = "L1";
  Fact unknownPlace = makeFact("pipe");
  unknownPlace.inMain = Tristate::Unknown;
  Analysis analysis = makeAnalysis({makeKernel("k", {inLoop, unknownPlace})});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "kernel"})"), kYes);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "loop"})"), kYes);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "main"})"), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "pipe", "in": "main"})"), kUnknown);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "pipe", "in": "loop"})"), kNo);
  analysis.kernels[0].facts[0].inMain = Tristate::Yes;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "main"})"), kYes);
}

TEST(Evaluate, Trees) {
  Analysis analysis = makeAnalysis({makeKernel("k", {makeFact("copy")})});
  // copy [1,1], pipe [0,0], later [0,1].
  auto test = [&](const char *detect) { return getCredit(analysis, detect); };
  EXPECT_EQ(test(R"({"all": [{"fact": "copy"}, {"fact": "later"}]})"),
            kUnknown);
  EXPECT_EQ(test(R"({"all": [{"fact": "pipe"}, {"fact": "later"}]})"), kNo);
  EXPECT_EQ(test(R"({"any": [{"fact": "copy"}, {"fact": "later"}]})"), kYes);
  EXPECT_EQ(test(R"({"any": [{"fact": "pipe"}, {"fact": "later"}]})"),
            kUnknown);
  EXPECT_EQ(test(R"({"not": {"fact": "copy"}})"), kNo);
  EXPECT_EQ(test(R"({"not": {"fact": "pipe"}})"), kYes);
  EXPECT_EQ(test(R"({"not": {"fact": "later"}})"), kUnknown);
  // min(1, 1 - max(0, 0)) = 1
  EXPECT_EQ(test(R"({"all": [{"fact": "copy"}, {"not": {"any": [
      {"fact": "pipe"}, {"fact": "spill"}]}}]})"),
            kYes);
}

TEST(Evaluate, PartialCreditRaisesTheLowEnd) {
  const std::string partial = R"(, "partial": [
    {"credit": 0.25, "reason": "a quarter", "when": {"fact": "copy"}},
    {"credit": 0.5, "reason": "half", "when": {"fact": "later"}}])";
  Analysis with = makeAnalysis({makeKernel("k", {makeFact("copy")})});
  // detect pipe [0,0]; 0.25 * [1,1]; 0.5 * [0,1]: lo 0.25, hi 0.5.
  Outcome outcome = evaluate(with, R"({"fact": "pipe"})", partial);
  EXPECT_EQ(outcome.credit, (Interval{0.25, 0.5}));
  EXPECT_EQ(outcome.because.front(), "a quarter");
  // detect later [0,1]: hi stays 1.
  EXPECT_EQ(getCredit(with, R"({"fact": "later"})", partial),
            (Interval{0.25, 1}));
  // Full credit is not lowered.
  EXPECT_EQ(getCredit(with, R"({"fact": "copy"})", partial), kYes);
  // Neither: only the undecided half is left.
  Analysis without = makeAnalysis({makeKernel("k", {})});
  EXPECT_EQ(getCredit(without, R"({"fact": "pipe"})", partial),
            (Interval{0, 0.5}));
}

TEST(Evaluate, FactsOfAnAllAreOfOneKernel) {
  Analysis analysis = makeAnalysis({makeKernel("a", {makeFact("copy")}),
                                    makeKernel("b", {makeFact("pipe")})});
  const char *both = R"({"all": [{"fact": "copy"}, {"fact": "pipe"}]})";
  EXPECT_EQ(getCredit(analysis, both), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"all": [{"fact": "copy"},
      {"fact": "pipe", "in": "any"}]})"),
            kYes);
  analysis.kernels[0].facts.push_back(makeFact("pipe"));
  EXPECT_EQ(getCredit(analysis, both), kYes);
}

TEST(Evaluate, AnyAndEveryKernel) {
  Analysis analysis =
      makeAnalysis({makeKernel("a", {makeFact("copy")}), makeKernel("b", {})});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "any"})"), kYes);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "every"})"), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"not": {"fact": "copy", "in": "any"}})"),
            kNo);
  analysis.kernels[1].facts.push_back(makeFact("copy"));
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "every"})"), kYes);
}

TEST(Evaluate, UnreachableKernelsAreNoEvidence) {
  Analysis analysis = makeAnalysis(
      {makeKernel("dead", {makeFact("copy")}), makeKernel("live", {})});
  analysis.kernels[0].reachable = Tristate::No;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "any"})"), kNo);
}

TEST(Evaluate, KernelsThatMayBeLaunchedTakeEveryBranch) {
  Analysis analysis = makeAnalysis(
      {makeKernel("maybe", {makeFact("copy")}), makeKernel("live", {})});
  analysis.kernels[0].reachable = Tristate::Unknown;
  // One branch launches it, the other does not.
  Outcome outcome = evaluate(analysis, R"({"fact": "copy"})");
  EXPECT_EQ(outcome.credit, kUnknown);
  EXPECT_EQ(outcome.wouldDecide,
            std::vector<std::string>{"knowing whether maybe is launched"});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "any"})"), kUnknown);
  EXPECT_EQ(getCredit(analysis, R"({"not": {"fact": "copy", "in": "any"}})"),
            kUnknown);
  // Every kernel: `live` lacks it whatever becomes of `maybe`.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "every"})"), kNo);
  analysis.kernels[1].facts.push_back(makeFact("copy"));
  analysis.kernels[0].facts.clear();
  // `live` has it, `maybe` does not.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy", "in": "every"})"),
            kUnknown);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kYes);
}

TEST(Evaluate, WithoutHostAnalysisEveryKernelCounts) {
  Analysis analysis = makeAnalysis({makeKernel("k", {makeFact("copy")})});
  analysis.kernels[0].reachable = Tristate::Unknown;
  analysis.hostAnalysed = false;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kYes);
}

TEST(Evaluate, ReachabilityByWorkload) {
  Analysis analysis = makeAnalysis({makeKernel("k", {makeFact("copy")})});
  analysis.kernels[0].reachableUnder["small"] = Tristate::No;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})", "", "large"), kYes);
  Outcome small = evaluate(analysis, R"({"fact": "copy"})", "", "small");
  EXPECT_EQ(small.credit, kNo);
  EXPECT_EQ(small.because,
            std::vector<std::string>{"no kernel is launched under small"});
  // An unnamed workload may be either.
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})", "", ""), kUnknown);
}

TEST(Evaluate, FactsOfSomeWorkloads) {
  Fact fact = makeFact("copy");
  fact.workloads = {"large"};
  Analysis analysis = makeAnalysis({makeKernel("k", {fact})});
  analysis.kernels[0].undecided.push_back({"pipe", "r", "d", {"small"}, {}});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})", "", "large"), kYes);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})", "", "small"), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})", "", ""), kUnknown);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "pipe"})", "", "large"), kNo);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "pipe"})", "", "small"), kUnknown);
}

TEST(Evaluate, HostFacts) {
  Analysis analysis = makeAnalysis({makeKernel("k", {})});
  const char *detect = R"({"fact": "launches", "where": {"bytes": 1}})";
  EXPECT_EQ(getCredit(analysis, detect), kNo);
  Fact fact = makeFact("launches", {{"bytes", int64_t(1)}});
  fact.tier = Tier::Source;
  analysis.host.facts.push_back(fact);
  EXPECT_EQ(getCredit(analysis, detect), kYes);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "launches", "in": "host"})"), kYes);
  // The same fact of a kernel is none of the host's.
  analysis.host.facts.clear();
  analysis.kernels[0].facts.push_back(fact);
  EXPECT_EQ(getCredit(analysis, detect), kNo);
  analysis.hostAnalysed = false;
  EXPECT_EQ(getCredit(analysis, detect), kUnknown);
  analysis.hostAnalysed = true;
  analysis.tiers[Tier::Source].state = TierState::Partial;
  EXPECT_EQ(getCredit(analysis, detect), kUnknown);
}

TEST(Evaluate, InputWithoutKernels) {
  Analysis analysis = makeAnalysis({});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kNo);
  analysis.tiers[Tier::Ptx].state = TierState::Failed;
  EXPECT_EQ(getCredit(analysis, R"({"fact": "copy"})"), kUnknown);
}

TEST(Evaluate, NothingIsShownByACallWithoutKernels) {
  Analysis analysis = makeAnalysis({makeKernel("k", {})});
  const char *negation = R"({"not": {"fact": "copy"}})";
  EXPECT_EQ(getCredit(analysis, negation), kYes);
  analysis.kernels[0].reachable = Tristate::No;
  EXPECT_EQ(getCredit(analysis, negation), kNo);
  // The host is there all the same.
  EXPECT_EQ(getCredit(analysis, R"({"not": {"fact": "launches"}})"), kYes);
}

TEST(Evaluate, HostFactsDoNotDependOnKernels) {
  Analysis analysis = makeAnalysis({makeKernel("k", {})});
  analysis.kernels[0].reachable = Tristate::Unknown;
  Fact fact = makeFact("launches");
  fact.tier = Tier::Source;
  analysis.host.facts.push_back(fact);
  EXPECT_EQ(getCredit(analysis, R"({"fact": "launches"})"), kYes);
}

TEST(Evaluate, UnknownPropertyIsUndecided) {
  Analysis analysis = makeAnalysis({makeKernel("k", {})});
  EXPECT_EQ(getCredit(analysis, R"({"fact": "no_such"})"), kUnknown);
}

TEST(Evaluate, NearMissesExplain) {
  Analysis analysis = makeAnalysis(
      {makeKernel("k", {makeFact("pipe", {{"bytes", int64_t(2)}})})});
  SourceLocation where;
  where.file = "k.cu";
  where.line = 61;
  analysis.kernels[0].nearMisses.push_back(
      {"pipe", "wait_group 0 at k.cu:61 drains the copy", {where}});
  Outcome outcome =
      evaluate(analysis, R"({"fact": "pipe", "where": {"bytes": {"ge": 4}}})");
  EXPECT_EQ(outcome.credit, kNo);
  EXPECT_EQ(outcome.because,
            (std::vector<std::string>{
                "near miss: wait_group 0 at k.cu:61 drains the copy",
                "found pipe (bytes 2), wanted bytes >= 4"}));
  ASSERT_EQ(outcome.where.size(), 2u);
  EXPECT_EQ(outcome.where[0].line, 61);
}

TEST(Evaluate, MismatchesNameWhatIsWanted) {
  Analysis analysis = makeAnalysis(
      {makeKernel("k", {makeFact("copy", {{"bytes", int64_t(4)},
                                          {"kind", std::string("bulk")}})})});
  // Of two conditions and a scope only the one that fails is named.
  EXPECT_EQ(evaluate(analysis, R"({"fact": "copy", "in": "main", "where": {
                "kind": "bulk", "bytes": {"ge": 8}}})")
                .because,
            std::vector<std::string>{
                "found copy (bytes 4, kind bulk), wanted bytes >= 8"});
  EXPECT_EQ(evaluate(analysis, R"({"fact": "copy", "in": "main"})").because,
            std::vector<std::string>{
                "found copy (bytes 4, kind bulk), wanted one in the main "
                "region"});
  EXPECT_EQ(evaluate(analysis, R"({"fact": "copy", "in": "loop"})").because,
            std::vector<std::string>{
                "found copy (bytes 4, kind bulk), wanted one in a loop"});
  analysis.kernels[0].facts[0].workloads = {"other"};
  EXPECT_EQ(evaluate(analysis, R"({"fact": "copy"})").because,
            std::vector<std::string>{"found copy (bytes 4, kind bulk), wanted "
                                     "one under this workload"});
}

TEST(Evaluate, SentencesOfOneKindAreJoined) {
  EXPECT_EQ(joinSentences({"this version has no detector for a", "b",
                           "this version has no detector for c"}),
            "this version has no detector for a, c; b");
  EXPECT_EQ(
      joinSentences({"a version that detects a", "a version that detects c"}),
      "a version that detects a, c");
  EXPECT_EQ(joinSentences({}), "");
}

TEST(Evaluate, ManyFailingFactsAreCounted) {
  KernelFacts kernel = makeKernel("k", {});
  for (int64_t bytes : {1, 2, 3, 4, 5})
    kernel.facts.push_back(makeFact("copy", {{"bytes", bytes}}));
  Outcome outcome = evaluate(makeAnalysis({kernel}),
                             R"({"fact": "copy", "where": {"bytes": 16}})");
  ASSERT_EQ(outcome.because.size(), 4u);
  EXPECT_EQ(outcome.because[2], "found copy (bytes 3), wanted bytes = 16");
  EXPECT_EQ(outcome.because[3], "and 2 more like it");
}

TEST(Evaluate, TheKernelWithTheMostFactsSpeaks) {
  Analysis analysis =
      makeAnalysis({makeKernel("clear", {}),
                    makeKernel("work", {makeFact("spill"), makeFact("copy")})});
  Outcome outcome = evaluate(analysis, R"({"fact": "pipe"})");
  ASSERT_TRUE(outcome.kernel);
  EXPECT_EQ(*outcome.kernel, 1u);
}
