// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports: text and JSON of a small analysis whose every line was written by
// hand, conformance to the schema, determinism, and hostile names.

#include "d2k/Report/Report.h"

#include "d2k/Support/JsonSchema.h"
#include "d2k/Support/Terminal.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace d2k;
using namespace d2k::report;

//===----------------------------------------------------------------------===//
// A small analysis
//===----------------------------------------------------------------------===//

static PropertyCatalog makeCatalog() {
  PropertyCatalog catalog;
  for (const char *id : {"copy", "pipe", "later"}) {
    PropertyInfo info;
    info.id = id;
    info.summary = "it does";
    info.decidingTiers = {Tier::Ptx, Tier::Sass};
    if (info.id != "later")
      info.detectorTiers = {Tier::Ptx};
    info.attributes = {{"bytes", AttrType::Integer, {}, "bytes of a copy"}};
    EXPECT_TRUE(catalog.add(std::move(info)));
  }
  return catalog;
}

static SourceLocation makePlace(int64_t line, std::string snippet) {
  SourceLocation where;
  where.file = "gemm.cu";
  where.line = line;
  where.column = 5;
  where.snippet = std::move(snippet);
  return where;
}

static Fact makeFact(std::string property, int64_t bytes,
                     std::vector<SourceLocation> where) {
  Fact fact;
  fact.property = std::move(property);
  fact.attributes["bytes"] = bytes;
  fact.inMain = Tristate::Yes;
  fact.loop = "L0";
  fact.tiers = {Tier::Ptx};
  fact.where = std::move(where);
  return fact;
}

static Analysis makeAnalysis() {
  Analysis analysis;
  analysis.target = "sm_90a";
  analysis.inputs = {{"gemm.cu", std::string(64, 'a')}};
  analysis.tiers[Tier::Ptx] = {TierState::Ok,  "",  {},
                               "nvcc 13.0.88", 1.5, std::nullopt};
  analysis.tiers[Tier::Source] = {TierState::Unavailable,
                                  "this version does not read it",
                                  {},
                                  "",
                                  std::nullopt,
                                  std::nullopt};
  KernelFacts kernel;
  kernel.name = "_Z4gemmv";
  kernel.demangled = "gemm()";
  kernel.completeTiers = {Tier::Ptx};
  kernel.registers = 168;
  kernel.loops = {{"L0", 1, std::nullopt, true, false, makePlace(50, "for")},
                  {"L0.0", 2, 4, false, true, makePlace(55, "while")}};
  kernel.facts = {
      makeFact("copy", 16,
               {makePlace(58, "cp_async(dst, src);"), makePlace(59, "")}),
      makeFact("copy", 4,
               {makePlace(70, "edge"), makePlace(71, "edge"),
                makePlace(72, "edge"), makePlace(73, "edge"),
                makePlace(74, "edge")})};
  kernel.nearMisses = {{"pipe",
                        "`cp.async.wait_group 0` at gemm.cu:61 drains the copy",
                        {makePlace(61, "wait<0>();")}}};
  kernel.undecided = {
      {"tma", "a call that is not known", "inlining it", {}, {}},
      {"wide", "a call that is not known", "inlining it", {}, {}}};
  analysis.kernels.push_back(kernel);
  KernelFacts dead;
  dead.name = dead.demangled = "dead";
  dead.reachable = Tristate::No;
  dead.facts = {makeFact("pipe", 1, {makePlace(90, "no evidence")})};
  analysis.kernels.push_back(dead);
  return analysis;
}

static rubric::Rubric makeRubric() {
  Result<json::Document> document = json::Document::parse(R"({
    "schema": "d2k.rubric/1", "task": "gemm", "properties": [
      {"id": "wide_copies", "level": "L1", "guidance": "L1.1",
       "title": "Copy 16 bytes a thread", "weight": 3,
       "detect": {"fact": "copy", "in": "main", "where": {"bytes": 16}},
       "hint": "use float4"},
      {"id": "pipelined", "level": "L2", "guidance": "L2.1",
       "title": "Keep copies in flight", "weight": 1,
       "detect": {"fact": "pipe", "in": "main"},
       "partial": [{"credit": 0.5, "reason": "copies at all",
                    "when": {"fact": "copy"}}],
       "hint": "wait for the oldest copy only"},
      {"id": "overlapped", "level": "L2", "guidance": "L2.2",
       "title": "Overlap products", "weight": 1,
       "depends_on": [{"property": "pipelined", "reason": "r"}],
       "detect": {"fact": "later"},
       "hint": "commit a group before waiting"}]})",
                                                          "rubric.json");
  EXPECT_TRUE(document) << document.error().message;
  Result<rubric::Rubric> rubric = rubric::Rubric::fromDocument(*document);
  EXPECT_TRUE(rubric) << rubric.error().message;
  return *rubric;
}

namespace {

/// Owns what a Report points to.
struct Scored {
  explicit Scored(Analysis given, std::vector<std::string> workloads = {"w"})
      : analysis(std::move(given)), rubric(makeRubric()) {
    analysis.normalize();
    score = rubric::computeScore(rubric, analysis, makeCatalog(), workloads);
    report.analysis = &analysis;
    report.rubric = &rubric;
    report.score = &score;
  }

  Analysis analysis;
  rubric::Rubric rubric;
  rubric::Score score;
  Report report;
};

} // namespace

static std::string getSchemaFaults(const json::Value &value) {
  Result<json::Document> document =
      json::Document::parse(getAnalysisSchemaText(), "schema");
  EXPECT_TRUE(document) << document.error().message;
  Result<json::Schema> schema = json::Schema::create(std::move(*document));
  EXPECT_TRUE(schema) << schema.error().message;
  std::string faults;
  for (const json::SchemaError &error : schema->validate(value))
    faults += error.toString() + "\n";
  return faults;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

// wide_copies is proved: L1 = 100. L2: (0.5 + 0)/2 = 25 at the low end and
// (0.5 + 1)/2 = 75 at the high end. Combined 62.5 to 87.5; gated overlapped =
// min([0,1], 0.5) = [0, 0.5], so L2 = 25 to 50 and combined 62.5 to 75.
// Item-weighted: (3 + 0.5 + 0)/5 = 70 to (3 + 0.5 + 1)/5 = 90.
// Full credit for overlapped: L2 = 75, combined +25; gated 0.5, so +12.5.
// Full credit for pipelined: L2 = 50, combined +12.5 in both.
TEST(ReportText, Scored) {
  Scored scored(makeAnalysis());
  EXPECT_EQ(renderText(scored.report, TextOptions()),
            R"(gemm.cu for sm_90a
  source     unavailable  this version does not read it
  ptx        ok           nvcc 13.0.88

Kernels
  dead
    not launched, no evidence | 0 loops | 1 fact
  gemm()
    counted as launched | 168 registers | 2 loops, 1 in the main region, 1 spinning | 2 facts

Implementation score: 62.5 of 100 (gemm)
  proved; up to 87.5 if everything that is undecided holds
  gated 62.5 to 75.0 | item-weighted 70.0 to 90.0
  incomplete, so no benchmark result:
    source is unavailable: this version does not read it
    sass is unavailable
    host code was not followed: every kernel counts as launched
  L1                        [##############################] 100.0
  L2                        [########???????????????.......] 25.0 to 75.0
  L3                        nothing applicable: leaves the mean

L1 algorithmic insight
  + implemented           wide_copies  L1.1, weight 3
        Copy 16 bytes a thread
        copy (bytes 16) in the main region
        gemm.cu:58:5  cp_async(dst, src);
        gemm.cu:59:5

L2 dataflow design
  ~ partial 0.5           pipelined  L2.1, weight 1
        Keep copies in flight
        copies at all; copy (bytes 4); copy (bytes 16); for the rest: near miss:
        `cp.async.wait_group 0` at gemm.cu:61 drains the copy
        gemm.cu:70:5  edge
        gemm.cu:71:5  edge
        gemm.cu:72:5  edge
        and 4 more places
  ? undecided 0 to 1      overlapped  L2.2, weight 1
        Overlap products
        this version has no detector for later
        would decide: a version that detects later
        blocked by: pipelined

What would raise the score most
  +12.5  pipelined
         wait for the oldest copy only
  undecided, so perhaps there already:
  +25.0  overlapped
         commit a group before waiting
         gated score: +12.5, in full after pipelined

Near misses
  gemm()
    near miss: pipe
        `cp.async.wait_group 0` at gemm.cu:61 drains the copy
        gemm.cu:61:5  wait<0>();
)");
}

TEST(ReportText, FactsOnly) {
  Analysis analysis = makeAnalysis();
  analysis.normalize();
  Report report;
  report.analysis = &analysis;
  std::string text = renderText(report, TextOptions());
  EXPECT_EQ(text.substr(text.find("\nFacts")), R"(
Facts
  gemm()
    copy (bytes 4), main region, loop L0, ptx
        gemm.cu:70:5  edge
        gemm.cu:71:5  edge
        gemm.cu:72:5  edge
        and 2 more places
    copy (bytes 16), main region, loop L0, ptx
        gemm.cu:58:5  cp_async(dst, src);
        gemm.cu:59:5

Near misses and what is undecided
  gemm()
    near miss: pipe
        `cp.async.wait_group 0` at gemm.cu:61 drains the copy
        gemm.cu:61:5  wait<0>();
    undecided: tma, wide
        a call that is not known
        would decide: inlining it
)");
}

TEST(ReportText, FactsAreListedOnRequest) {
  Scored scored(makeAnalysis());
  EXPECT_EQ(renderText(scored.report, TextOptions()).find("\nFacts"),
            std::string::npos);
  scored.report.listFacts = true;
  EXPECT_NE(renderText(scored.report, TextOptions()).find("\nFacts"),
            std::string::npos);
}

TEST(ReportText, WorkloadsThatDifferAreNamed) {
  Analysis analysis = makeAnalysis();
  analysis.kernels[0].reachableUnder["small"] = Tristate::No;
  Scored scored(std::move(analysis), {"large", "small"});
  std::string text = renderText(scored.report, TextOptions());
  EXPECT_NE(text.find("large implemented, small missing"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  by workload\n  large                     ["),
            std::string::npos)
      << text;
}

TEST(ReportText, WorkloadsWhereItAppliesAreNamed) {
  Scored scored(makeAnalysis());
  scored.rubric.properties[0].appliesTo = {"large", "small"};
  scored.score =
      rubric::computeScore(scored.rubric, scored.analysis, makeCatalog(),
                           {"large", "other", "small"});
  std::string text = renderText(scored.report, TextOptions());
  EXPECT_NE(text.find("        only under large, small\n"), std::string::npos)
      << text;
}

TEST(ReportText, ColorsOnlyOnRequest) {
  Scored scored(makeAnalysis());
  TextOptions options;
  std::string plain = renderText(scored.report, options);
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  options.color = true;
  std::string colored = renderText(scored.report, options);
  EXPECT_NE(colored.find("\033[32m"), std::string::npos);
  // Without its escape sequences it is the same text.
  std::string stripped;
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\033')
      i = colored.find('m', i);
    else
      stripped += colored[i];
  }
  EXPECT_EQ(stripped, plain);
}

TEST(ReportText, LongDiagnosticsAreCut) {
  Analysis analysis = makeAnalysis();
  analysis.tiers[Tier::Ptx].state = TierState::Failed;
  analysis.tiers[Tier::Ptx].diagnostics.assign(30, "error: no");
  Report report;
  report.analysis = &analysis;
  std::string text = renderText(report, TextOptions());
  EXPECT_NE(text.find("and 20 more messages"), std::string::npos) << text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

TEST(ReportJson, ConformsToTheSchema) {
  Scored scored(makeAnalysis(), {"large", "small"});
  EXPECT_EQ(getSchemaFaults(renderJson(scored.report)), "");
  Report facts;
  facts.analysis = &scored.analysis;
  facts.withSeconds = true;
  EXPECT_EQ(getSchemaFaults(renderJson(facts)), "");
  Analysis empty;
  empty.target = "sm_80";
  facts.analysis = &empty;
  EXPECT_EQ(getSchemaFaults(renderJson(facts)), "");
}

TEST(ReportJson, MembersAndValues) {
  Scored scored(makeAnalysis());
  json::Value value = renderJson(scored.report);
  json::Cursor root(value, "report");
  EXPECT_EQ(*root.getString("schema"), "d2k.analysis/1");
  EXPECT_EQ(*root.at("inputs").at(0).getString("sha256"), std::string(64, 'a'));
  EXPECT_EQ(*root.at("tiers").at("ptx").getString("tool"), "nvcc 13.0.88");
  EXPECT_FALSE(root.at("tiers").at("ptx").find("seconds"));
  json::Cursor dead = root.at("kernels").at(0);
  EXPECT_EQ(*dead.getBoolean("reachable"), false);
  json::Cursor kernel = root.at("kernels").at(1);
  EXPECT_TRUE(kernel.at("reachable").getValue().isNull());
  EXPECT_EQ(*kernel.getInteger("registers"), 168);
  EXPECT_TRUE(kernel.at("spill_bytes").getValue().isNull());
  json::Cursor fact = kernel.at("facts").at(1);
  EXPECT_EQ(*fact.at("attributes").getInteger("bytes"), 16);
  EXPECT_EQ(*fact.at("where").at(0).getInteger("line"), 58);
  EXPECT_EQ(*fact.at("where").at(0).getString("snippet"),
            "cp_async(dst, src);");
  EXPECT_EQ(*kernel.at("loops").at(1).getBoolean("spin"), true);

  json::Cursor score = root.at("score");
  EXPECT_EQ(*score.getNumber("combined"), 62.5);
  EXPECT_EQ(*score.at("levels").getNumber("L2"), 25.0);
  EXPECT_TRUE(score.at("levels").at("L3").getValue().isNull());
  EXPECT_EQ(*score.at("range").at(1).asNumber(), 87.5);
  EXPECT_EQ(*score.at("gated").at("range").at(1).asNumber(), 75.0);
  EXPECT_EQ(*score.getNumber("item_weighted"), 70.0);
  EXPECT_EQ(*score.getBoolean("complete"), false);
  json::Cursor workload = score.at("workloads").at(0);
  EXPECT_EQ(*workload.getString("id"), "w");
  EXPECT_EQ(*workload.at("kernels").asStrings(),
            std::vector<std::string>{"_Z4gemmv"});
  json::Cursor overlapped = score.at("properties").at(2);
  EXPECT_EQ(*overlapped.getString("status"), "undecided");
  EXPECT_EQ(*overlapped.at("credit").at(1).asNumber(), 1.0);
  EXPECT_EQ(*overlapped.at("blocked_by").asStrings(),
            std::vector<std::string>{"pipelined"});
  EXPECT_EQ(*score.at("improvements").at(0).getString("property"),
            "overlapped");
  EXPECT_EQ(*score.at("improvements").at(0).getNumber("gain"), 25.0);
}

TEST(ReportJson, SecondsOnlyOnRequest) {
  Scored scored(makeAnalysis());
  scored.report.withSeconds = true;
  json::Value value = renderJson(scored.report);
  EXPECT_EQ(
      *json::Cursor(value, "r").at("tiers").at("ptx").getNumber("seconds"),
      1.5);
}

TEST(Report, OrderOfInsertionDoesNotMatter) {
  Analysis forward = makeAnalysis();
  Analysis backward = makeAnalysis();
  std::reverse(backward.kernels.begin(), backward.kernels.end());
  for (KernelFacts &kernel : backward.kernels) {
    std::reverse(kernel.facts.begin(), kernel.facts.end());
    std::reverse(kernel.undecided.begin(), kernel.undecided.end());
    for (Fact &fact : kernel.facts)
      std::reverse(fact.where.begin(), fact.where.end());
  }
  Scored a(std::move(forward)), b(std::move(backward));
  EXPECT_EQ(json::dump(renderJson(a.report)), json::dump(renderJson(b.report)));
  EXPECT_EQ(renderText(a.report, TextOptions()),
            renderText(b.report, TextOptions()));
}

//===----------------------------------------------------------------------===//
// Hostile text
//===----------------------------------------------------------------------===//

TEST(Report, HostileTextIsHarmless) {
  // Clears the screen, sets the title, overrides direction, is no UTF-8, ends
  // a line, and closes a JSON string.
  const std::string hostile = "\x1b[2J\x1b]0;x\x07\u202e\xff\n\"}\u009b2J";
  Analysis analysis = makeAnalysis();
  analysis.inputs[0].path = hostile;
  TierStatus &status = analysis.tiers[Tier::Ptx];
  status.reason = status.tool = hostile;
  status.diagnostics = {hostile};
  KernelFacts &kernel = analysis.kernels[0];
  kernel.name = kernel.demangled = hostile;
  for (Fact &fact : kernel.facts) {
    fact.attributes["note"] = hostile;
    fact.loop = hostile;
    fact.workloads = {"w", hostile};
    for (SourceLocation &where : fact.where)
      where.file = where.snippet = hostile;
  }
  for (NearMiss &miss : kernel.nearMisses)
    miss.property = miss.reason = hostile;
  for (Undecided &entry : kernel.undecided)
    entry.property = entry.reason = entry.wouldDecide = hostile;
  Scored scored(std::move(analysis), {"w", hostile});
  scored.report.listFacts = true;
  BaselineComparison comparison;
  comparison.gained = {{hostile, hostile, hostile}};
  scored.report.comparison = &comparison;
  TextOptions options;
  for (const std::string &text : {renderText(scored.report, options),
                                  json::dump(renderJson(scored.report))}) {
    for (char c : text)
      ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f))
          << "byte " << int(uint8_t(c)) << " in:\n"
          << sanitize(text);
  }
  EXPECT_EQ(getSchemaFaults(renderJson(scored.report)), "");
}

//===----------------------------------------------------------------------===//
// Baseline
//===----------------------------------------------------------------------===//

static Result<BaselineComparison> compare(const Report &before,
                                          const Report &after) {
  Result<json::Document> document =
      json::Document::parse(json::dump(renderJson(before)), "before.json");
  EXPECT_TRUE(document) << document.error().message;
  return compareWithBaseline(*document, after);
}

TEST(ReportBaseline, PropertiesGainedAndLost) {
  Scored before(makeAnalysis());
  Analysis changed = makeAnalysis();
  // The 16-byte copies are gone, the pipeline is there.
  changed.kernels[0].facts = {makeFact("pipe", 1, {makePlace(1, "")})};
  Scored after(std::move(changed));
  Result<BaselineComparison> comparison = compare(before.report, after.report);
  ASSERT_TRUE(comparison) << comparison.error().message;
  ASSERT_EQ(comparison->gained.size(), 1u);
  EXPECT_EQ(comparison->gained[0].subject, "pipelined");
  EXPECT_EQ(comparison->gained[0].before, "partial (0.5)");
  EXPECT_EQ(comparison->gained[0].after, "implemented (1)");
  ASSERT_EQ(comparison->lost.size(), 1u);
  EXPECT_EQ(comparison->lost[0].subject, "wide_copies");
  EXPECT_EQ(comparison->lost[0].after, "missing (0)");
  // L1 = 0, L2 = (1+0)/2 = 50: combined 25, from 62.5.
  EXPECT_EQ(comparison->combinedBefore, 62.5);
  EXPECT_EQ(comparison->combinedAfter, 25.0);
  after.report.comparison = &*comparison;
  std::string text = renderText(after.report, TextOptions());
  EXPECT_EQ(text.substr(text.find("\nSince")), R"(
Since the baseline
  combined 62.5 -> 25.0 (-37.5)
  gained  pipelined: partial (0.5) -> implemented (1)
  lost    wide_copies: implemented (1) -> missing (0)
)");
  EXPECT_EQ(getSchemaFaults(renderJson(after.report)), "");
}

TEST(ReportBaseline, NothingChanged) {
  Scored scored(makeAnalysis());
  Result<BaselineComparison> comparison = compare(scored.report, scored.report);
  ASSERT_TRUE(comparison);
  EXPECT_TRUE(comparison->empty());
}

TEST(ReportBaseline, AnotherTarget) {
  Scored before(makeAnalysis());
  Analysis moved = makeAnalysis();
  moved.target = "sm_120a";
  Scored after(std::move(moved));
  std::string old = makeAnalysis().target;
  ASSERT_NE(old, "sm_120a");
  Result<BaselineComparison> comparison = compare(before.report, after.report);
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(comparison->targetBefore, old);
  EXPECT_EQ(comparison->targetAfter, "sm_120a");
  after.report.comparison = &*comparison;
  EXPECT_NE(renderText(after.report, TextOptions())
                .find("the baseline is for " + old +
                      ", this report for sm_120a: what differs may come from "
                      "the target"),
            std::string::npos);
  EXPECT_EQ(getSchemaFaults(renderJson(after.report)), "");
}

TEST(ReportBaseline, FactsWhenThereIsNoScore) {
  Scored scored(makeAnalysis());
  Report before;
  before.analysis = &scored.analysis;
  Analysis changed = makeAnalysis();
  changed.kernels[0].facts.pop_back();
  changed.kernels[0].facts.push_back(makeFact("pipe", 2, {makePlace(1, "")}));
  Report after;
  after.analysis = &changed;
  Result<BaselineComparison> comparison = compare(before, after);
  ASSERT_TRUE(comparison) << comparison.error().message;
  ASSERT_EQ(comparison->gained.size(), 1u);
  EXPECT_EQ(comparison->gained[0].subject, "pipe (bytes 2) in gemm()");
  ASSERT_EQ(comparison->lost.size(), 1u);
  // Facts of a kernel that is not launched are none.
  EXPECT_EQ(comparison->lost[0].subject, "copy (bytes 4) in gemm()");
}

TEST(ReportBaseline, RefusesOtherFiles) {
  Scored scored(makeAnalysis());
  Result<json::Document> document =
      json::Document::parse(R"({"schema": "d2k.analysis/9"})", "old.json");
  Result<BaselineComparison> comparison =
      compareWithBaseline(*document, scored.report);
  ASSERT_FALSE(comparison);
  EXPECT_EQ(comparison.error().kind, FailureKind::Input);
  EXPECT_NE(comparison.error().message.find(
                "old.json: schema: expected string \"d2k.analysis/1\", found "
                "string \"d2k.analysis/9\""),
            std::string::npos)
      << comparison.error().message;
}

//===----------------------------------------------------------------------===//
// Catalog
//===----------------------------------------------------------------------===//

TEST(PropertyList, SaysWhatIsDetected) {
  EXPECT_EQ(renderPropertyList(makeCatalog(), TextOptions()),
            R"(Moving data
  copy                          ptx, sass       detected
      holds when it does
      bytes: integer, bytes of a copy
  later                         ptx, sass       not detected yet
      holds when it does
      bytes: integer, bytes of a copy
  pipe                          ptx, sass       detected
      holds when it does
      bytes: integer, bytes of a copy
)");
}
