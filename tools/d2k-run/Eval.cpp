// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run eval: compile, validate, time and score a submission.

#include "Commands.h"
#include "EvaluateArguments.h"

#include "d2k/Runner/Profile.h"
#include "d2k/Support/Architecture.h"
#include "d2k/Support/CudaTools.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"
#include "d2k/Support/Terminal.h"

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

/// In PATH, or beside nvcc.
static Result<std::string> findSanitizer() {
  if (const char *named = std::getenv("D2K_COMPUTE_SANITIZER"); named && *named)
    return std::string(named);
  if (std::string path = findProgram("compute-sanitizer"); !path.empty())
    return path;
  if (Result<std::string> nvcc = findCudaTool(CudaTool::Nvcc)) {
    std::filesystem::path beside =
        std::filesystem::path(*nvcc).parent_path() / "compute-sanitizer";
    if (isRegularFile(beside.string()))
      return beside.string();
  }
  return fail(FailureKind::Environment,
              "--sanitize: compute-sanitizer not found; it comes with the CUDA "
              "toolkit");
}

static Result<EvaluateOptions> makeOptions(const Arguments &arguments) {
  if (arguments.getPositional().size() != 2)
    return fail(FailureKind::Usage,
                "expected a task and a submission; see d2k-run eval --help");
  Result<EvaluateOptions> options =
      readEvaluateOptions(arguments, arguments.getPositional()[0]);
  if (!options)
    return options;
  options->submission = arguments.getPositional()[1];
  options->workloads = arguments.getAll("workload");
  options->heldOut = arguments.has("held-out");
  options->profile = arguments.has("profile");
  options->onlyCompile = arguments.has("compile-only");
  if (options->onlyCompile)
    for (const char *other : {"json", "profile", "sanitize"})
      if (arguments.has(other))
        return fail(FailureKind::Usage, std::string("--compile-only runs ") +
                                            "nothing; leave --" + other +
                                            " out");
  if (std::optional<std::string> arch = arguments.get("arch")) {
    if (!options->onlyCompile)
      return fail(FailureKind::Usage,
                  "--arch goes with --compile-only: what is run is compiled "
                  "for the device");
    if (!isArchitecture(*arch))
      return fail(FailureKind::Usage, describeWrongArchitecture(*arch));
    options->arch = *arch;
  }
  if (arguments.has("sanitize")) {
    Result<std::string> found = findSanitizer();
    if (!found)
      return forwardFailure(std::move(found));
    options->sanitizer = *found;
  }
  if (arguments.has("no-score"))
    options->analyzer.clear();
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

/// Says what --compile-only found.
static int reportCompilation(const EvaluateOptions &options,
                             const Evaluation &evaluation) {
  std::string name = sanitize(options.submission);
  std::string reason = sanitizeLines(evaluation.reason);
  while (!reason.empty() && reason.back() == '\n')
    reason.pop_back();
  std::string arch = evaluation.getDeviceText("arch");
  if (evaluation.verdict == Verdict::Correct)
    std::printf("%s compiles for %s in %.1f s; nothing was run\n", name.c_str(),
                arch.c_str(), evaluation.compileSeconds);
  else
    std::printf("%s %s:\n%s\n", name.c_str(),
                evaluation.verdict == Verdict::CompileError
                    ? ("does not compile for " + arch).c_str()
                    : "breaks the rules (docs/SubmissionRules.md)",
                reason.c_str());
  std::vector<std::string> notes = evaluation.notes;
  if (std::string hint = getArchitectureHint(evaluation.reason, arch);
      !hint.empty())
    notes.push_back(hint);
  for (const std::string &note : notes)
    std::printf("note: %s\n", sanitizeLines(note).c_str());
  return getEvalExitCode(evaluation.verdict);
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
  if (options->onlyCompile)
    return reportCompilation(*options, *evaluation);
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
    if (!json && ::isatty(STDOUT_FILENO))
      std::printf("%s\n",
                  paint("--json FILE keeps every figure, --profile FILE "
                        "counters for d2k-analyze",
                        Style::Dim, color)
                      .c_str());
  }
  return getEvalExitCode(evaluation->verdict);
}

run::Command d2k::run::getEvalCommand() {
  return {
      "eval", "TASK SUBMISSION",
      "Compiles, validates and times a submission: a .cu file or a folder.",
      addEvaluateOptions(
          {{"workload", "ID", "only this one; may be given several times"},
           {"held-out", "", "also the held-out workloads"},
           {"json", "FILE",
            "write the result (docs/schemas/result.schema.json)"},
           {"profile", "FILE",
            "measure counters; write what ran, for d2k-analyze"},
           {"sanitize", "", "also a call under compute-sanitizer"},
           {"compile-only", "",
            "compile it, the reference and the baseline (which are kept), and "
            "stop; needs no GPU"},
           {"arch", "sm_90a",
            "with --compile-only: compile for it (default: the device's, else "
            "sm_100a)"},
           {"no-score", "", "do not call d2k-analyze"},
           {"quiet", "", "no progress"}}),
      runEval};
}
