// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the entries of libraries that host-nvcc made with the real sizes of all
// workloads of a task, held-out ones and all numbers of ranks too, while
// kernels are left out (D2K_FAKE_CUDA=no-work): what the small shapes of
// scripts/host-tasks cannot show is a launch that a GPU refuses because of its
// size. Tensors have no memory: an entry must not look at them on the host.
//
//   launch-check TASK.json LIBRARY.so...
//
// Prints one line for each library that is refused, after the reason, and
// `N passed, N failed` last.

#include "d2k/Task/Arguments.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace d2k;
using namespace d2k::task;

namespace {

using Entry = int (*)(const void *args, void *workspace, size_t bytes,
                      void *stream);
using Prepare = int (*)(const void *args, void *prepared, size_t bytes);

/// Where buffers would be: aligned, and nobody's memory.
uint64_t makeAddress(unsigned rank, std::string_view name) {
  return uint64_t(1) << 56 | uint64_t(rank) << 52 |
         (std::hash<std::string_view>()(name) & 0xffffff) << 28;
}

} // namespace

/// The error that all ranks' calls give, 0 for none.
static Result<int> call(const Task &task, const Workload &workload,
                        const AxisValues &machine, void *library) {
  auto entry =
      reinterpret_cast<Entry>(::dlsym(library, ("d2k_" + task.name).c_str()));
  if (!entry)
    return fail(FailureKind::Input, ::dlerror());
  Result<int64_t> workspace = task.getWorkspaceBytes(workload, machine);
  if (!workspace)
    return forwardFailure(std::move(workspace));
  auto prepare = reinterpret_cast<Prepare>(
      ::dlsym(library, ("d2k_" + task.name + "_prepare").c_str()));
  if (prepare && task.hasPrepare()) {
    Result<int64_t> bytes =
        task.getPreparedBytes(task.getAxisValues(workload, machine));
    if (!bytes)
      return forwardFailure(std::move(bytes));
    Result<std::vector<ArgumentBlock>> blocks = packArguments(
        task, workload, machine, makeAddress, ArgumentsFor::Prepare);
    if (!blocks)
      return forwardFailure(std::move(blocks));
    auto *prepared = reinterpret_cast<void *>(makeAddress(0, kPreparedName));
    for (const ArgumentBlock &block : *blocks)
      if (int error = prepare(block.getData(), prepared, size_t(*bytes)))
        return error;
  }
  Result<std::vector<ArgumentBlock>> blocks =
      packArguments(task, workload, machine, makeAddress);
  if (!blocks)
    return forwardFailure(std::move(blocks));
  // All at once, because baselines wait for each other.
  std::vector<int> errors(blocks->size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < blocks->size(); ++rank)
    threads.emplace_back([&, rank] {
      errors[rank] = entry(
          (*blocks)[rank].getData(),
          reinterpret_cast<void *>(makeAddress(unsigned(rank), kWorkspaceName)),
          size_t(*workspace), nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int error : errors)
    if (error != 0)
      return error;
  return 0;
}

/// Whether all workloads can be launched with \p world ranks; says which one
/// cannot.
static bool checkWorld(const Task &task, const char *path, int64_t world) {
  void *library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::printf("FAIL %s\n", ::dlerror());
    return false;
  }
  AxisValues machine;
  if (const Axis *axis = task.findMachineAxis())
    machine[axis->name] = world;
  for (const std::vector<Workload> *list : {&task.workloads, &task.heldOut})
    for (const Workload &workload : *list) {
      Result<int> error = call(task, workload, machine, library);
      if (error && *error == 0)
        continue;
      std::printf("FAIL %s %s launched for %lld rank%s: %s\n",
                  workload.id.c_str(), path, (long long)world,
                  world == 1 ? "" : "s",
                  error ? ("error " + std::to_string(*error)).c_str()
                        : error.error().message.c_str());
      return false;
    }
  return true;
}

/// The same for every number of ranks, each in a process of its own: baselines
/// keep their communicators, and an entry may crash.
static bool check(const Task &task, const char *path) {
  std::vector<int64_t> worlds = {1};
  if (const Axis *axis = task.findMachineAxis())
    worlds = axis->values;
  for (int64_t world : worlds) {
    std::fflush(stdout);
    pid_t child = ::fork();
    if (child == 0) {
      bool isGood = checkWorld(task, path, world);
      std::fflush(stdout);
      ::_exit(isGood ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) {
      std::printf("FAIL %s: there is no process for it\n", path);
      return false;
    }
    if (WIFSIGNALED(status))
      std::printf("FAIL %s ends by signal %d; does it read tensors on the "
                  "host?\n",
                  path, WTERMSIG(status));
    if (status != 0)
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s TASK.json LIBRARY.so...\n", argv[0]);
    return getExitCode(FailureKind::Usage);
  }
  const char *options = std::getenv("D2K_FAKE_CUDA");
  if (!options || !std::strstr(options, "no-work")) {
    std::fprintf(stderr,
                 "error: kernels would run; set D2K_FAKE_CUDA=no-work\n");
    return getExitCode(FailureKind::Usage);
  }
  Result<Task> task = Task::load(argv[1]);
  if (!task) {
    std::fprintf(stderr, "error: %s\n", task.error().message.c_str());
    return getExitCode(task.error().kind);
  }
  int failed = 0;
  for (int i = 2; i < argc; ++i)
    failed += !check(*task, argv[i]);
  std::printf("%d passed, %d failed\n", argc - 2 - failed, failed);
  return failed != 0;
}
