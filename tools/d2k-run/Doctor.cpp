// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run doctor: what this machine has, what it lacks and what that costs;
// with --gpu, whether measurements here can be believed.

#include "Commands.h"

#include "d2k/Runner/Sandbox.h"
#include "d2k/Runner/SelfTest.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Support/Version.h"

#include <charconv>
#include <cstdio>

#include <unistd.h>

using namespace d2k;
using namespace d2k::run;

namespace {

struct Options {
  bool gpu = false;
  std::string jsonFile;
  unsigned pairs = 100;
};

/// One thing that may be there.
struct Finding {
  const char *name;
  /// A path or version; empty when it is not there.
  std::string found;
  /// What does not work without it.
  const char *cost;
};

} // namespace

static Result<Options> readOptions(const Arguments &arguments) {
  if (!arguments.getPositional().empty())
    return fail(FailureKind::Usage, "doctor takes no arguments, got '" +
                                        arguments.getPositional().front() +
                                        "'");
  Options options;
  options.gpu = arguments.has("gpu");
  options.jsonFile = arguments.get("json").value_or("");
  if (std::optional<std::string> text = arguments.get("pairs")) {
    const char *end = text->data() + text->size();
    auto [at, error] = std::from_chars(text->data(), end, options.pairs);
    if (error != std::errc() || at != end || options.pairs == 0 ||
        options.pairs > 100000)
      return fail(FailureKind::Usage,
                  "--pairs: expected a number from 1 to 100000, got '" + *text +
                      "'");
  }
  return options;
}

/// The program \p name beside this one, or empty.
static std::string findSibling(const std::string &name) {
  std::string path = getProgramPath();
  path = path.substr(0, path.rfind('/') + 1) + name;
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

static std::vector<Finding> lookAround() {
  auto cudaTool = [](CudaTool tool) {
    return findCudaTool(tool).value_or(std::string());
  };
  return {
      {"nvcc", cudaTool(CudaTool::Nvcc), "no submission can be compiled"},
      {"d2k-worker", findSibling("d2k-worker"),
       "nothing can be evaluated: configure again where cuda.h is"},
      {"d2k-analyze", findSibling("d2k-analyze"),
       "results have no implementation score"},
      {"cuobjdump", cudaTool(CudaTool::Cuobjdump),
       "machine code cannot be taken out of objects"},
      {"nvdisasm", cudaTool(CudaTool::Nvdisasm),
       "machine code cannot be analysed"},
      {"ncu", findProgram("ncu"), "times are not compared with ncu's"},
      {"compute-sanitizer", findProgram("compute-sanitizer"),
       "races and stray accesses cannot be looked for"},
  };
}

/// Which walls around submissions can be put up here, as a process that puts
/// them up around itself says.
static runner::Isolation probeIsolation() {
  runner::Isolation isolation;
  d2k::Command command;
  command.argv = runner::makeConfinedCommand(findSibling("d2k-worker"), "probe",
                                             runner::SandboxConfig());
  command.timeout = std::chrono::seconds(20);
  Result<CommandResult> ended = runCommand(command);
  if (!ended || !ended->succeeded()) {
    isolation.missing.push_back(ended ? ended->describeEnd() + ": " +
                                            ended->error.substr(0, 500)
                                      : ended.error().message);
    return isolation;
  }
  Result<json::Document> document =
      json::Document::parse(ended->output, "the probe's answer");
  if (document)
    if (Result<runner::Isolation> read =
            runner::Isolation::fromJson(document->getRoot()))
      return *read;
  isolation.missing.emplace_back("the probe's answer cannot be read");
  return isolation;
}

namespace {
/// What the CUDA driver says.
struct Driver {
  /// Why there is none; empty when there is.
  std::string problem;
  /// What it says about each device, as DeviceSet::describe does.
  json::Array devices;
};
} // namespace

/// Asks the driver in a process of its own, as every use of it is; no context
/// is made, so that whoever measures on a device is not disturbed.
static Driver askDriver() {
  Driver driver;
  d2k::Command command;
  command.argv = {findSibling("d2k-worker"), "devices"};
  command.timeout = std::chrono::seconds(60);
  if (command.argv.front().empty()) {
    driver.problem = "not asked, because d2k-worker is missing";
    return driver;
  }
  Result<CommandResult> ended = runCommand(command);
  if (!ended) {
    driver.problem = ended.error().message;
    return driver;
  }
  if (!ended->succeeded()) {
    driver.problem = ended->error.substr(0, 500);
    constexpr std::string_view kStart = "d2k-worker: error: ";
    if (driver.problem.compare(0, kStart.size(), kStart) == 0)
      driver.problem.erase(0, kStart.size());
    while (!driver.problem.empty() && driver.problem.back() == '\n')
      driver.problem.pop_back();
    if (driver.problem.empty())
      driver.problem = ended->describeEnd();
    return driver;
  }
  Result<json::Value> answer = json::parse(ended->output, "the worker's list");
  if (answer && answer->getAsArray())
    driver.devices = *answer->getAsArray();
  else
    driver.problem =
        answer ? "the worker's list is none" : answer.error().message;
  return driver;
}

/// "NVIDIA H200 (sm_90a), 139.7 GiB, 132 SMs, driver for CUDA 13.0"
static std::string describeDevice(const json::Value &device) {
  json::Cursor cursor(device, "device");
  auto number = [&](const char *name) {
    return cursor.getInteger(name).value_or(0);
  };
  char sizes[96];
  std::snprintf(sizes, sizeof(sizes),
                "%.1f GiB, %lld SMs, driver for CUDA %lld.%lld",
                double(number("memory_bytes")) / double(1 << 30),
                static_cast<long long>(number("multiprocessors")),
                static_cast<long long>(number("driver_version") / 1000),
                static_cast<long long>(number("driver_version") % 1000 / 10));
  return cursor.getString("name").value_or("unknown") + " (" +
         cursor.getString("arch").value_or("unknown") + "), " + sizes;
}

/// Prints the mark of \p answer and \p text.
static void printLine(std::optional<bool> answer, const std::string &text,
                      bool color) {
  std::string mark = !answer   ? paint("--", Style::Dim, color)
                     : *answer ? paint("ok", Style::Green, color)
                               : paint("no", Style::Red, color);
  std::printf("  %s  %s\n", mark.c_str(), sanitize(text).c_str());
}

static void printDriver(const Driver &driver, bool color) {
  if (!driver.problem.empty())
    printLine(std::nullopt,
              "GPU: " + driver.problem +
                  "; submissions can be compiled and analysed, not run",
              color);
  else if (driver.devices.empty())
    printLine(std::nullopt,
              "GPU: the driver names no device; submissions can be compiled "
              "and analysed, not run",
              color);
  for (size_t i = 0; i < driver.devices.size(); ++i)
    printLine(true,
              "GPU " + std::to_string(i) + ": " +
                  describeDevice(driver.devices[i]),
              color);
}

/// The document of --json, without the self-test.
static json::Object makeDocument(const std::vector<Finding> &findings,
                                 const runner::Isolation &isolation,
                                 const Driver &driver) {
  json::Array programs;
  for (const Finding &finding : findings)
    programs.emplace_back(json::Object{
        {"name", finding.name},
        {"path",
         finding.found.empty() ? json::Value() : json::Value(finding.found)},
        {"cost",
         finding.found.empty() ? json::Value(finding.cost) : json::Value()}});
  return json::Object{{"schema", "d2k.doctor/1"},
                      {"d2k_version", std::string(getVersion())},
                      {"programs", std::move(programs)},
                      {"isolation", isolation.toJson()},
                      {"devices", driver.devices},
                      {"devices_problem", driver.problem.empty()
                                              ? json::Value()
                                              : json::Value(driver.problem)}};
}

/// Writes \p document with what the self-test found, where that ran.
static Result<void> writeDocument(const Options &options, json::Object document,
                                  json::Value selfTest) {
  if (options.jsonFile.empty())
    return {};
  document.append("self_test", std::move(selfTest));
  return writeFile(options.jsonFile, json::dump(std::move(document)) + "\n");
}

static Result<int> testGpu(const Options &options, json::Object document,
                           bool color) {
  runner::SelfTestConfig config;
  config.worker = findSibling("d2k-worker");
  config.pairs = options.pairs;
  if (config.worker.empty())
    return fail(FailureKind::Environment,
                "d2k-worker is not beside this program; configure again where "
                "the CUDA toolkit is, and build");
  config.progress = [](const std::string &sentence) {
    std::fprintf(stderr, "d2k-run: %s ...\n", sentence.c_str());
  };
  Result<runner::SelfTestReport> report = runner::runGpuSelfTest(config);
  if (!report)
    return forwardFailure(std::move(report));
  std::printf("\nThe measurement:\n");
  for (const runner::SelfTestCheck &check : report->checks)
    printLine(check.passed,
              check.part + ": " + check.found +
                  (check.limit.empty() ? "" : " (" + check.limit + ")"),
              color);
  if (Result<void> written =
          writeDocument(options, std::move(document), runner::toJson(*report));
      !written)
    return forwardFailure(std::move(written));
  unsigned failed = report->countFailed();
  if (failed == 0) {
    std::printf("\nMeasurements on this machine can be believed.\n");
    return 0;
  }
  std::printf("\n%u checks failed.\n", failed);
  return getExitCode(FailureKind::Finding);
}

static Result<int> examine(const Arguments &arguments) {
  Result<Options> options = readOptions(arguments);
  if (!options)
    return forwardFailure(std::move(options));
  bool color = useColor(ColorMode::Auto, STDOUT_FILENO);
  std::printf("This machine:\n");
  std::vector<Finding> findings = lookAround();
  for (const Finding &finding : findings) {
    bool isThere = !finding.found.empty();
    printLine(isThere ? std::optional<bool>(true) : std::nullopt,
              std::string(finding.name) + ": " +
                  (isThere ? finding.found
                           : "not found; " + std::string(finding.cost)),
              color);
  }
  runner::Isolation isolation = probeIsolation();
  if (isolation.isComplete())
    printLine(true, "isolation of submissions: " + isolation.method, color);
  for (const std::string &wall : isolation.missing)
    printLine(std::nullopt,
              "isolation of submissions: " + wall +
                  "; eval --require-isolation refuses to run",
              color);
  Driver driver = askDriver();
  printDriver(driver, color);
  json::Object document = makeDocument(findings, isolation, driver);
  if (options->gpu)
    return testGpu(*options, std::move(document), color);
  if (Result<void> written =
          writeDocument(*options, std::move(document), nullptr);
      !written)
    return forwardFailure(std::move(written));
  std::printf("\nWith --gpu, kernels are run, and it is tested whether times "
              "on this GPU can be\nbelieved (about two minutes): bandwidth, "
              "clocks, repeats, counters.\n");
  return 0;
}

run::Command run::getDoctorCommand() {
  return {"doctor",
          "",
          "Says what is installed, what is missing and what that costs.",
          {{"gpu", "", "test the measurement on this machine's GPU"},
           {"json", "FILE",
            "write all that was found (docs/schemas/doctor.schema.json)"},
           {"pairs", "N", "comparisons of a program with itself (100)"}},
          examine};
}
