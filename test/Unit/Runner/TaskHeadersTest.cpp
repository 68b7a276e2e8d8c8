// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TaskHeaders.h"
#include "TestPaths.h"

#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

#include <regex>
#include <set>

using namespace d2k;

namespace {

/// The project's own headers that \p text includes.
std::set<std::string> getIncluded(const std::string &text) {
  std::regex pattern("#include \"(d2k/[^\"]*)\"");
  std::set<std::string> paths;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end;
       at != end; ++at)
    paths.insert((*at)[1]);
  return paths;
}

// The harness compiles references and baselines with nothing of the project but
// these headers.
TEST(TaskHeadersTest, HasEverythingThatTasksInclude) {
  std::set<std::string> known, included;
  for (const embedded::TaskHeader &header : embedded::getTaskHeaders()) {
    known.insert(header.path);
    included.merge(getIncluded(header.text));
  }
  std::string tasks = test::getSourcePath("tasks");
  Result<std::vector<std::string>> names = listDirectory(tasks);
  ASSERT_TRUE(names);
  size_t files = 0;
  for (const std::string &name : *names)
    for (const char *file : {"reference.cu", "baseline.cu"})
      if (Result<std::string> text =
              readFile(joinPath(joinPath(tasks, name), file))) {
        included.merge(getIncluded(*text));
        ++files;
      }
  EXPECT_GE(files, 2u);
  EXPECT_TRUE(included.count("d2k/Task/Reference.h"));
  for (const std::string &path : included)
    EXPECT_TRUE(known.count(path))
        << path << " is missing in the list taskHeaders of lib/Runner";
}

} // namespace
