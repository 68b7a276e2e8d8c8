// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of an evaluation: read, check, compile, then workload by workload.

#include "d2k/Runner/Evaluate.h"

#include "Evaluate/Score.h"
#include "Evaluate/Session.h"
#include "Evaluate/WorkloadRun.h"
#include "TaskHeaders.h"

#include "d2k/Runner/CompileSubmission.h"
#include "d2k/Support/Architecture.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Version.h"
#include "d2k/Task/EntryHeader.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <future>
#include <map>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace d2k;
using namespace d2k::runner;

/// How often something is tried when a process is killed by somebody else.
static constexpr unsigned kMostLosses = 3;

namespace {

/// One evaluation at a time on a device: times of two at once would be worth
/// nothing.
class DeviceLock {
public:
  ~DeviceLock() {
    if (fd >= 0)
      ::close(fd);
  }

  /// Waits for the device \p uuid; \p waiting is called when that takes time.
  /// An ordinal would not do: CUDA_VISIBLE_DEVICES gives them anew.
  Result<void> take(const std::string &uuid,
                    const std::function<void()> &waiting) {
    std::string folder = getCacheFolder();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    std::string path = joinPath(folder, "device-" + uuid + ".lock");
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
      return fail(FailureKind::Environment,
                  path + ": cannot be made; set D2K_CACHE to a folder that can "
                         "be written");
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0)
      return {};
    waiting();
    while (::flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    return {};
  }

private:
  int fd = -1;
};

class Evaluator {
public:
  explicit Evaluator(const EvaluateOptions &options) : options(options) {}

  Result<Evaluation> run();

private:
  Result<void> readInputs();
  Result<void> chooseWorkloads();
  Result<void> makeFolders();
  /// False when there is a verdict already.
  bool checkCode();
  Result<bool> compileSubmission();
  Result<void> compileOurs();
  Result<void> startProcesses();
  /// The oracle, which knows the devices.
  Result<void> findDevices();
  /// Waits until no other evaluation uses them, and makes the contexts.
  Result<void> takeDevices();
  /// Does \p step of the oracle, again when the oracle is lost.
  Result<void> insist(Step<void> (Session::*step)());
  Result<void> runWorkloads();
  /// Workload \p workload, again when a process was lost.
  Result<WorkloadResult> runWorkload(const task::Workload &workload);
  void describeEnvironment();
  void report(const std::string &doing) const {
    if (options.progress)
      options.progress(doing);
  }
  std::string inWork(const std::string &name) const {
    return joinPath(work->getPath(), name);
  }

  const EvaluateOptions &options;
  std::string taskPath;
  task::Task task;
  Submission submission;
  std::vector<const task::Workload *> workloads;
  // A deque does not move what it holds.
  std::deque<DeviceLock> locks;
  std::optional<TemporaryDirectory> work;
  std::optional<Compiler> compiler;
  std::unique_ptr<Session> session;
  std::string reference, baseline, baselineIdentity, buffersText;
  Evaluation evaluation;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

} // namespace

Result<void> Evaluator::readInputs() {
  taskPath = joinPath(options.taskFolder, "task.json");
  Result<task::Task> loaded = task::Task::load(taskPath);
  if (!loaded)
    return forwardFailure(std::move(loaded));
  task = std::move(*loaded);
  Result<Submission> read = Submission::read(options.submission);
  if (!read)
    return forwardFailure(std::move(read));
  submission = std::move(*read);
  evaluation.task = task.name;
  evaluation.submissionSha256 = submission.sha256;
  evaluation.world = unsigned(options.devices.size());
  return chooseWorkloads();
}

Result<void> Evaluator::chooseWorkloads() {
  const task::Axis *world = task.findMachineAxis();
  int64_t ranks = int64_t(options.devices.size());
  if (!world && ranks != 1)
    return fail(FailureKind::Usage, task.name + " runs on one device, not on " +
                                        std::to_string(ranks));
  if (world && !options.onlyCompile &&
      std::find(world->values.begin(), world->values.end(), ranks) ==
          world->values.end())
    return fail(FailureKind::Usage, task.name + " does not run on " +
                                        std::to_string(ranks) + " device" +
                                        (ranks == 1 ? "" : "s") +
                                        "; give as many as its axis " +
                                        world->name + " allows: --devices 0,1");
  for (const std::string &id : options.workloads) {
    const task::Workload *found = task.findWorkload(id);
    if (!found) {
      std::string known;
      for (const task::Workload &workload : task.workloads)
        known += (known.empty() ? "" : ", ") + workload.id;
      return fail(FailureKind::Usage,
                  task.name + " has no workload " + id + "; it has " + known);
    }
    workloads.push_back(found);
  }
  if (options.workloads.empty())
    for (const task::Workload &workload : task.workloads)
      workloads.push_back(&workload);
  if (options.heldOut)
    for (const task::Workload &workload : task.heldOut)
      workloads.push_back(&workload);
  return {};
}

Result<void> Evaluator::makeFolders() {
  Result<TemporaryDirectory> made = TemporaryDirectory::create();
  if (!made)
    return forwardFailure(std::move(made));
  work.emplace(std::move(*made));
  auto makeFolder = [](const std::filesystem::path &path) -> Result<void> {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
      return fail(FailureKind::Environment,
                  path.string() + ": cannot be made: " + error.message());
    return {};
  };
  Result<void> done = makeFolder(inWork("scratch"));
  for (const embedded::TaskHeader &header : embedded::getTaskHeaders()) {
    std::filesystem::path path = inWork("harness/" + std::string(header.path));
    if (done)
      done = makeFolder(path.parent_path());
    if (done)
      done = writeFile(path.string(), header.text);
  }
  if (!done)
    return done;
  return layOutSubmission(submission, task, work->getPath());
}

bool Evaluator::checkCode() {
  report("checking the source");
  CompiledSubmission checked = checkSubmission(submission, task);
  evaluation.verdict = checked.verdict;
  evaluation.reason = std::move(checked.reason);
  return evaluation.verdict == Verdict::Correct;
}

Result<bool> Evaluator::compileSubmission() {
  report("compiling");
  Result<CompiledSubmission> compiled = runner::compileSubmission(
      *compiler, submission, task, work->getPath(), options.dataRoot,
      evaluation.getDeviceText("arch"));
  if (!compiled)
    return forwardFailure(std::move(compiled));
  evaluation.compileSeconds = compiled->seconds;
  evaluation.verdict = compiled->verdict;
  evaluation.reason = std::move(compiled->reason);
  session->setLibrary(Side::Submission,
                      {compiled->library, task::getEntryName(task)});
  return evaluation.verdict == Verdict::Correct;
}

Result<void> Evaluator::compileOurs() {
  std::string cache = joinPath(getCacheFolder(), "libraries");
  auto compile = [&](const char *name, std::vector<std::string> libraries) {
    CompileRequest request;
    request.sources = {joinPath(options.taskFolder, name)};
    request.includeFolders = {inWork("include"), inWork("harness")};
    request.libraries = std::move(libraries);
    request.arch = evaluation.getDeviceText("arch");
    return compiler->compileCached(std::move(request), cache);
  };
  std::future<Result<std::string>> first = std::async(
      std::launch::async, [&] { return compile("reference.cu", {}); });
  Result<std::string> second = compile("baseline.cu", task.baselineLibraries);
  Result<std::string> made = first.get();
  if (!made)
    return forwardFailure(std::move(made));
  if (!second)
    return forwardFailure(std::move(second));
  reference = *made;
  baseline = *second;
  session->setLibrary(Side::Baseline, {baseline, task::getEntryName(task)});
  return {};
}

/// The failure of a step that is not about the submission.
static Failure getFailure(const Trouble &trouble) {
  return trouble.kind == Trouble::Kind::Verdict
             ? Failure{FailureKind::Internal, trouble.reason}
             : trouble.failure;
}

Result<void> Evaluator::startProcesses() {
  Result<Compiler> nvcc = Compiler::create(options.worker);
  if (!nvcc)
    return forwardFailure(std::move(nvcc));
  compiler = std::move(*nvcc);
  session = std::make_unique<Session>(options, compiler->getLibraryFolder(),
                                      options.evidenceFolder.empty()
                                          ? inWork("scratch")
                                          : options.evidenceFolder);
  report("starting");
  if (options.onlyCompile && !options.arch.empty()) {
    evaluation.device = json::Object{{"arch", options.arch}};
    return {};
  }
  Result<void> found = findDevices();
  if (!found && !options.onlyCompile &&
      found.error().kind == FailureKind::Environment)
    return fail(FailureKind::Environment,
                found.error().message +
                    "; d2k-run eval --compile-only needs no GPU");
  if (found && !options.onlyCompile)
    return takeDevices();
  if (found || !options.onlyCompile)
    return found;
  std::string arch(kDefaultArchitecture);
  evaluation.device = json::Object{{"arch", arch}};
  evaluation.notes.push_back("no GPU was found (d2k-run doctor says why): "
                             "compiled for the default, " +
                             arch + "; --arch chooses another one");
  return {};
}

Result<void> Evaluator::insist(Step<void> (Session::*step)()) {
  Step<void> done = (session.get()->*step)();
  for (unsigned attempt = 1; !done && attempt < kMostLosses &&
                             done.error().kind == Trouble::Kind::Lost;
       ++attempt)
    done = (session.get()->*step)();
  if (!done)
    return tl::unexpected<Failure>(getFailure(done.error()));
  return {};
}

Result<void> Evaluator::findDevices() {
  if (Result<void> done = insist(&Session::startOracle); !done)
    return done;
  evaluation.device = session->getDevices().front();
  return {};
}

Result<void> Evaluator::takeDevices() {
  // In the order of the UUIDs, or two evaluations that name the same devices
  // in another order would wait for each other.
  std::map<std::string, int> ordinals;
  for (size_t i = 0; i < session->getDevices().size(); ++i) {
    Result<std::string> uuid =
        json::Cursor(session->getDevices()[i], "oracle").getString("uuid");
    if (!uuid)
      return forwardFailure(std::move(uuid));
    ordinals.emplace(*uuid, options.devices[i]);
  }
  for (const auto &[uuid, ordinal] : ordinals) {
    locks.emplace_back();
    if (Result<void> done = locks.back().take(uuid,
                                              [&, ordinal = ordinal] {
                                                report("waiting for device " +
                                                       std::to_string(ordinal));
                                              });
        !done)
      return done;
  }
  return insist(&Session::attachOracle);
}

Result<WorkloadResult> Evaluator::runWorkload(const task::Workload &workload) {
  for (unsigned attempt = 1;; ++attempt) {
    WorkloadRun run(*session, options, task, taskPath, reference, workload);
    Step<WorkloadResult> result = run.run();
    evaluation.validateSeconds += run.getValidateSeconds();
    evaluation.profileSeconds += run.getProfileSeconds();
    if (!run.getBaselineIdentity().empty())
      baselineIdentity = run.getBaselineIdentity();
    if (result) {
      if (attempt > 1)
        result->notes.push_back(
            "run " + std::to_string(attempt) +
            " times because a process of the evaluation was killed");
      return std::move(*result);
    }
    Trouble &trouble = result.error();
    session->stopAll();
    if (trouble.kind == Trouble::Kind::Lost && attempt < kMostLosses)
      continue;
    // A submission that kills its own process each time has only itself.
    if (trouble.kind == Trouble::Kind::Lost && !trouble.reason.empty()) {
      WorkloadResult crashed;
      crashed.id = workload.id;
      crashed.verdict = trouble.verdict;
      crashed.reason = trouble.reason;
      return crashed;
    }
    return tl::unexpected<Failure>(getFailure(trouble));
  }
}

Result<void> Evaluator::runWorkloads() {
  for (const task::Workload *workload : workloads) {
    Result<WorkloadResult> result = runWorkload(*workload);
    if (!result)
      return forwardFailure(std::move(result));
    evaluation.workloads.push_back(std::move(*result));
  }
  evaluation.isolation = session->getIsolation();
  buffersText = session->usesCopies() ? "copies" : "ipc";
  evaluation.conclude();
  return {};
}

void Evaluator::describeEnvironment() {
  utsname system = {};
  ::uname(&system);
  evaluation.environment =
      json::Object{{"d2k_version", std::string(getVersion())},
                   {"nvcc_version", compiler ? compiler->getVersion() : ""},
                   {"kernel", std::string(system.release)},
                   {"baseline", baselineIdentity},
                   {"buffers", buffersText},
                   {"gpu_seconds", options.gpuSeconds},
                   {"clock_tolerance", options.clockTolerance}};
  if (Result<int64_t> version = json::Cursor(evaluation.device, "device")
                                    .getInteger("driver_version"))
    evaluation.environment.set("driver_version", *version);
}

Result<Evaluation> Evaluator::run() {
  // No process that a submission starts may read our memory.
  forbidInspection();
  if (Result<void> done = readInputs(); !done)
    return forwardFailure(std::move(done));
  if (Result<void> done = makeFolders(); !done)
    return forwardFailure(std::move(done));
  if (Result<void> done = startProcesses(); !done)
    return forwardFailure(std::move(done));

  if (checkCode()) {
    std::future<Result<void>> ours =
        std::async(std::launch::async, [this] { return compileOurs(); });
    Result<bool> goesOn = compileSubmission();
    Result<void> compiled = ours.get();
    if (!goesOn)
      return forwardFailure(std::move(goesOn));
    if (*goesOn) {
      // Somebody who only has a compiler may lack a library of the baseline.
      if (!compiled && options.onlyCompile)
        evaluation.notes.push_back("an evaluation here would fail: " +
                                   compiled.error().message);
      else if (!compiled)
        return forwardFailure(std::move(compiled));
      if (!options.onlyCompile)
        if (Result<void> done = runWorkloads(); !done)
          return forwardFailure(std::move(done));
    }
  }
  evaluation.totalSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  evaluation.requests = session->getRequests();
  evaluation.gpuSeconds = session->askUsage();
  session->stopAll();
  describeEnvironment();
  if (evaluation.verdict == Verdict::Correct && !options.analyzer.empty() &&
      !options.onlyCompile) {
    report("scoring the implementation");
    scoreImplementation(options, task.name, evaluation);
  }
  return std::move(evaluation);
}

Result<json::Array> runner::queryDevices(const EvaluateOptions &options) {
  Result<Compiler> compiler = Compiler::create(options.worker);
  std::string folder = compiler ? compiler->getLibraryFolder() : "";
  Session session(options, folder, "");
  if (Step<void> started = session.startOracle(); !started)
    return tl::unexpected<Failure>(getFailure(started.error()));
  return session.getDevices();
}

Result<Evaluation> runner::evaluate(const EvaluateOptions &options) {
  return Evaluator(options).run();
}
