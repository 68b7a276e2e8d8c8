// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs that need no device: budgets, compaction, and the documents that a run
// leaves behind.

#include "d2k/Agent/Run.h"
#include "d2k/Agent/Propose.h"
#include "d2k/Agent/RunReport.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/JsonSchema.h"

#include "TestPaths.h"

#include <gtest/gtest.h>

using namespace d2k;
using namespace d2k::agent;
using d2k::test::getSourcePath;

namespace {

class RunTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> made = TemporaryDirectory::create();
    ASSERT_TRUE(made);
    folder.emplace(std::move(*made));
  }
  std::string in(const std::string &name) const {
    return joinPath(folder->getPath(), name);
  }
  /// A run of \p responses, the array of a script.
  RunOptions makeOptions(const std::string &responses) {
    EXPECT_TRUE(
        writeFile(in("script.json"), "{\"responses\": " + responses + "}"));
    RunOptions options;
    options.bench.evaluate.dataRoot = getSourcePath("test/Runner/Inputs/root");
    options.bench.evaluate.taskFolder =
        getSourcePath("test/Runner/Inputs/root/tasks/toy_scale");
    options.bench.arch = "sm_90a";
    options.model = *ModelOptions::parse("scripted:" + in("script.json"));
    options.directory = in("run");
    return options;
  }
  json::Value run(const RunOptions &options) {
    Result<RunResult> result = runAgent(options, {});
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_FALSE(result->isCorrect);
    return result->document;
  }
  std::vector<Event> readEvents() {
    Result<std::vector<Event>> events =
        readTranscript(in("run/transcript.jsonl"));
    EXPECT_TRUE(events) << events.error().message;
    return std::move(*events);
  }
  unsigned count(const std::string &type) {
    unsigned number = 0;
    for (const Event &event : readEvents())
      number += event.type == type;
    return number;
  }

  std::optional<TemporaryDirectory> folder;
};

} // namespace

static std::string getEnd(const json::Value &document) {
  return *json::Cursor(document, "result").getString("ended");
}

static const char *const kLists =
    R"([{"calls": [{"name": "list_files", "arguments": {}}],
         "usage": {"input": 100, "output": 50}},
        {"calls": [{"name": "list_files", "arguments": {}}],
         "usage": {"input": 200, "output": 50}},
        {"calls": [{"name": "list_files", "arguments": {}}],
         "usage": {"input": 300, "output": 50}}])";

TEST_F(RunTest, EndsAfterItsTurns) {
  RunOptions options = makeOptions(kLists);
  options.budget.turns = 2;
  EXPECT_EQ(getEnd(run(options)), "turns");
  EXPECT_EQ(count("response"), 2u);
}

TEST_F(RunTest, EndsAfterItsTokens) {
  RunOptions options = makeOptions(kLists);
  options.budget.tokens = 400;
  EXPECT_EQ(getEnd(run(options)), "tokens");
  EXPECT_EQ(count("response"), 2u);
}

TEST_F(RunTest, EndsAtItsCost) {
  RunOptions options = makeOptions(kLists);
  options.prices.input = 1e6;
  // 100, then 300 dollars have been spent.
  options.budget.cost = 101;
  json::Value document = run(options);
  EXPECT_EQ(getEnd(document), "cost");
  EXPECT_EQ(*json::Cursor(document, "result").getNumber("cost"), 300);
}

TEST_F(RunTest, EndsAfterItsSeconds) {
  RunOptions options = makeOptions(kLists);
  options.budget.seconds = 0;
  EXPECT_EQ(getEnd(run(options)), "seconds");
  EXPECT_EQ(count("response"), 0u);
}

TEST_F(RunTest, ThreeSilentTurnsEndIt) {
  EXPECT_EQ(getEnd(run(makeOptions("[]"))), "silence");
  EXPECT_EQ(count("response"), 3u);
}

TEST_F(RunTest, LeavesDocumentsThatConform) {
  json::Value document = run(makeOptions(kLists));
  Result<json::Schema> schema =
      json::Schema::read(getSourcePath("docs/schemas/run.schema.json"));
  ASSERT_TRUE(schema) << schema.error().message;
  for (const json::SchemaError &error : schema->validate(document))
    ADD_FAILURE() << error.toString();
  Result<json::Schema> events =
      json::Schema::read(getSourcePath("docs/schemas/transcript.schema.json"));
  ASSERT_TRUE(events) << events.error().message;
  std::string text = *readFile(in("run/transcript.jsonl"));
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos;
       at = end + 1) {
    Result<json::Value> line =
        json::parse(text.substr(at, end - at), "transcript");
    ASSERT_TRUE(line);
    for (const json::SchemaError &error : events->validate(*line))
      ADD_FAILURE() << error.toString();
  }
  EXPECT_TRUE(isRegularFile(in("run/summary.md")));
  EXPECT_TRUE(isRegularFile(in("run/result.json")));
}

TEST_F(RunTest, ShortensAConversationThatGrowsTooLong) {
  // Each turn writes and reads 6000 characters; 4000 tokens take two turns.
  std::string content(6000, 'x');
  std::string responses = "[";
  for (int turn = 0; turn < 8; ++turn)
    responses +=
        std::string(turn ? "," : "") +
        R"({"calls": [{"name": "write_file", "arguments": {"path": "a)" +
        std::to_string(turn) + R"(.h", "content": ")" + content + R"("}}]})";
  RunOptions options = makeOptions(responses + "]");
  options.contextTokens = 8000;
  options.model.maxOutputTokens = 1000;
  options.budget.turns = 8;
  run(options);
  EXPECT_GE(count("compaction"), 2u);
  for (const Event &event : readEvents()) {
    if (event.type != "compaction")
      continue;
    json::Cursor data(event.data, "compaction");
    std::string note = *data.getString("note");
    EXPECT_NE(note.find("are left out here"), std::string::npos);
    EXPECT_NE(note.find("- a0.h, 6000 bytes"), std::string::npos);
    // What stays begins with a response.
    EXPECT_EQ(*data.getInteger("first_message_kept") % 2, 0);
  }
  // The run goes on with what it had.
  std::string before = *readFile(in("run/transcript.jsonl"));
  run(options);
  EXPECT_EQ(*readFile(in("run/transcript.jsonl")), before);
}

TEST_F(RunTest, KeepsOutOfOtherFolders) {
  RunOptions options = makeOptions("[]");
  ASSERT_TRUE(writeFile(in("mine.txt"), "mine"));
  options.directory = folder->getPath();
  Result<RunResult> result = runAgent(options, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FailureKind::Usage);
  EXPECT_NE(result.error().message.find("holds other things"),
            std::string::npos);
}

TEST_F(RunTest, ProposalsConform) {
  makeOptions(R"([{"calls": [{"name": "propose_design", "arguments":
    {"items": [{"id": "A", "level": "L1", "title": "t", "description": "d",
                "reason": "r", "depends_on": []}]}}]}])");
  ProposeOptions options;
  options.dataRoot = getSourcePath("");
  options.taskFolder = getSourcePath("tasks/gemm_bf16");
  options.model = *ModelOptions::parse("scripted:" + in("script.json"));
  options.directory = in("proposal");
  Result<json::Value> proposal = proposeDesign(options, {});
  ASSERT_TRUE(proposal) << proposal.error().message;
  Result<json::Schema> schema =
      json::Schema::read(getSourcePath("docs/schemas/proposal.schema.json"));
  ASSERT_TRUE(schema) << schema.error().message;
  for (const json::SchemaError &error : schema->validate(*proposal))
    ADD_FAILURE() << error.toString();
}

TEST(RunReportTest, HostileTextStaysText) {
  json::Value document =
      json::Object{{"task", "<script>x"}, {"model", "a|b`c"}, {"arm", "none"}};
  std::vector<Event> events = {
      {"tool",
       json::Object{{"name", "<img src=x>"},
                    {"text", "</pre><script>alert(1)</script>\x1b[31m"},
                    {"is_error", false}},
       0}};
  std::string html = renderTranscript(events, document);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("&lt;/pre&gt;&lt;script&gt;"), std::string::npos);
  EXPECT_NE(renderRunSummary(document).find("a\\|b\\`c"), std::string::npos);
}
