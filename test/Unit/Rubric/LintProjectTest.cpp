// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lint of a whole checkout: a sound one made here, each fault that shows only
// between files, and the schemas and data that we ship.

#include "d2k/Rubric/LintProject.h"

#include "d2k/Support/Files.h"

#include "RubricTestSupport.h"
#include "TestPaths.h"

#include <filesystem>

using namespace d2k;
using namespace d2k::rubric;
using namespace d2k::test;

static constexpr const char *kTask = R"({
  "schema": "d2k.task/1", "name": "t", "title": "T", "op_type": "t",
  "description": "Y = X", "constraints": [],
  "axes": {"M": {"type": "var", "description": "rows"}},
  "inputs": {"X": {"shape": ["M"], "dtype": "float32", "description": "x",
                   "distribution": {"type": "normal"}}},
  "outputs": {"Y": {"shape": ["M"], "dtype": "float32", "description": "y"}},
  "tolerance": {"Y": {"rule": "exact", "source": "a copy"}},
  "flops": 0, "bytes": "8*M",
  "workloads": [{"id": "shown", "axes": {"M": 4}, "source": {"note": "n"}}],
  "held_out": [{"id": "secret", "axes": {"M": 5}, "source": {"note": "n"}}]})";

namespace {

class LintProjectTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created) << created.error().message;
    directory.emplace(std::move(*created));
    write("tasks/t/task.json", kTask);
    write("tasks/t/description.md", "Copy X to Y.\n");
    for (const char *file : {"reference.cu", "baseline.cu"})
      write(std::string("tasks/t/") + file, "\n");
    write("tasks/t/exemplars/naive.cu", "\n");
    std::string guidance, properties;
    for (int i = 1; i <= 8; ++i) {
      std::string item = "L1." + std::to_string(i);
      guidance += "## " + item + " Do it\nDepends on: nothing\n";
      properties += (i == 1 ? "" : ",");
      properties += R"({"id": "p)" + std::to_string(i) +
                    R"(", "level": "L1", "guidance": ")" + item +
                    R"(", "title": "t", "weight": 1, "hint": "h",
                       "detect": {"fact": "copy"}})";
    }
    write("guidance/t.md", guidance);
    write("rubrics/t.json",
          R"({"schema": "d2k.rubric/1", "task": "t", "properties": [)" +
              properties + "]}");
    write("rubrics/rubric.schema.json", "{}");
  }
  void write(const std::string &name, const std::string &text) {
    std::string path = joinPath(directory->getPath(), name);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    ASSERT_TRUE(writeFile(path, text));
  }
  void remove(const std::string &name) {
    std::filesystem::remove(joinPath(directory->getPath(), name));
  }
  /// The faults, one a line.
  std::string run() {
    Result<ProjectLint> lint = lintProject(directory->getPath(), makeCatalog());
    if (!lint)
      return lint.error().message;
    std::string text;
    for (const std::string &fault : lint->faults)
      text += fault + "\n";
    return text;
  }
  std::optional<TemporaryDirectory> directory;
};

} // namespace

TEST_F(LintProjectTest, SoundProject) {
  EXPECT_EQ(run(), "");
  Result<ProjectLint> lint = lintProject(directory->getPath(), makeCatalog());
  ASSERT_TRUE(lint);
  EXPECT_EQ(lint->tasks, 1u);
  EXPECT_EQ(lint->guidances, 1u);
  EXPECT_EQ(lint->rubrics, 1u);
}

TEST_F(LintProjectTest, GuidanceAndRubricComeInPairs) {
  remove("rubrics/t.json");
  EXPECT_EQ(run(),
            "guidance/t.md: has no rubric rubrics/t.json that checks it\n");
}

TEST_F(LintProjectTest, RubricWithoutGuidance) {
  remove("guidance/t.md");
  EXPECT_EQ(run(), "rubrics/t.json: has no guidance guidance/t.md whose items "
                   "it checks\n");
}

TEST_F(LintProjectTest, EverythingBelongsToATask) {
  remove("tasks/t/task.json");
  EXPECT_EQ(run(), "tasks/t/task.json: no such file or directory\n");
  std::filesystem::remove_all(joinPath(directory->getPath(), "tasks/t"));
  EXPECT_EQ(run(), "guidance/t.md: there is no task \"t\"\n"
                   "rubrics/t.json: there is no task \"t\"\n");
}

TEST_F(LintProjectTest, DescriptionKeepsSecrets) {
  write("tasks/t/description.md", "Checked with `secret` too.\n");
  EXPECT_EQ(run(), "tasks/t/description.md: names the held-out workload "
                   "\"secret\"\n");
}

TEST_F(LintProjectTest, TasksAreWhole) {
  remove("tasks/t/baseline.cu");
  remove("tasks/t/exemplars/naive.cu");
  EXPECT_EQ(run(), "tasks/t/baseline.cu: is missing\n"
                   "tasks/t/exemplars/naive.cu: is missing\n");
}

TEST_F(LintProjectTest, FilesAreNamedRelativeToTheRoot) {
  write("rubrics/t.json", "{");
  EXPECT_EQ(run().substr(0, 19), "rubrics/t.json:1:2:") << run();
  write("tasks/t/task.json", "{}");
  EXPECT_EQ(run().substr(0, 49),
            "tasks/t/task.json: missing member \"schema\"\ntasks/");
  write("guidance/t.md", "## L1.1 Do it\n");
  EXPECT_NE(run().find("guidance/t.md:1: L1.1 has no line"), std::string::npos);
}

TEST_F(LintProjectTest, NeedsAProject) {
  Result<ProjectLint> lint = lintProject("/d2k/no/such", makeCatalog());
  ASSERT_FALSE(lint);
  EXPECT_EQ(lint.error().message,
            "/d2k/no/such/tasks: no such file or directory");
}
