// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a task on the GPU of this machine with the harness's own oracle:
// libraries that must pass do, in every trial of every workload, and libraries
// that must not are rejected, as are outputs that need no computation. Library
// and oracle share this process and trust each other; scripts/gpu-check builds
// and runs it.
//
//   task-check [--axes FILE] [--smallest N] TASK.json REFERENCE.so
//              {pass|fail|control}:LIBRARY.so...
//
// A control has no fault and is otherwise written like those that fail: it must
// pass until all of them are rejected. Workloads are taken in the order of
// their work, so that slow kernels are rejected early; --smallest takes the
// first N only.
//
// A file of axes is for where the workloads are too large (scripts/host-tasks):
// {"workload": {"axis": value, ...}, ...}. The workloads in it are looked at,
// with those axes in place of their own, and no others. A workspace has at most
// 4 MiB then, because filling 64 MiB before each call takes a CPU longer than
// the rest, and no call is timed.
//
// Prints one line a check and `N passed, N failed` last. Event times of five
// calls are printed to say what to expect, and are no measurements. Ranks of a
// task on several GPUs share the first device when there are too few.

#include "Device/OracleWorkload.h"
#include "d2k/Task/Inputs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <limits>
#include <thread>

using namespace d2k;
using namespace d2k::runner;

namespace {

/// The entry of a library; args are those of the task.
using Entry = int (*)(const void *args, void *workspace, size_t bytes,
                      CUstream stream);

struct Library {
  std::string path;
  bool mustPass = true;
  /// Must pass, and is left out when nothing that must fail is left.
  bool isControl = false;
  Entry entry = nullptr;
  /// What a rejection said; only for libraries that must fail.
  std::string rejection;
};

/// A library on its way through the trials of one workload.
struct Candidate {
  Library *library = nullptr;
  /// Rejected, or unable to run.
  bool isOut = false;
  double worst = 0, worstRms = 0;
  /// Microseconds of the longest call.
  double longest = 0;
  /// Milliseconds, of all trials; those of judging include the reference's.
  double fillTime = 0, captureTime = 0, judgeTime = 0;
};

class TaskCheck {
public:
  TaskCheck(const CudaDriver &driver, task::Task task, std::string reference,
            bool hasSmallAxes, size_t smallest)
      : driver(driver), task(std::move(task)), reference(std::move(reference)),
        hasSmallAxes(hasSmallAxes), smallest(smallest) {}

  int run(std::vector<Library> &libraries);

private:
  Result<void> openDevices();
  Result<void> checkWorkload(const task::Workload &workload,
                             std::vector<Library> &libraries);
  /// All candidates that are not out yet, with the same inputs, one by one.
  Result<void> checkTrial(OracleWorkload &oracle,
                          const task::Workload &workload,
                          const task::TrialSpec &trial,
                          std::vector<Candidate> &candidates);
  /// Reports one that passed all trials and had to.
  Result<void> finish(OracleWorkload &oracle, const task::Workload &workload,
                      const Candidate &candidate);
  Result<void> checkTrivialOutputs(OracleWorkload &oracle,
                                   const task::Workload &workload);
  /// Inputs drawn on the device have the bits that the host draws.
  Result<void> checkDraws(OracleWorkload &oracle,
                          const task::Workload &workload);
  /// Calls the library on all ranks and waits.
  Result<void> call(OracleWorkload &oracle, const task::Workload &workload,
                    Entry entry, int times, double *microseconds = nullptr);
  void report(bool passed, const std::string &text) {
    std::printf("%s %s\n", passed ? "ok  " : "FAIL", text.c_str());
    std::fflush(stdout);
    ++(passed ? passedCount : failedCount);
  }

  /// Milliseconds since the last call of this function.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double milliseconds =
        std::chrono::duration<double, std::milli>(now - lapStart).count();
    lapStart = now;
    return milliseconds;
  }

  const CudaDriver &driver;
  task::Task task;
  std::string reference;
  bool hasSmallAxes;
  /// So many workloads, those with the least work.
  size_t smallest;
  std::chrono::steady_clock::time_point lapStart;
  AxisValues machine;
  std::vector<CUcontext> contexts;
  std::vector<CUstream> streams;
  int passedCount = 0, failedCount = 0;
};

} // namespace

Result<void> TaskCheck::openDevices() {
  int devices = 0;
  if (Result<void> done =
          driver.check(driver.cuDeviceGetCount(&devices), "count the devices");
      !done)
    return done;
  unsigned ranks = 1;
  if (const task::Axis *axis = task.findMachineAxis()) {
    ranks = 2;
    machine[axis->name] = 2;
  }
  for (unsigned rank = 0; rank < ranks; ++rank) {
    CUdevice device = int(rank) < devices ? int(rank) : 0;
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    Result<void> done = driver.check(
        driver.cuDevicePrimaryCtxRetain(&context, device), "open the device");
    if (done)
      done = driver.check(driver.cuCtxSetCurrent(context), "use the device");
    if (done)
      done =
          driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                       "create a stream");
    if (!done)
      return done;
    contexts.push_back(context);
    streams.push_back(stream);
  }
  return {};
}

Result<void> TaskCheck::call(OracleWorkload &oracle,
                             const task::Workload &workload, Entry entry,
                             int times, double *microseconds) {
  auto find = [&](unsigned rank, std::string_view name) -> const BufferInfo * {
    for (const BufferInfo &buffer : oracle.getBuffers())
      if (buffer.rank == rank && buffer.tensor == name)
        return &buffer;
    return nullptr;
  };
  auto lookup = [&](unsigned rank, std::string_view name) -> uint64_t {
    const BufferInfo *buffer = find(rank, name);
    return buffer ? buffer->getAddress() : 0;
  };
  Result<std::vector<task::ArgumentBlock>> blocks =
      task::packArguments(task, workload, machine, lookup);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  std::vector<int> errors(contexts.size());
  std::vector<float> milliseconds(contexts.size());
  auto callRank = [&](unsigned rank) {
    driver.cuCtxSetCurrent(contexts[rank]);
    const BufferInfo *workspace = find(rank, task::kWorkspaceName);
    CUevent begin, end;
    driver.cuEventCreate(&begin, CU_EVENT_DEFAULT);
    driver.cuEventCreate(&end, CU_EVENT_DEFAULT);
    driver.cuEventRecord(begin, streams[rank]);
    for (int i = 0; i < times && errors[rank] == 0; ++i)
      errors[rank] = entry((*blocks)[rank].getData(),
                           reinterpret_cast<void *>(workspace->getAddress()),
                           workspace->bytes, streams[rank]);
    driver.cuEventRecord(end, streams[rank]);
    if (CUresult error = driver.cuStreamSynchronize(streams[rank]))
      errors[rank] = int(error);
    driver.cuEventElapsedTime(&milliseconds[rank], begin, end);
    driver.cuEventDestroy(begin);
    driver.cuEventDestroy(end);
  };
  std::vector<std::thread> threads;
  for (unsigned rank = 0; rank < contexts.size(); ++rank)
    threads.emplace_back(callRank, rank);
  for (std::thread &thread : threads)
    thread.join();
  for (int error : errors)
    if (error != 0)
      return fail(FailureKind::Environment,
                  "a call returns the error " + std::to_string(error));
  if (microseconds)
    *microseconds = 1e3 * milliseconds[0] / times;
  return {};
}

/// Element, expected, got, allowed.
static std::string describe(const Judgement &judgement) {
  if (!judgement.first)
    return judgement.reason;
  const ElementFailure &first = *judgement.first;
  std::string text = judgement.reason + "; " + first.tensor + "[";
  for (size_t i = 0; i < first.index.size(); ++i)
    text += (i ? "," : "") + std::to_string(first.index[i]);
  char numbers[120];
  std::snprintf(numbers, sizeof(numbers), "] is %.9g, expected %.9g +- %.3g",
                first.got, first.expected, first.allowed);
  return text + numbers;
}

Result<void> TaskCheck::checkTrial(OracleWorkload &oracle,
                                   const task::Workload &workload,
                                   const task::TrialSpec &trial,
                                   std::vector<Candidate> &candidates) {
  double fillTime = 0, firstJudgeTime = 0;
  bool isFilled = false;
  for (Candidate &candidate : candidates) {
    Library &library = *candidate.library;
    if (candidate.isOut)
      continue;
    lap();
    Result<void> done;
    if (!isFilled) {
      done = oracle.fill(0, trial);
      isFilled = true;
      fillTime = lap();
    }
    if (done)
      done = oracle.prepare({0});
    candidate.fillTime += fillTime + lap();
    double microseconds = 0;
    if (done)
      if (Result<void> called =
              call(oracle, workload, library.entry, 1, &microseconds);
          !called) {
        report(false, workload.id + " " + trial.kind + " " + library.path +
                          ": " + called.error().message);
        candidate.isOut = true;
        continue;
      }
    candidate.longest = std::fmax(candidate.longest, microseconds);
    lap();
    if (done)
      done = oracle.capture(0);
    candidate.captureTime += lap();
    if (!done)
      return done;
    std::optional<uint64_t> sample;
    if (!trial.isComplete)
      sample = trial.seed;
    Result<Judgement> judgement = oracle.judge(0, sample);
    if (!judgement)
      return forwardFailure(std::move(judgement));
    // The first one waits for the expected values, which the others share.
    firstJudgeTime = std::fmax(firstJudgeTime, lap());
    candidate.judgeTime += firstJudgeTime;
    // Drawn again when something was written that is not an output.
    isFilled =
        judgement->changedInputs.empty() && judgement->brokenGuards.empty();
    candidate.worst = std::fmax(candidate.worst, judgement->maxError);
    candidate.worstRms =
        std::fmax(candidate.worstRms, judgement->rmsRatio.value_or(0));
    if (judgement->passed)
      continue;
    candidate.isOut = true;
    if (library.mustPass)
      report(false, workload.id + " " + trial.kind + " " + library.path + ": " +
                        describe(*judgement));
    else
      library.rejection =
          workload.id + " " + trial.kind + ": " + describe(*judgement);
  }
  return {};
}

Result<void> TaskCheck::finish(OracleWorkload &oracle,
                               const task::Workload &workload,
                               const Candidate &candidate) {
  const Library &library = *candidate.library;
  if (!library.mustPass || candidate.isOut)
    return {};
  char duration[40] = "";
  if (!hasSmallAxes && !library.isControl) {
    // Of a slow one the trials' calls say enough.
    double microseconds = candidate.longest;
    if (microseconds < 1e5)
      if (Result<void> done =
              call(oracle, workload, library.entry, 5, &microseconds);
          !done)
        return done;
    std::snprintf(duration, sizeof(duration), ", %.1f us", microseconds);
  }
  char numbers[200];
  std::snprintf(numbers, sizeof(numbers),
                ": error %.3f of allowed, rms %.3f%s; all trials: fill "
                "%.0f ms, capture %.0f ms, judge %.0f ms",
                candidate.worst, candidate.worstRms, duration,
                candidate.fillTime, candidate.captureTime, candidate.judgeTime);
  report(true, workload.id + " " + library.path + numbers);
  return {};
}

Result<void> TaskCheck::checkTrivialOutputs(OracleWorkload &oracle,
                                            const task::Workload &workload) {
  struct {
    const char *name;
    std::optional<TrivialOutput> output;
  } const kinds[] = {// What the last library wrote in its last trial.
                     {"the previous output", std::nullopt},
                     {"zeros", TrivialOutput::Zeros},
                     {"a copy of an input", TrivialOutput::CopyOfInput},
                     {"the mean", TrivialOutput::Mean}};
  Result<void> done = oracle.fill(0, {std::string(task::kRandomTrial), 77});
  for (const auto &kind : kinds) {
    if (done && kind.output)
      done = oracle.prepare({0});
    if (done && kind.output)
      done = oracle.capture(0);
    if (done && kind.output)
      done = oracle.replaceCapture(0, *kind.output);
    if (!done)
      return done;
    Result<Judgement> judgement = oracle.judge(0, std::nullopt);
    if (!judgement)
      return forwardFailure(std::move(judgement));
    report(!judgement->passed,
           workload.id + " rejects " + kind.name + ": " + describe(*judgement));
  }
  return {};
}

Result<void> TaskCheck::checkDraws(OracleWorkload &oracle,
                                   const task::Workload &workload) {
  constexpr int64_t kMost = 1 << 18;
  AxisValues axes = task.getAxisValues(workload, machine);
  size_t compared = 0, different = 0;
  for (const task::TrialSpec &trial : task::planTrials(task, 4711)) {
    if (Result<void> done = oracle.fill(0, trial); !done)
      return done;
    for (const BufferInfo &buffer : oracle.getBuffers()) {
      const task::Tensor *input = task.findTensor(buffer.tensor);
      if (!input || input->isOutput)
        continue;
      const task::Distribution &distribution = task.getDistribution(
          *input, workload, task::findTrial(task, trial.kind));
      if (distribution.kind == task::DistributionKind::Derived)
        continue;
      Result<task::DrawSpec> spec =
          task::getDrawSpec(task, *input, distribution, axes);
      if (!spec)
        return forwardFailure(std::move(spec));
      int64_t count = std::min(kMost, int64_t(buffer.bytes) * 8 /
                                          task::getElementBits(spec->type));
      std::vector<char> bytes(
          size_t(count * task::getElementBits(spec->type) / 8));
      driver.cuCtxSetCurrent(contexts[buffer.rank]);
      if (Result<void> done =
              driver.check(driver.cuMemcpyDtoH(
                               bytes.data(), buffer.getAddress(), bytes.size()),
                           "copy an input");
          !done)
        return done;
      uint64_t seed = task::getInputSeed(task, *input, buffer.rank, trial.seed);
      for (int64_t i = 0; i < count; ++i)
        different += task::loadElement(spec->type, bytes.data(), i) !=
                     task::drawElement(*spec, seed, i);
      compared += size_t(count);
    }
  }
  report(different == 0 && compared != 0,
         workload.id + " draws: " + std::to_string(different) + " of " +
             std::to_string(compared) + " elements differ from the host's");
  return {};
}

Result<void> TaskCheck::checkWorkload(const task::Workload &workload,
                                      std::vector<Library> &libraries) {
  OracleConfig config;
  config.task = &task;
  config.workload = &workload;
  config.machine = machine;
  config.contexts = contexts;
  Result<int64_t> workspace = task.getWorkspaceBytes(workload, machine);
  if (!workspace)
    return forwardFailure(std::move(workspace));
  config.workspaceBytes = uint64_t(*workspace);
  if (hasSmallAxes)
    config.workspaceBytes = std::min(config.workspaceBytes, uint64_t(4) << 20);
  config.referenceLibrary = reference;
  config.keepsExpected = true;
  Result<std::unique_ptr<OracleWorkload>> oracle =
      OracleWorkload::create(driver, config);
  if (!oracle)
    return forwardFailure(std::move(oracle));
  if (Result<void> done = checkDraws(**oracle, workload); !done)
    return done;
  // Those that must pass come last: the previous output is one of theirs.
  bool isLeft = false;
  for (Library &library : libraries)
    isLeft |= !library.mustPass && library.rejection.empty();
  std::vector<Candidate> candidates;
  for (Library &library : libraries)
    if (library.isControl ? isLeft
                          : library.mustPass || library.rejection.empty())
      candidates.push_back({&library});
  for (const task::TrialSpec &trial : task::planTrials(task, 20261130))
    if (Result<void> done = checkTrial(**oracle, workload, trial, candidates);
        !done)
      return done;
  for (const Candidate &candidate : candidates)
    if (Result<void> done = finish(**oracle, workload, candidate); !done)
      return done;
  return checkTrivialOutputs(**oracle, workload);
}

int TaskCheck::run(std::vector<Library> &libraries) {
  Result<void> done = openDevices();
  std::vector<const task::Workload *> workloads;
  for (const std::vector<task::Workload> *list :
       {&task.workloads, &task.heldOut})
    for (const task::Workload &workload : *list)
      workloads.push_back(&workload);
  auto getWork = [&](const task::Workload *workload) {
    return std::pair(task.getFlops(*workload, machine).value_or(0),
                     task.getBytes(*workload, machine).value_or(0));
  };
  std::sort(workloads.begin(), workloads.end(),
            [&](const task::Workload *left, const task::Workload *right) {
              return getWork(left) < getWork(right);
            });
  workloads.resize(std::min(workloads.size(), smallest));
  for (const task::Workload *workload : workloads)
    if (done)
      done = checkWorkload(*workload, libraries);
  if (!done)
    report(false, done.error().message);
  for (const Library &library : libraries)
    if (!library.mustPass)
      report(!library.rejection.empty(),
             library.path + (library.rejection.empty()
                                 ? ": passed everything"
                                 : " rejected by " + library.rejection));
  std::printf("%d passed, %d failed\n", passedCount, failedCount);
  return failedCount != 0;
}

/// Replaces axes of workloads, and leaves out the workloads that the file does
/// not name.
static Result<void> replaceAxes(task::Task &task, const std::string &path) {
  Result<json::Document> document = json::Document::read(path);
  if (!document)
    return forwardFailure(std::move(document));
  Result<std::vector<std::pair<std::string, json::Cursor>>> entries =
      document->getRoot().asObject();
  if (!entries)
    return forwardFailure(std::move(entries));
  auto refuse = [&](const std::string &what) {
    return fail(FailureKind::Input, path + ": " + what);
  };
  std::vector<task::Workload> workloads, heldOut;
  for (const auto &[id, cursor] : *entries) {
    const task::Workload *found = task.findWorkload(id);
    if (!found)
      return refuse("the task has no workload " + id);
    task::Workload workload = *found;
    Result<std::vector<std::pair<std::string, json::Cursor>>> axes =
        cursor.asObject();
    if (!axes)
      return forwardFailure(std::move(axes));
    for (const auto &[name, value] : *axes) {
      Result<int64_t> size = value.asInteger();
      if (!size)
        return forwardFailure(std::move(size));
      if (!workload.axes.count(name))
        return refuse("workload " + id + " has no axis " + name);
      workload.axes[name] = *size;
    }
    for (const Expression &constraint : task.constraints) {
      Result<int64_t> holds = constraint.evaluate(task.getAxisValues(workload));
      if (!holds)
        return forwardFailure(std::move(holds));
      if (!*holds)
        return refuse("the axes of " + id + " break the constraint " +
                      constraint.getText());
    }
    (workload.isHeldOut ? heldOut : workloads).push_back(std::move(workload));
  }
  task.workloads = std::move(workloads);
  task.heldOut = std::move(heldOut);
  return {};
}

int main(int argc, char **argv) {
  const char *program = argv[0], *axesFile = nullptr;
  size_t smallest = std::numeric_limits<size_t>::max();
  for (; argc > 2 && argv[1][0] == '-'; argv += 2, argc -= 2) {
    if (std::strcmp(argv[1], "--axes") == 0)
      axesFile = argv[2];
    else if (std::strcmp(argv[1], "--smallest") == 0)
      smallest = std::strtoul(argv[2], nullptr, 10);
    else
      argc = 0;
  }
  if (argc < 4) {
    std::fprintf(
        stderr,
        "usage: %s [--axes FILE] [--smallest N] TASK.json REFERENCE.so "
        "{pass|fail|control}:LIBRARY.so...\n",
        program);
    return getExitCode(FailureKind::Usage);
  }
  Result<const CudaDriver *> driver = CudaDriver::load();
  if (!driver) {
    std::fprintf(stderr, "error: %s\n", driver.error().message.c_str());
    return getExitCode(driver.error().kind);
  }
  Result<task::Task> task = task::Task::load(argv[1]);
  if (!task) {
    std::fprintf(stderr, "error: %s\n", task.error().message.c_str());
    return getExitCode(task.error().kind);
  }
  if (axesFile) {
    if (Result<void> done = replaceAxes(*task, axesFile); !done) {
      std::fprintf(stderr, "error: %s\n", done.error().message.c_str());
      return getExitCode(done.error().kind);
    }
  }
  std::vector<Library> libraries;
  for (int i = 3; i < argc; ++i) {
    Library library;
    std::string kind(argv[i], std::strcspn(argv[i], ":"));
    library.isControl = kind == "control";
    library.mustPass = library.isControl || kind == "pass";
    if ((!library.mustPass && kind != "fail") ||
        kind.size() + 1 >= std::strlen(argv[i])) {
      std::fprintf(
          stderr,
          "error: %s: expected pass:, fail: or control: and a library\n",
          argv[i]);
      return getExitCode(FailureKind::Usage);
    }
    library.path = argv[i] + kind.size() + 1;
    void *handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::string entry = "d2k_" + task->name;
    if (handle)
      library.entry = reinterpret_cast<Entry>(dlsym(handle, entry.c_str()));
    if (!library.entry) {
      std::fprintf(stderr, "error: %s\n", dlerror());
      return getExitCode(FailureKind::Input);
    }
    libraries.push_back(std::move(library));
  }
  return TaskCheck(**driver, std::move(*task), argv[2], axesFile != nullptr,
                   smallest)
      .run(libraries);
}
