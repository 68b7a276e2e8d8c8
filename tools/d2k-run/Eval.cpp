// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run eval: compile, validate, time and score a submission.

#include "Commands.h"

#include "d2k/Runner/Evaluate.h"
#include "d2k/Runner/Profile.h"
#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::runner;

namespace {

/// What is being done, on one line of the terminal that is written over; on
/// anything else a line each.
class Progress {
public:
  explicit Progress(bool isQuiet)
      : isQuiet(isQuiet), isTerminal(::isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }

  void show(const std::string &doing) {
    if (isQuiet)
      return;
    if (!isTerminal) {
      std::fprintf(stderr, "d2k-run: %s\n", sanitize(doing).c_str());
      return;
    }
    std::fprintf(stderr, "\r\x1b[K%s", sanitize(doing).c_str());
    isShown = true;
  }
  void clear() {
    if (isShown)
      std::fputs("\r\x1b[K", stderr);
    isShown = false;
  }

private:
  bool isQuiet, isTerminal, isShown = false;
};

} // namespace

static Result<std::vector<int>> parseDevices(const std::string &list) {
  std::vector<int> devices;
  const char *at = list.data();
  const char *end = at + list.size();
  while (at < end) {
    int device = 0;
    auto [next, error] = std::from_chars(at, end, device);
    if (error != std::errc() || device < 0 || (next != end && *next != ','))
      break;
    devices.push_back(device);
    at = next == end ? end : next + 1;
  }
  if (at != end || devices.empty() || list.back() == ',')
    return fail(FailureKind::Usage,
                "--devices: expected numbers like 0,1, got \"" + list + "\"");
  return devices;
}

/// The program \p name beside this one, or empty.
static std::string findBeside(const std::string &name) {
  std::string path =
      (std::filesystem::path(getProgramPath()).parent_path() / name).string();
  return isRegularFile(path) ? path : "";
}

static Result<EvaluateOptions> makeOptions(const Arguments &arguments) {
  if (arguments.getPositional().size() != 2)
    return fail(FailureKind::Usage,
                "expected a task and a submission; see d2k-run eval --help");
  EvaluateOptions options;
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  options.dataRoot = *root;
  Result<std::string> folder =
      findTaskFolder(*root, arguments.getPositional()[0]);
  if (!folder)
    return forwardFailure(std::move(folder));
  options.taskFolder = *folder;
  options.submission = arguments.getPositional()[1];
  options.workloads = arguments.getAll("workload");
  options.heldOut = arguments.has("held-out");
  options.requireIsolation = arguments.has("require-isolation");
  options.profile = arguments.has("profile");
  if (std::optional<std::string> list = arguments.get("devices")) {
    Result<std::vector<int>> devices = parseDevices(*list);
    if (!devices)
      return forwardFailure(std::move(devices));
    options.devices = *devices;
  }
  Result<std::optional<double>> seconds = arguments.getNumber("gpu-seconds", 0);
  Result<std::optional<double>> tolerance =
      arguments.getNumber("clock-tolerance", 0);
  Result<std::optional<double>> timeout =
      arguments.getNumber("call-timeout", 0);
  Result<std::optional<double>> memory = arguments.getNumber("host-memory", 0);
  for (Result<std::optional<double>> *number :
       {&seconds, &tolerance, &timeout, &memory})
    if (!*number)
      return forwardFailure(std::move(*number));
  options.gpuSeconds = seconds->value_or(options.gpuSeconds);
  if (*tolerance)
    options.clockTolerance = **tolerance / 100;
  if (*timeout)
    options.callTimeout = std::chrono::milliseconds(int64_t(1000 * **timeout));

  if (*memory)
    options.maxMemoryBytes = uint64_t(**memory * double(1 << 30));
  options.worker = findBeside("d2k-worker");
  if (options.worker.empty())
    return fail(FailureKind::Environment,
                "d2k-worker is not beside this program; build it (it needs the "
                "CUDA toolkit's headers)");
  if (!arguments.has("no-score"))
    options.analyzer = findBeside("d2k-analyze");
  return options;
}

static Result<void> writeProfile(const std::string &path,
                                 const std::string &moduleFolder,
                                 const Evaluation &evaluation) {
  std::vector<std::pair<std::string, json::Value>> workloads;
  for (const WorkloadResult &workload : evaluation.workloads)
    if (!workload.profile.isNull())
      workloads.emplace_back(workload.id, workload.profile);
  Result<json::Value> profile = makeProfile(
      {evaluation.task, evaluation.submissionSha256,
       evaluation.getDeviceText("name"), evaluation.getDeviceText("arch")},
      workloads, moduleFolder);
  if (!profile)
    return forwardFailure(std::move(profile));
  return writeFile(path, json::dump(*profile) + "\n");
}

static int getEvalExitCode(Verdict verdict) {
  switch (verdict) {
  case Verdict::Correct:
    return 0;
  case Verdict::CompileError:
    return getExitCode(FailureKind::Input);
  default:
    return getExitCode(FailureKind::Finding);
  }
}

/// The folder for the modules beside the profile \p path.
static Result<std::string> makeEvidenceFolder(const std::string &path) {
  std::error_code error;
  std::filesystem::path folder =
      std::filesystem::absolute(path + ".modules", error);
  if (!error)
    std::filesystem::create_directories(folder, error);
  if (error)
    return fail(FailureKind::Environment,
                folder.string() + ": cannot be made: " + error.message());
  return folder.string();
}

static Result<int> runEval(const Arguments &arguments) {
  Result<EvaluateOptions> options = makeOptions(arguments);
  if (!options)
    return forwardFailure(std::move(options));
  Progress progress(arguments.has("quiet"));
  options->progress = [&](const std::string &doing) { progress.show(doing); };
  std::optional<std::string> profile = arguments.get("profile");
  if (profile) {
    Result<std::string> folder = makeEvidenceFolder(*profile);
    if (!folder)
      return forwardFailure(std::move(folder));
    options->evidenceFolder = *folder;
  }
  Result<Evaluation> evaluation = evaluate(*options);
  progress.clear();
  if (!evaluation)
    return forwardFailure(std::move(evaluation));
  std::optional<std::string> json = arguments.get("json");
  if (json)
    if (Result<void> done =
            writeFile(*json, json::dump(toJson(*evaluation)) + "\n");
        !done)
      return forwardFailure(std::move(done));
  if (profile)
    if (Result<void> done =
            writeProfile(*profile, options->evidenceFolder, *evaluation);
        !done)
      return forwardFailure(std::move(done));
  if (json != "/dev/stdout") {
    bool color = useColor(ColorMode::Auto, STDOUT_FILENO);
    std::fputs(renderText(*evaluation, color).c_str(), stdout);
  }
  return getEvalExitCode(evaluation->verdict);
}

Command d2k::run::getEvalCommand() {
  return {
      "eval",
      "TASK SUBMISSION",
      "compile, validate and time a submission; SUBMISSION is a .cu file or a "
      "folder",
      {{"workload", "ID", "only this one; may be given several times"},
       {"held-out", "", "also the held-out workloads"},
       {"devices", "0,1", "the devices, one a rank (default 0)"},
       {"json", "FILE", "write the result (docs/schemas/result.schema.json)"},
       {"profile", "FILE", "measure counters; write what ran, for d2k-analyze"},
       {"require-isolation", "", "refuse to run where a wall is missing"},
       {"no-score", "", "do not call d2k-analyze"},
       {"host-memory", "GIB", "host memory of the submission (default 16)"},
       {"gpu-seconds", "N", "GPU time for each workload (default 20)"},
       {"call-timeout", "SECONDS", "a longer call hangs (default 10)"},
       {"clock-tolerance", "PERCENT",
        "how far the parent's clock may be off (default 5)"},
       {"quiet", "", "no progress"}},
      runEval};
}
