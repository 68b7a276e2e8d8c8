// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Children that misbehave: each way ends the child with its own cause, and the
// next child works.

#include "d2k/Runner/Child.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<Child> start(ChildConfig config = {}) {
  config.argv = {D2K_MISBEHAVING_CHILD};
  Result<std::unique_ptr<Child>> child = Child::start(config);
  EXPECT_TRUE(child) << child.error().message;
  return std::move(*child);
}

Reply ask(Child &child, std::string_view operation,
          const std::string &argument = {},
          std::chrono::milliseconds timeout = 60s) {
  return child.request(operation, {{"argument", argument}}, timeout);
}

TEST(ChildTest, AnswersRequests) {
  std::unique_ptr<Child> child = start();
  for (const char *text : {"a", "two\nlines", "\xc3\xa9"}) {
    Reply reply = ask(*child, "echo", text);
    ASSERT_TRUE(reply.isOk());
    EXPECT_EQ(json::Cursor(reply.value, "").getString("result").value(), text);
  }
  Reply refused = ask(*child, "refuse");
  EXPECT_EQ(refused.status, Reply::Status::Refused);
  EXPECT_EQ(refused.kind, FailureKind::Environment);
  EXPECT_EQ(refused.message, "not today");
  EXPECT_TRUE(child->isRunning());
}

TEST(ChildTest, KeepsWhatIsPrinted) {
  std::unique_ptr<Child> child = start();
  ASSERT_TRUE(ask(*child, "print", "to stderr").isOk());
  child->request("exit", {}, 60s);
  EXPECT_EQ(child->getEnd().cause, EndCause::Exited);
  EXPECT_EQ(child->getOutput(), "to stderr");
}

struct Misdeed {
  const char *operation;
  EndCause cause;
  /// Part of the sentence.
  const char *text;
};

class MisdeedTest : public testing::TestWithParam<Misdeed> {};

TEST_P(MisdeedTest, EndsTheChild) {
  ChildConfig config;
  config.maxMemoryBytes = 256 << 20;
  config.maxThreads = 50;
  config.maxOutputBytes = 1 << 20;
  std::unique_ptr<Child> child = start(config);
  bool hangs = GetParam().cause == EndCause::TimedOut;
  Reply reply = ask(*child, GetParam().operation, {}, hangs ? 200ms : 60s);
  // A forged message is answered at once, and found out at the next request.
  if (reply.isOk())
    reply = ask(*child, "echo");
  EXPECT_EQ(reply.status, Reply::Status::Gone);
  ChildEnd end = child->getEnd();
  EXPECT_EQ(end.cause, GetParam().cause) << end.text;
  EXPECT_NE(end.text.find(GetParam().text), std::string::npos) << end.text;

  std::unique_ptr<Child> next = start();
  EXPECT_TRUE(ask(*next, "echo").isOk());
}

INSTANTIATE_TEST_SUITE_P(
    All, MisdeedTest,
    testing::Values(
        Misdeed{"exit", EndCause::Exited, "exited with code 7"},
        Misdeed{"abort", EndCause::Signalled, "signal 6"},
        Misdeed{"crash", EndCause::Signalled, "signal 11"},
        Misdeed{"hang", EndCause::TimedOut, "did not answer in time"},
        Misdeed{"flood", EndCause::Output, "printed more than 1 MiB"},
        Misdeed{"allocate", EndCause::Memory, "more than 256 MiB"},
        Misdeed{"threads", EndCause::Threads, "more than 50 threads"},
        Misdeed{"forge", EndCause::Protocol, "no reply to what was asked"},
        Misdeed{"garbage", EndCause::Protocol, "no reply"},
        Misdeed{"close", EndCause::Protocol, "closed its channel"}),
    [](const testing::TestParamInfo<Misdeed> &info) {
      return std::string(info.param.operation);
    });

TEST(ChildTest, IsKilledFromOutside) {
  std::unique_ptr<Child> child = start();
  ASSERT_TRUE(ask(*child, "echo").isOk());
  ::kill(child->getProcessId(), SIGKILL);
  EXPECT_EQ(ask(*child, "echo").status, Reply::Status::Gone);
  EXPECT_EQ(child->getEnd().cause, EndCause::Signalled);
  EXPECT_EQ(child->getEnd().code, SIGKILL);
}

TEST(ChildTest, ReportsProgramsThatDoNotExist) {
  ChildConfig config;
  config.argv = {"/nowhere/program"};
  Result<std::unique_ptr<Child>> child = Child::start(config);
  ASSERT_TRUE(child);
  EXPECT_EQ((*child)->request("echo", {}, 60s).status, Reply::Status::Gone);
  EXPECT_EQ((*child)->getEnd().code, 127);
}

} // namespace
