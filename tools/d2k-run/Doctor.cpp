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

/// Prints the mark of \p answer and \p text.
static void printLine(std::optional<bool> answer, const std::string &text,
                      bool color) {
  std::string mark = !answer   ? paint("--", Style::Dim, color)
                     : *answer ? paint("ok", Style::Green, color)
                               : paint("no", Style::Red, color);
  std::printf("  %s  %s\n", mark.c_str(), sanitize(text).c_str());
}

static Result<int> testGpu(const Options &options, bool color) {
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
  if (!options.jsonFile.empty())
    if (Result<void> written = writeFile(
            options.jsonFile, json::dump(runner::toJson(*report)) + "\n");
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
  for (const Finding &finding : lookAround()) {
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
  if (options->gpu)
    return testGpu(*options, color);
  std::printf("\nWith --gpu, the measurement itself is tested (about two "
              "minutes).\n");
  return 0;
}

run::Command run::getDoctorCommand() {
  return {"doctor",
          "",
          "Says what is installed, what is missing and what that costs.",
          {{"gpu", "", "test the measurement on this machine's GPU"},
           {"json", "FILE", "write what that test found"},
           {"pairs", "N", "comparisons of a program with itself (100)"}},
          examine};
}
