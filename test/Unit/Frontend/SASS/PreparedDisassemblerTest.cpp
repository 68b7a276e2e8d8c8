// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that read their file as nvdisasm does, or in another way, in the
// place of nvdisasm.

#include "d2k/Frontend/SASS/PreparedDisassembler.h"

#include "d2k/Support/CudaTools.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>

using namespace d2k;
using namespace d2k::sass;

namespace {
class PreparedDisassemblerTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> created = TemporaryDirectory::create();
    ASSERT_TRUE(created.has_value());
    folder.emplace(std::move(*created));
  }
  void TearDown() override {
    ::unsetenv(getCudaToolVariable(CudaTool::Nvdisasm).c_str());
  }

  /// Starts a shell script; `$f` is the file.
  std::unique_ptr<PreparedDisassembler> start(const std::string &script) {
    std::string path = joinPath(folder->getPath(), "nvdisasm");
    EXPECT_TRUE(writeFile(path, "#!/bin/sh\nf=$4\n" + script).has_value());
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    ::setenv(getCudaToolVariable(CudaTool::Nvdisasm).c_str(), path.c_str(), 1);
    return PreparedDisassembler::start(*parseTarget("sm_90a"));
  }

  std::optional<TemporaryDirectory> folder;
};
} // namespace

TEST_F(PreparedDisassemblerTest, WaitsForTheCode) {
  auto prepared = start("cat $f > /dev/null\nsleep 2\ncat $f\n");
  if (!prepared)
    GTEST_SKIP() << "no leases on this file system";
  EXPECT_EQ(prepared->getTarget(), *parseTarget("sm_90a"));
  // The pause is long enough for a busy machine to take the lease in.
  std::optional<CommandResult> result = prepared->finish("the code");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "the code");
  EXPECT_FALSE(prepared->finish("again").has_value());
}

TEST_F(PreparedDisassemblerTest, RefusesAProgramThatReadsOnce) {
  auto prepared = start("cat $f\n");
  if (!prepared)
    GTEST_SKIP() << "no leases on this file system";
  EXPECT_FALSE(prepared->finish("the code").has_value());
}

TEST_F(PreparedDisassemblerTest, RefusesAProgramThatFails) {
  auto prepared = start("cat $f > /dev/null\nsleep 0.2\ncat $f\nexit 3\n");
  if (!prepared)
    GTEST_SKIP() << "no leases on this file system";
  EXPECT_FALSE(prepared->finish("the code").has_value());
  // One that never reads.
  prepared = start("exit 1\n");
  ASSERT_TRUE(prepared != nullptr);
  EXPECT_FALSE(prepared->finish("the code").has_value());
}

TEST_F(PreparedDisassemblerTest, EndsWithoutCode) {
  auto prepared = start("cat $f > /dev/null\nsleep 0.2\ncat $f > " +
                        joinPath(folder->getPath(), "read") + "\n");
  if (!prepared)
    GTEST_SKIP() << "no leases on this file system";
  prepared.reset();
  EXPECT_TRUE(isRegularFile(joinPath(folder->getPath(), "read")));
}

TEST_F(PreparedDisassemblerTest, NeedsTheProgram) {
  ::setenv(getCudaToolVariable(CudaTool::Nvdisasm).c_str(), "/no/such/file", 1);
  EXPECT_EQ(PreparedDisassembler::start(*parseTarget("sm_90a")), nullptr);
}
