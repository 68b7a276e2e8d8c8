// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files: contents survive, and each way in which a file can be bad has its own
// message.

#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace d2k;

namespace {

class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created) << created.error().message;
    directory.emplace(std::move(*created));
  }
  std::string getPath(const char *name) {
    return joinPath(directory->getPath(), name);
  }
  std::optional<TemporaryDirectory> directory;
};

} // namespace

TEST_F(FilesTest, WritesAndReadsBytes) {
  std::string bytes("a\0b\xff\n", 5);
  ASSERT_TRUE(writeFile(getPath("f"), bytes));
  EXPECT_EQ(*readFile(getPath("f")), bytes);
  // Replacing leaves no temporary file behind.
  ASSERT_TRUE(writeFile(getPath("f"), ""));
  EXPECT_EQ(*readFile(getPath("f")), "");
  EXPECT_EQ(*listDirectory(directory->getPath()),
            std::vector<std::string>{"f"});
}

TEST_F(FilesTest, NamesAMissingFile) {
  Result<std::string> text = readFile(getPath("none"));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, FailureKind::Input);
  EXPECT_EQ(text.error().message,
            getPath("none") + ": no such file or directory");
}

TEST_F(FilesTest, TellsADirectoryFromAFile) {
  Result<std::string> text = readFile(directory->getPath());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            directory->getPath() + ": is a directory, expected a file");
  EXPECT_FALSE(writeFile(directory->getPath(), "x"));
}

TEST_F(FilesTest, NamesAnUnreadableFile) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "the superuser may read everything";
  ASSERT_TRUE(writeFile(getPath("secret"), "x"));
  ::chmod(getPath("secret").c_str(), 0);
  Result<std::string> text = readFile(getPath("secret"));
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("permission denied"), std::string::npos);
}

TEST_F(FilesTest, ReportsWhatTheSystemSays) {
  // Opens for everybody, and then refuses to be read at address 0.
  Result<std::string> text = readFile("/proc/self/mem");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            "/proc/self/mem: cannot read it: Input/output error");
}

TEST_F(FilesTest, RefusesWhatIsTooLarge) {
  ASSERT_TRUE(writeFile(getPath("big"), std::string(101, 'x')));
  EXPECT_TRUE(readFile(getPath("big"), 101));
  Result<std::string> text = readFile(getPath("big"), 100);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message,
            getPath("big") + ": is too large, the limit is 100 bytes");
  // An endless device has no size to look at beforehand.
  EXPECT_FALSE(readFile("/dev/zero", 1 << 20));
}

TEST_F(FilesTest, RemovesTemporaryDirectories) {
  ASSERT_TRUE(writeFile(getPath("f"), "x"));
  std::string path = directory->getPath();
  EXPECT_TRUE(isDirectory(path));
  directory.reset();
  EXPECT_FALSE(isDirectory(path));
}
