// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be done behind the walls. On a kernel that refuses namespaces the
// tests are skipped, as the report of the sandbox says.

#include "d2k/Runner/Sandbox.h"
#include "d2k/Runner/Child.h"
#include "d2k/Support/Files.h"

#include <gtest/gtest.h>

#include <csignal>

#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

namespace {

class SandboxTest : public testing::Test {
protected:
  void SetUp() override {
    Result<TemporaryDirectory> made = TemporaryDirectory::create();
    ASSERT_TRUE(made);
    folder = std::make_unique<TemporaryDirectory>(std::move(*made));
    for (const char *name : {"seen", "work", "unseen"})
      ASSERT_TRUE(
          writeFile(folder->getPath() + "/" + name + ".txt", "contents"));
    config.readOnly = {folder->getPath() + "/seen.txt"};
    config.writable = {folder->getPath() + "/work.txt"};
    restart();
    Reply reply = child->request("isolation", {}, 60s);
    ASSERT_TRUE(reply.isOk()) << child->getEnd().text << child->getOutput();
    Result<Isolation> report = Isolation::fromJson(
        json::Cursor(reply.value, "").get("isolation").value());
    ASSERT_TRUE(report);
    isolation = *report;
    if (!isolation.isComplete())
      GTEST_SKIP() << "no isolation here: " << isolation.missing.front();
  }

  void restart() {
    ChildConfig start;
    start.argv = {D2K_MISBEHAVING_CHILD, "--sandbox",
                  json::dump(config.toJson(), false)};
    Result<std::unique_ptr<Child>> started = Child::start(start);
    ASSERT_TRUE(started);
    child = std::move(*started);
  }

  bool can(std::string_view operation, const std::string &argument) {
    Reply reply = child->request(operation, {{"argument", argument}}, 60s);
    EXPECT_TRUE(reply.isOk()) << child->getEnd().text;
    return reply.isOk() &&
           json::Cursor(reply.value, "").getBoolean("result").value_or(false);
  }

  void expectKilled(std::string_view operation) {
    EXPECT_EQ(child->request(operation, {}, 60s).status, Reply::Status::Gone);
    EXPECT_EQ(child->getEnd().cause, EndCause::Signalled);
    EXPECT_EQ(child->getEnd().code, SIGSYS) << child->getEnd().text;
  }

  std::unique_ptr<TemporaryDirectory> folder;
  SandboxConfig config;
  std::unique_ptr<Child> child;
  Isolation isolation;
};

TEST_F(SandboxTest, ShowsOnlyWhatIsListed) {
  EXPECT_TRUE(can("read", folder->getPath() + "/seen.txt"));
  EXPECT_FALSE(can("write", folder->getPath() + "/seen.txt"));
  EXPECT_TRUE(can("write", folder->getPath() + "/work.txt"));
  EXPECT_FALSE(can("read", folder->getPath() + "/unseen.txt"));
  EXPECT_FALSE(can("write", "/usr/d2k"));
  EXPECT_FALSE(can("write", "/d2k"));
  EXPECT_FALSE(can("read", "/etc/passwd"));
  EXPECT_TRUE(can("read", "/usr/bin/env"));
  EXPECT_TRUE(can("write", "/tmp/private"));
  EXPECT_FALSE(isRegularFile("/tmp/private"));
}

TEST_F(SandboxTest, HidesFoldersBelowVisibleOnes) {
  EXPECT_TRUE(can("read", "/usr/share"));
  ASSERT_TRUE(isDirectory("/usr/share/doc"));
  ASSERT_FALSE(listDirectory("/usr/share/doc")->empty());
  std::string below =
      "/usr/share/doc/" + listDirectory("/usr/share/doc")->front();
  EXPECT_TRUE(can("read", below));
  config.hidden = {"/usr/share/doc"};
  restart();
  EXPECT_FALSE(can("read", below));
}

TEST_F(SandboxTest, ReachesNoProcessOfTheHarness) {
  EXPECT_FALSE(can("signal", std::to_string(::getpid())));
  EXPECT_FALSE(can("read", "/proc/" + std::to_string(::getpid()) + "/mem"));
}

TEST_F(SandboxTest, MakesNoProcesses) { expectKilled("fork"); }

TEST_F(SandboxTest, ReachesNoNetwork) { expectKilled("socket"); }

TEST_F(SandboxTest, HasALoopbackInterface) {
  if (!isRegularFile("/proc/net/fib_trie"))
    GTEST_SKIP() << "the kernel shows no routes";
  EXPECT_TRUE(can("loopback", ""));
}

TEST_F(SandboxTest, PassesOnHowTheProcessEnded) {
  child->request("exit", {}, 60s);
  EXPECT_EQ(child->getEnd().cause, EndCause::Exited);
  EXPECT_EQ(child->getEnd().code, 7);
  restart();
  child->request("abort", {}, 60s);
  EXPECT_EQ(child->getEnd().code, SIGABRT);
  restart();
  child->request("crash", {}, 60s);
  EXPECT_EQ(child->getEnd().code, SIGSEGV);
}

TEST_F(SandboxTest, StartsThreads) {
  // The thread limit of the parent ends it, not the filter.
  child->request("threads", {}, 60s);
  EXPECT_EQ(child->getEnd().cause, EndCause::Threads) << child->getEnd().text;
}

} // namespace
