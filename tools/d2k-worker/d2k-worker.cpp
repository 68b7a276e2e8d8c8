// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes that d2k-run starts: the oracle, workers, and compilers behind
// walls. Not a program for users.
//
//   d2k-worker oracle --channel N
//   d2k-worker worker --sandbox JSON --channel N
//   d2k-worker probe --sandbox JSON          prints which walls stand
//   d2k-worker exec --sandbox JSON -- PROGRAM ARGUMENT...
//   d2k-worker devices                       prints what the driver sees
//   d2k-worker selftest PART [N]             prints the figures of a part

#include "Cuda/SelfTest.h"
#include "Server/DeviceSet.h"
#include "Server/Server.h"

#include "d2k/Runner/Sandbox.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

using namespace d2k;
using namespace d2k::runner;

static int complain(const std::string &message, FailureKind kind) {
  std::fprintf(stderr, "d2k-worker: error: %s\n", message.c_str());
  return getExitCode(kind);
}

static Result<SandboxConfig> parseSandbox(const char *text) {
  Result<json::Document> document = json::Document::parse(text, "--sandbox");
  if (!document)
    return forwardFailure(std::move(document));
  return SandboxConfig::fromJson(document->getRoot());
}

static int testItself(const std::vector<std::string> &arguments) {
  Result<json::Value> figures = runSelfTest(arguments);
  if (!figures)
    return complain(figures.error().message, figures.error().kind);
  std::puts(json::dump(*figures).c_str());
  return 0;
}

static int listDevices() {
  Result<const CudaDriver *> driver = CudaDriver::load();
  if (!driver)
    return complain(driver.error().message, driver.error().kind);
  Result<json::Array> devices = DeviceSet(**driver).describeAll();
  if (!devices)
    return complain(devices.error().message, devices.error().kind);
  std::puts(json::dump(std::move(*devices)).c_str());
  return 0;
}

int main(int argc, char **argv) {
  std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "selftest")
    return testItself({argv + 2, argv + argc});
  if (mode == "devices" && argc == 2)
    return listDevices();
  const char *sandbox = nullptr;
  int channelNumber = -1;
  char **program = nullptr;
  for (int i = 2; i < argc && !program; ++i) {
    std::string_view option = argv[i];
    if (option == "--sandbox" && i + 1 < argc) {
      sandbox = argv[++i];
    } else if (option == "--channel" && i + 1 < argc) {
      std::string_view number = argv[++i];
      std::from_chars(number.data(), number.data() + number.size(),
                      channelNumber);
    } else if (option == "--" && i + 1 < argc) {
      program = argv + i + 1;
    } else {
      return complain("unknown argument " + std::string(option) +
                          "; this program is started by d2k-run",
                      FailureKind::Usage);
    }
  }
  bool needsChannel = mode == "oracle" || mode == "worker";
  bool needsSandbox = mode == "worker" || mode == "probe" || mode == "exec";
  if ((!needsChannel && !needsSandbox) || (needsChannel && channelNumber < 0) ||
      (needsSandbox && !sandbox) || (mode == "exec") != (program != nullptr))
    return complain("expected oracle, worker, probe, exec, devices or selftest "
                    "with their options; this program is started by d2k-run",
                    FailureKind::Usage);

  dieWithParent();
  Isolation isolation;
  if (needsSandbox) {
    Result<SandboxConfig> config = parseSandbox(sandbox);
    if (!config)
      return complain(config.error().message, config.error().kind);
    isolation = enterSandbox(*config);
    if (mode == "exec") {
      executeInSandbox(*config, program);
      return complain(std::string(program[0]) +
                          ": cannot be executed: " + std::strerror(errno),
                      FailureKind::Environment);
    }
  }
  if (mode == "probe") {
    forbidSystemCalls(isolation);
    std::puts(json::dump(isolation.toJson()).c_str());
    return 0;
  }
  Channel channel(channelNumber);
  if (mode == "worker")
    return serveWorker(channel, isolation);
  forbidInspection();
  return serveOracle(channel);
}
