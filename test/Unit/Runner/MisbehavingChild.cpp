// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program for ChildTest.cpp and SandboxTest.cpp: answers requests whose
// operation says how to misbehave. With --sandbox JSON it confines itself
// first.

#include "d2k/Runner/Channel.h"
#include "d2k/Runner/Sandbox.h"
#include "d2k/Support/Files.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

static bool canOpen(const std::string &path, int flags) {
  int fd = ::open(path.c_str(), flags, 0600);
  if (fd >= 0)
    ::close(fd);
  return fd >= 0;
}

/// Does what \p operation names; its result goes into the reply.
static json::Value misbehave(const std::string &operation,
                             const std::string &argument, Channel &channel) {
  if (operation == "echo")
    return argument;
  if (operation == "exit")
    ::exit(7);
  if (operation == "abort")
    ::abort();
  if (operation == "crash")
    ::raise(SIGSEGV);
  if (operation == "hang")
    for (;;)
      std::this_thread::sleep_for(1h);
  if (operation == "flood")
    for (std::string line(1 << 16, 'x');;)
      std::fwrite(line.data(), 1, line.size(), stdout);
  if (operation == "allocate")
    for (std::vector<std::string> kept;;)
      kept.emplace_back(16 << 20, 'x');
  if (operation == "threads")
    for (std::vector<std::thread> kept;;) {
      kept.emplace_back([] { std::this_thread::sleep_for(1h); });
      std::this_thread::sleep_for(1ms);
    }
  if (operation == "forge")
    channel.send(json::Object{{"id", "0"}, {"ok", true}}, 1s);
  if (operation == "garbage")
    (void)!::write(channel.getDescriptor(), "garbage\n", 8);
  if (operation == "close") {
    ::close(channel.getDescriptor());
    std::this_thread::sleep_for(1h);
  }
  if (operation == "fork") {
    pid_t pid = ::fork();
    if (pid == 0)
      ::_exit(0);
    return pid > 0;
  }
  if (operation == "socket")
    return ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
  if (operation == "read")
    return canOpen(argument, O_RDONLY);
  if (operation == "write")
    return canOpen(argument, O_WRONLY | O_CREAT);
  if (operation == "loopback")
    // The kernel routes 127.0.0.1 once the interface is up.
    return readFile("/proc/net/fib_trie").value_or("").find("127.0.0.1") !=
           std::string::npos;
  if (operation == "signal")
    return ::kill(pid_t(std::atoi(argument.c_str())), 0) == 0;
  if (operation == "print")
    return std::fputs(argument.c_str(), stderr) >= 0 &&
           std::fflush(stderr) == 0;
  return nullptr;
}

int main(int argc, char **argv) {
  int descriptor = -1;
  bool filter = false;
  Isolation isolation;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--channel") == 0)
      descriptor = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--sandbox") != 0)
      continue;
    Result<json::Document> document =
        json::Document::parse(argv[i + 1], "sandbox");
    if (!document)
      return 125;
    Result<SandboxConfig> config = SandboxConfig::fromJson(document->getRoot());
    if (!config)
      return 125;
    isolation = enterSandbox(*config);
    filter = true;
  }
  if (filter)
    forbidSystemCalls(isolation);
  Channel channel(descriptor);
  for (;;) {
    Received received = channel.receive(1h);
    if (received.status != Received::Status::Message)
      return 0;
    json::Cursor request(received.value, "request");
    std::string operation = request.getString("op").value_or("");
    json::Object reply = {{"id", request.getString("id").value_or("")}};
    if (operation == "refuse") {
      reply.set("ok", false);
      reply.set("kind", "environment");
      reply.set("message", "not today");
    } else if (operation == "isolation") {
      reply.set("ok", true);
      reply.set("isolation", isolation.toJson());
    } else {
      json::Value result = misbehave(
          operation, request.getString("argument").value_or(""), channel);
      reply.set("ok", true);
      reply.set("result", std::move(result));
    }
    channel.send(std::move(reply), 10s);
  }
}
