// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs are run without a shell, within limits, and leave nothing behind.

#include "d2k/Support/Subprocess.h"

#include "d2k/Support/Files.h"

#include "gtest/gtest.h"

#include <csignal>
#include <thread>

using namespace d2k;
using namespace std::chrono_literals;

static CommandResult run(const Command &command) {
  Result<CommandResult> result = runCommand(command);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : CommandResult();
}

static CommandResult runShell(const char *script) {
  Command command;
  command.argv = {"sh", "-c", script};
  return run(command);
}

TEST(Subprocess, CapturesBothStreamsAndTheStatus) {
  CommandResult result = runShell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.error, "err\n");
  EXPECT_EQ(result.exitCode, 3);
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(result.describeEnd(), "exit code 3");
}

TEST(Subprocess, PassesArgumentsUninterpreted) {
  Command command;
  command.argv = {"printf", "%s|", "a b", "$HOME", "`id`", "*"};
  EXPECT_EQ(run(command).output, "a b|$HOME|`id`|*|");
}

TEST(Subprocess, FeedsInputLargerThanAPipe) {
  Command command;
  command.argv = {"cat"};
  command.input.assign(1 << 20, 'x');
  EXPECT_EQ(run(command).output, command.input);
  // A program that does not read its input must not end us with SIGPIPE.
  command.argv = {"true"};
  EXPECT_TRUE(run(command).succeeded());
}

TEST(Subprocess, SetsDirectoryAndEnvironment) {
  Command command;
  command.argv = {"sh", "-c", "pwd; echo $D2K_A; echo ${HOME-unset}"};
  command.directory = "/";
  command.environment = {{"D2K_A", "value"}, {"HOME", std::nullopt}};
  EXPECT_EQ(run(command).output, "/\nvalue\nunset\n");
  command.argv = {"env"};
  command.clearEnvironment = true;
  EXPECT_EQ(run(command).output, "D2K_A=value\n");
}

TEST(Subprocess, StopsAtTheTimeLimit) {
  Command command;
  // The trap ignores the polite signal; the background process would hold the
  // pipes open for a minute.
  command.argv = {"sh", "-c", "trap '' TERM; sleep 60 & sleep 60; sleep 60"};
  command.timeout = 100ms;
  command.killGrace = 50ms;
  CommandResult result = run(command);
  EXPECT_TRUE(result.timedOut);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(result.seconds, 20);
}

TEST(Subprocess, DoesNotWaitForWhatItLeavesBehind) {
  CommandResult result = runShell("sleep 60 & echo done");
  EXPECT_EQ(result.output, "done\n");
  EXPECT_TRUE(result.succeeded());
  EXPECT_LT(result.seconds, 20);
}

TEST(Subprocess, CapsOutput) {
  Command command;
  command.argv = {"sh", "-c", "head -c 100000 /dev/zero"};
  command.maxOutputBytes = 1000;
  CommandResult result = run(command);
  EXPECT_EQ(result.output.size(), 1000u);
  EXPECT_TRUE(result.truncated);
  EXPECT_TRUE(result.succeeded());
}

TEST(Subprocess, ReportsSignals) {
  CommandResult result = runShell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.describeEnd(), "signal 11 (Segmentation fault)");
}

TEST(Subprocess, LimitsFileSize) {
  Result<TemporaryDirectory> directory = TemporaryDirectory::create();
  ASSERT_TRUE(directory);
  Command command;
  command.argv = {"sh", "-c", "head -c 100000 /dev/zero > big"};
  command.directory = directory->getPath();
  command.maxFileBytes = 4096;
  EXPECT_FALSE(run(command).succeeded());
  EXPECT_LE(readFile(joinPath(directory->getPath(), "big"))->size(), 4096u);
}

TEST(Subprocess, SaysWhyItCannotStart) {
  Command command;
  command.argv = {"d2k-no-such-program"};
  Result<CommandResult> result = runCommand(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, FailureKind::Environment);
  EXPECT_EQ(result.error().message,
            "d2k-no-such-program: no such program in PATH");
  command.argv = {"true"};
  command.directory = "/d2k-no-such-directory";
  result = runCommand(command);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "/d2k-no-such-directory: cannot change to the directory: No such "
            "file or directory");
}
