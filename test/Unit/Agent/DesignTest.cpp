// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How well the matcher of designs agrees with a person, on the gold set of
// test/Agent/Inputs/gold: 30 proposals for three tasks, labelled by hand.

#include "d2k/Agent/Design.h"
#include "d2k/Support/Files.h"

#include "TestPaths.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace d2k;
using namespace d2k::agent;
using d2k::test::getSourcePath;

static rubric::Guidance readGuidance(const std::string &task) {
  return rubric::parseGuidance(
      *readFile(getSourcePath("guidance/" + task + ".md")));
}

static rubric::Rubric readRubric(const std::string &task) {
  return *rubric::Rubric::load(getSourcePath("rubrics/" + task + ".json"));
}

static Design makeDesign(const json::Cursor &items) {
  Design design;
  std::vector<json::Cursor> elements = *items.asArray();
  for (const json::Cursor &element : elements) {
    std::vector<std::string> texts = *element.asStrings();
    DesignItem item;
    item.id = "A" + std::to_string(design.items.size() + 1);
    item.level = unsigned(texts[0][1] - '1');
    item.title = texts[1];
    item.description = texts[2];
    design.items.push_back(std::move(item));
  }
  return design;
}

namespace {

/// Decisions of the matcher against labels.
struct Agreement {
  unsigned table[3][3] = {};
  void add(Discovery wanted, Discovery got) {
    ++table[size_t(wanted)][size_t(got)];
  }
  unsigned getCount() const {
    unsigned sum = 0;
    for (const auto &row : table)
      for (unsigned cell : row)
        sum += cell;
    return sum;
  }
  double getExact() const {
    return double(table[0][0] + table[1][1] + table[2][2]) / getCount();
  }
  /// Missed or not.
  double getRecall() const {
    double found = 0, all = 0;
    for (int wanted = 1; wanted < 3; ++wanted)
      for (int got = 0; got < 3; ++got) {
        all += table[wanted][got];
        found += got ? table[wanted][got] : 0;
      }
    return found / all;
  }
  double getPrecision() const {
    double right = 0, all = 0;
    for (int wanted = 0; wanted < 3; ++wanted)
      for (int got = 1; got < 3; ++got) {
        all += table[wanted][got];
        right += wanted ? table[wanted][got] : 0;
      }
    return right / all;
  }
  /// Cohen's kappa over the three classes.
  double getKappa() const {
    double expected = 0, count = getCount();
    for (int i = 0; i < 3; ++i) {
      double row = 0, column = 0;
      for (int j = 0; j < 3; ++j) {
        row += table[i][j];
        column += table[j][i];
      }
      expected += row / count * column / count;
    }
    return (getExact() - expected) / (1 - expected);
  }
};

} // namespace

static Discovery parseLabel(const std::string &label) {
  return label == "discovered" ? Discovery::Discovered : Discovery::Partly;
}

TEST(DesignTest, AgreesWithTheGoldSet) {
  Agreement all;
  size_t proposals = 0;
  bool isVerbose = std::getenv("D2K_GOLD_VERBOSE");
  for (const char *task :
       {"gemm_bf16", "rmsnorm_residual_fp8", "allreduce_rmsnorm"}) {
    rubric::Guidance guidance = readGuidance(task);
    rubric::Rubric rubric = readRubric(task);
    Result<json::Document> gold = json::Document::read(
        getSourcePath(std::string("test/Agent/Inputs/gold/") + task + ".json"));
    ASSERT_TRUE(gold) << gold.error().message;
    Agreement agreement;
    std::vector<json::Cursor> list = *gold->getRoot().at("proposals").asArray();
    for (const json::Cursor &proposal : list) {
      ++proposals;
      json::Cursor labels = proposal.at("labels");
      auto named = *labels.asObject();
      for (const auto &[id, label] : named)
        EXPECT_TRUE(guidance.find(id)) << id;
      Assessment assessment =
          assessDesign(makeDesign(proposal.at("items")), guidance, rubric);
      for (const AssessedItem &item : assessment.items) {
        Result<std::string> label = labels.getString(item.id);
        Discovery wanted = label ? parseLabel(*label) : Discovery::Missed;
        agreement.add(wanted, item.discovery);
        all.add(wanted, item.discovery);
        if (isVerbose && wanted != item.discovery)
          std::printf("%s %s %s: label %s, matcher %s (%.2f, %s)\n", task,
                      proposal.getString("id")->c_str(), item.id.c_str(),
                      std::string(getDiscoveryName(wanted)).c_str(),
                      std::string(getDiscoveryName(item.discovery)).c_str(),
                      item.overlap, item.matched.c_str());
      }
    }
    std::printf("%s: exact %.3f, recall %.3f, precision %.3f, kappa %.3f\n",
                task, agreement.getExact(), agreement.getRecall(),
                agreement.getPrecision(), agreement.getKappa());
  }
  std::printf("all %u decisions: exact %.3f, recall %.3f, precision %.3f, "
              "kappa %.3f\n",
              all.getCount(), all.getExact(), all.getRecall(),
              all.getPrecision(), all.getKappa());
  EXPECT_GE(proposals, 30u);
  // What docs/Agents.md says, with little room for changes of the guidance.
  EXPECT_GE(all.getExact(), 0.86);
  EXPECT_GE(all.getRecall(), 0.90);
  EXPECT_GE(all.getPrecision(), 0.76);
  EXPECT_GE(all.getKappa(), 0.70);
}

TEST(DesignTest, FindsTermsHoweverTheyAreSpelt) {
  std::set<std::string_view> terms =
      findDesignTerms("Double-buffered TMA_loads; MMA with FP32 accumulation.");
  EXPECT_TRUE(terms.count("AsyncCopy"));
  EXPECT_TRUE(terms.count("TensorCore"));
  EXPECT_TRUE(terms.count("Fp32Sums"));
  EXPECT_FALSE(terms.count("Swizzle"));
  EXPECT_TRUE(findDesignTerms("").empty());
}

TEST(DesignTest, TheExpertsOwnWordsAreDiscovered) {
  for (const char *task :
       {"gemm_bf16", "rmsnorm_residual_fp8", "allreduce_rmsnorm"}) {
    rubric::Guidance guidance = readGuidance(task);
    rubric::Rubric rubric = readRubric(task);
    Design design;
    for (const rubric::GuidanceItem &item : guidance.items) {
      DesignItem own;
      own.id = item.id;
      own.level = item.level;
      own.title = item.title;
      for (const rubric::Property &property : rubric.properties)
        if (property.guidance == item.id)
          own.description += property.title + ". " + property.hint + ". ";
      design.items.push_back(std::move(own));
    }
    Assessment assessment = assessDesign(design, guidance, rubric);
    for (const AssessedItem &item : assessment.items) {
      EXPECT_EQ(item.discovery, Discovery::Discovered) << task << item.id;
      EXPECT_EQ(item.matched, item.id) << task;
    }
    EXPECT_EQ(assessment.all.recall, 1.0);
    EXPECT_EQ(assessment.all.precision, 1.0);
  }
}

TEST(DesignTest, AnEmptyDesignDiscoversNothing) {
  Assessment assessment =
      assessDesign({}, readGuidance("gemm_bf16"), readRubric("gemm_bf16"));
  EXPECT_EQ(assessment.all.recall, 0.0);
  EXPECT_EQ(assessment.all.precision, std::nullopt);
}

static Result<Design> parseDesign(const std::string &text) {
  Result<json::Document> document = json::Document::parse(text, "design");
  return Design::fromJson(document->getRoot());
}

TEST(DesignTest, RefusesDesignsThatAreNone) {
  std::string item = R"("level": "L1", "title": "t", "description": "d",
                        "reason": "r")";
  EXPECT_TRUE(parseDesign(R"({"items": [{"id": "A", )" + item +
                          R"(, "depends_on": []}]})"));
  EXPECT_FALSE(parseDesign(R"({"items": []})"));
  EXPECT_FALSE(parseDesign(R"({"items": [{"id": "A"}]})"));
  EXPECT_EQ(parseDesign(R"({"items": [{"id": "A", )" + item +
                        R"(, "depends_on": ["B"]}]})")
                .error()
                .message,
            "design: A depends on \"B\", which is no item");
  Result<Design> twice = parseDesign(R"({"items": [{"id": "A", )" + item +
                                     R"(, "depends_on": []}, {"id": "A", )" +
                                     item + R"(, "depends_on": []}]})");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("given twice"), std::string::npos);
  // B and C wait for each other, A for them; D stands alone.
  auto make = [&](const char *id, const char *dependencies) {
    return std::string(R"({"id": ")") + id + "\", " + item +
           ", \"depends_on\": [" + dependencies + "]}";
  };
  std::string others = make("D", "") + ", " + make("A", R"("B", "D")") + ", " +
                       make("B", R"("C")") + ", ";
  EXPECT_TRUE(
      parseDesign(R"({"items": [)" + others + make("C", R"("D")") + "]}"));
  EXPECT_EQ(
      parseDesign(R"({"items": [)" + others + make("C", R"("D", "B")") + "]}")
          .error()
          .message,
      "design: B depends on itself, if only by way of others");
  EXPECT_FALSE(parseDesign(R"({"items": [)" + make("A", R"("A")") + "]}"));
}
