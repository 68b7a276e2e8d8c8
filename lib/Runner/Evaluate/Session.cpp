// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts processes and translates how they end.

#include "Evaluate/Session.h"

#include "d2k/Support/Files.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

using namespace d2k;
using namespace d2k::runner;
using namespace std::chrono_literals;

extern char **environ;

tl::unexpected<Trouble> runner::failSubmission(Verdict verdict,
                                               std::string reason) {
  Trouble trouble;
  trouble.kind = Trouble::Kind::Verdict;
  trouble.verdict = verdict;
  trouble.reason = std::move(reason);
  return tl::unexpected<Trouble>(std::move(trouble));
}

tl::unexpected<Trouble> runner::failHarness(Failure failure) {
  Trouble trouble;
  trouble.failure = std::move(failure);
  return tl::unexpected<Trouble>(std::move(trouble));
}

//===----------------------------------------------------------------------===//
// Environment and walls
//===----------------------------------------------------------------------===//

/// What a worker gets of our environment: nothing that a submission could
/// carry away.
static bool isPassedOn(std::string_view name) {
  for (std::string_view prefix :
       {"CUDA_", "NVIDIA_", "NCCL_", "D2K_CUDA_", "D2K_CUPTI", "D2K_NVML",
        "D2K_FAKE_", "ASAN_", "UBSAN_", "LSAN_", "LC_"})
    if (name.substr(0, prefix.size()) == prefix)
      return true;
  return name == "PATH" || name == "LANG";
}

static std::vector<std::pair<std::string, std::optional<std::string>>>
makeWorkerEnvironment() {
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    std::string name(text.substr(0, text.find('=')));
    if (!isPassedOn(name))
      changes.emplace_back(name, std::nullopt);
  }
  changes.emplace_back("HOME", "/tmp");
  changes.emplace_back("TMPDIR", "/tmp");
  return changes;
}

static std::vector<std::string> splitPaths(const char *list) {
  std::vector<std::string> paths;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0 && rest.front() == '/')
      paths.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return paths;
}

static std::string getLibraryPath(const std::string &libraryFolder) {
  const char *inherited = std::getenv("LD_LIBRARY_PATH");
  std::string path = libraryFolder;
  if (inherited && *inherited)
    path += (path.empty() ? "" : ":") + std::string(inherited);
  return path;
}

/// Buffers that are copied go through one file.
static constexpr uint64_t kMostCopiedBytes = uint64_t(512) << 30;

SandboxConfig Session::makeSandbox(Side side) const {
  SandboxConfig sandbox;
  sandbox.readOnly = splitPaths(getLibraryPath(libraryFolder).c_str());
  sandbox.readOnly.push_back(libraries[size_t(side)].path);
  for (const char *variable : {"D2K_CUDA_DRIVER", "D2K_CUPTI", "D2K_NVML"})
    if (const char *path = std::getenv(variable); path && *path == '/')
      sandbox.readOnly.emplace_back(path);
  sandbox.writable = splitPaths(std::getenv("D2K_DEVICE_PATHS"));
  sandbox.writable.push_back(writableFolder);
  if (copies)
    sandbox.maxFileBytes = kMostCopiedBytes;
  for (const char *folder : {"tasks", "rubrics", "guidance"})
    sandbox.hidden.push_back(joinPath(options.dataRoot, folder));
  return sandbox;
}

//===----------------------------------------------------------------------===//
// How a worker ended
//===----------------------------------------------------------------------===//

/// The last lines of what a process printed, for a message.
static std::string getTail(const std::string &output) {
  constexpr size_t kMost = 400;
  size_t start = output.size() > kMost ? output.size() - kMost : 0;
  std::string tail = output.substr(start);
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' '))
    tail.pop_back();
  return tail.empty() ? "" : "; it printed: " + tail;
}

Trouble Session::explainEnd(Side side, const std::string &doing) {
  Child &child = *workers[size_t(side)];
  ChildEnd end = child.getEnd();
  std::string text = "the process " + end.text + " during " + doing;
  Trouble trouble;
  bool isKilled = end.cause == EndCause::Signalled && end.code == SIGKILL;
  if (isKilled || side == Side::Baseline) {
    trouble.kind = isKilled ? Trouble::Kind::Lost : Trouble::Kind::Harness;
    trouble.failure = {FailureKind::Environment,
                       std::string(getSideName(side)) + ": " + text +
                           getTail(child.getOutput())};
    // Should it happen again, it is the submission's own doing.
    trouble.verdict = Verdict::Crash;
    trouble.reason = text;
    return trouble;
  }
  trouble.kind = Trouble::Kind::Verdict;
  trouble.reason = text + getTail(child.getOutput());
  switch (end.cause) {
  case EndCause::TimedOut:
    trouble.verdict = Verdict::Timeout;
    break;
  case EndCause::Protocol:
    trouble.verdict = Verdict::Exploit;
    break;
  case EndCause::Signalled:
    if (end.code == SIGSYS) {
      trouble.verdict = Verdict::Exploit;
      trouble.reason = "the process made a system call that is forbidden (a "
                       "new process, the network, tracing, or a kernel "
                       "interface) during " +
                       doing;
      break;
    }
    trouble.verdict = Verdict::Crash;
    break;
  default:
    trouble.verdict = Verdict::Crash;
    break;
  }
  return trouble;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

void Session::note(std::string_view process, std::string_view operation,
                   double seconds) {
  RequestTime &time =
      requests[std::string(process) + "." + std::string(operation)];
  ++time.count;
  time.seconds += seconds;
}

Step<json::Value> Session::askOracle(std::string_view operation,
                                     json::Object arguments,
                                     std::chrono::milliseconds timeout) {
  Reply reply = oracle->request(operation, std::move(arguments), timeout);
  note("oracle", operation, reply.seconds);
  switch (reply.status) {
  case Reply::Status::Ok:
    return std::move(reply.value);
  case Reply::Status::Refused:
    return failHarness({reply.kind, "oracle: " + reply.message});
  case Reply::Status::Gone:
    break;
  }
  ChildEnd end = oracle->getEnd();
  Trouble trouble;
  trouble.kind = end.cause == EndCause::Signalled && end.code == SIGKILL
                     ? Trouble::Kind::Lost
                     : Trouble::Kind::Harness;
  trouble.failure = {FailureKind::Environment,
                     "oracle: the process " + end.text + " during " +
                         std::string(operation) + getTail(oracle->getOutput())};
  return tl::unexpected<Trouble>(std::move(trouble));
}

std::optional<Trouble> Session::findLostOracle() {
  if (!oracle)
    return std::nullopt;
  Step<json::Value> answer = askOracle("ping", {}, 60s);
  if (answer)
    return std::nullopt;
  return std::move(answer.error());
}

std::map<std::string, double> Session::askUsage() {
  std::map<std::string, double> usage;
  auto add = [&](std::string_view name, const Step<json::Value> &reply) {
    double seconds =
        reply
            ? json::Cursor(*reply, "usage").getNumber("gpu_seconds").value_or(0)
            : 0;
    // The submission can say what it likes; a day is as good as an hour.
    if (seconds > 0 && seconds < 86400)
      usage[std::string(name)] = seconds;
  };
  if (oracle && oracle->isRunning())
    add("oracle", askOracle("usage", {}, 10s));
  for (Side side : {Side::Baseline, Side::Submission})
    if (isRunning(side))
      add(getSideName(side),
          askWorker(side, "usage", {}, 10s, "the end of the evaluation"));
  return usage;
}

Step<json::Value> Session::askWorker(Side side, std::string_view operation,
                                     json::Object arguments,
                                     std::chrono::milliseconds timeout,
                                     const std::string &doing,
                                     double *seconds) {
  Reply reply =
      workers[size_t(side)]->request(operation, std::move(arguments), timeout);
  note(getSideName(side), operation, reply.seconds);
  if (seconds)
    *seconds = reply.seconds;
  switch (reply.status) {
  case Reply::Status::Ok:
    return std::move(reply.value);
  case Reply::Status::Refused:
    if (side == Side::Baseline)
      return failHarness({reply.kind, "baseline: " + reply.message});
    // Whatever the process says of its own failure is its word only.
    return failSubmission(reply.kind == FailureKind::Input
                              ? Verdict::Crash
                              : Verdict::InvalidMeasurement,
                          reply.message);
  case Reply::Status::Gone:
    break;
  }
  return tl::unexpected<Trouble>(explainEnd(side, doing));
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

static json::Array makeDeviceList(const std::vector<int> &devices) {
  json::Array list;
  for (int device : devices)
    list.emplace_back(int64_t(device));
  return list;
}

Step<void> Session::startOracle() {
  if (oracle && oracle->isRunning())
    return {};
  ChildConfig config;
  config.argv = {options.worker, "oracle"};
  config.environment.emplace_back("LD_LIBRARY_PATH",
                                  getLibraryPath(libraryFolder));
  // It makes inputs of any size on the device, and little on the host.
  config.maxMemoryBytes = uint64_t(64) << 30;
  Result<std::unique_ptr<Child>> started = Child::start(config);
  if (!started)
    return failHarness(std::move(started.error()));
  oracle = std::move(*started);
  Step<json::Value> reply =
      askOracle("hello", {{"devices", makeDeviceList(options.devices)}}, 120s);
  if (!reply)
    return forwardTrouble(std::move(reply));
  Result<json::Cursor> list = json::Cursor(*reply, "oracle").get("devices");
  if (!list || !list->getValue().getAsArray())
    return failHarness({FailureKind::Internal, "oracle: names no devices"});
  devices = *list->getValue().getAsArray();
  isAttached = false;
  return {};
}

Step<void> Session::attachOracle() {
  if (Step<void> started = startOracle(); !started || isAttached)
    return started;
  Step<json::Value> reply = askOracle("attach", {}, 120s);
  if (!reply)
    return forwardTrouble(std::move(reply));
  isAttached = true;
  probe = json::Cursor(*reply, "oracle").getString("probe").value_or("");
  copies |= probe.empty();
  return {};
}

std::vector<std::string>
Session::makeWorkerCommand(Side side, const std::string &tool) const {
  SandboxConfig inner = makeSandbox(side);
  if (tool.empty())
    return makeConfinedCommand(options.worker, "worker", inner);
  // The walls are around the sanitizer, whose child has nothing to put up.
  SandboxConfig outer = inner;
  outer.readOnly.push_back(options.worker);
  outer.readOnly.push_back(
      std::filesystem::path(options.sanitizer).parent_path().string());
  // A CUDA context reserves terabytes.
  outer.maxProgramBytes = uint64_t(1) << 62;
  inner.outsideNamespaces = getNamespaceIds();
  std::vector<std::string> command =
      makeConfinedCommand(options.worker, "exec", outer);
  for (const std::string &argument :
       {std::string("--"), options.sanitizer, std::string("--tool"), tool,
        options.worker, std::string("worker"), std::string("--sandbox"),
        json::dump(inner.toJson(), /*pretty=*/false)})
    command.push_back(argument);
  return command;
}

Step<std::string> Session::finishWorker(Side side) {
  Child &child = *workers[size_t(side)];
  Reply reply = child.request("close", {}, 60s);
  // A sanitizer prints its summary when the program has ended.
  for (int i = 0; i < 600 && child.isRunning(); ++i)
    std::this_thread::sleep_for(100ms);
  std::string output = child.getOutput();
  stopWorker(side);
  if (!reply.isOk())
    return failSubmission(Verdict::Crash,
                          "the process did not end" + getTail(output));
  return output;
}

Step<void> Session::startWorker(Side side, const std::string &sanitizerTool) {
  if (isRunning(side))
    return {};
  bool isTrusted = side == Side::Baseline;
  ChildConfig config;
  config.argv = makeWorkerCommand(side, sanitizerTool);
  config.environment = makeWorkerEnvironment();
  config.environment.emplace_back("LD_LIBRARY_PATH",
                                  getLibraryPath(libraryFolder));
  config.maxMemoryBytes = options.maxMemoryBytes;
  Result<std::unique_ptr<Child>> started = Child::start(config);
  if (!started)
    return failHarness(std::move(started.error()));
  std::unique_ptr<Child> &child = workers[size_t(side)];
  child = std::move(*started);

  // Until its library is loaded, the process is ours.
  Reply hello = child->request("hello",
                               {{"devices", makeDeviceList(options.devices)},
                                {"counters", options.profile && !isTrusted},
                                {"tracing", sanitizerTool.empty()}},
                               120s);
  note(getSideName(side), "hello", hello.seconds);
  if (!hello.isOk()) {
    ChildEnd end = child->getEnd();
    if (hello.status == Reply::Status::Refused)
      return failHarness({hello.kind, "worker: " + hello.message});
    Trouble trouble;
    trouble.kind = end.cause == EndCause::Signalled && end.code == SIGKILL
                       ? Trouble::Kind::Lost
                       : Trouble::Kind::Harness;
    trouble.failure = {FailureKind::Environment,
                       "worker: the process " + end.text + " while it started" +
                           getTail(child->getOutput())};
    return tl::unexpected<Trouble>(std::move(trouble));
  }
  tracingProblem = json::Cursor(hello.value, "worker")
                       .getString("tracing_problem")
                       .value_or("");
  if (Step<void> tried = tryIpc(*child); !tried)
    return tried;
  if (!isTrusted && sanitizerTool.empty()) {
    Step<void> confined = confine(*child);
    if (!confined)
      return confined;
  }
  const Library &library = libraries[size_t(side)];
  Step<json::Value> loaded = askWorker(
      side, "load", {{"library", library.path}, {"entry", library.entry}}, 60s,
      "loading");
  if (!loaded) {
    // An answer, and not the end of the process: there is no such function.
    if (loaded.error().kind == Trouble::Kind::Verdict && isRunning(side))
      loaded.error().verdict = Verdict::CompileError;
    return forwardTrouble(std::move(loaded));
  }
  return {};
}

/// Asked before a library is loaded, so that the answer can be believed.
Step<void> Session::tryIpc(Child &child) {
  if (copies)
    return {};
  Reply reply = child.request("try_ipc", {{"handle", probe}}, 60s);
  if (!reply.isOk()) {
    Trouble trouble;
    trouble.kind = Trouble::Kind::Lost;
    trouble.failure = {FailureKind::Environment,
                       "worker: the process " + child.getEnd().text +
                           " before anything was loaded"};
    return tl::unexpected<Trouble>(std::move(trouble));
  }
  copies =
      !json::Cursor(reply.value, "worker").getBoolean("works").value_or(false);
  return {};
}

/// The last wall, the filter of system calls, and the report on all of them.
Step<void> Session::confine(Child &child) {
  Reply reply = child.request("confine", {}, 60s);
  if (!reply.isOk())
    return failHarness(
        {FailureKind::Environment,
         "worker: cannot be confined: " + reply.message + child.getEnd().text});
  Result<json::Cursor> walls =
      json::Cursor(reply.value, "worker").get("isolation");
  Result<Isolation> report =
      walls ? Isolation::fromJson(*walls)
            : Result<Isolation>(tl::unexpected<Failure>(walls.error()));
  if (!report)
    return failHarness(std::move(report.error()));
  isolation = std::move(*report);
  if (!options.requireIsolation || isolation.isComplete())
    return {};
  std::string missing;
  for (const std::string &wall : isolation.missing)
    missing += (missing.empty() ? "" : "; ") + wall;
  return failHarness({FailureKind::Environment,
                      "the isolation that --require-isolation asks for cannot "
                      "be had here: " +
                          missing});
}

void Session::stopAll() {
  workers[0].reset();
  workers[1].reset();
  oracle.reset();
}
