// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run list: the tasks that there are.

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Terminal.h"
#include "d2k/Task/Measured.h"
#include "d2k/Task/Task.h"

#include <cstdio>

using namespace d2k;
using namespace d2k::run;

/// "1", or the numbers that a machine axis allows: "2, 4, 8".
static std::string getDevices(const task::Task &task) {
  const task::Axis *axis = task.findMachineAxis();
  if (!axis)
    return "1";
  std::string text;
  for (int64_t value : axis->values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return text;
}

static void printTask(const std::string &name, const task::Task &task) {
  std::printf("%-24s %9zu  %-7s  %s\n", name.c_str(), task.workloads.size(),
              getDevices(task).c_str(), sanitize(task.title).c_str());
}

/// A line a workload and device; one of dashes for a workload that nobody
/// measured.
static Result<void> printMeasured(const std::string &folder,
                                  const task::Task &task) {
  Result<std::vector<task::MeasuredDevice>> devices =
      task::loadMeasured(joinPath(folder, "measured.json"));
  if (!devices)
    return forwardFailure(std::move(devices));
  for (const task::Workload &workload : task.workloads) {
    std::string start = task.name + "/" + workload.id;
    bool isMeasured = false;
    for (const task::MeasuredDevice &device : *devices) {
      auto found = device.workloads.find(workload.id);
      if (found == device.workloads.end())
        continue;
      isMeasured = true;
      const task::MeasuredWorkload &times = found->second;
      char naive[32] = "-";
      if (times.naive)
        std::snprintf(naive, sizeof(naive), "%.1f", *times.naive);
      std::printf("%-52s %10.1f %-8s %10.1f %12s %8.2f  %s%s\n", start.c_str(),
                  times.bound, sanitize(times.limit).c_str(), times.baseline,
                  naive, times.baseline / times.bound,
                  device.world > 1
                      ? (std::to_string(device.world) + " x ").c_str()
                      : "",
                  sanitize(device.name).c_str());
    }
    if (!isMeasured)
      std::printf("%-52s %10s %-8s %10s %12s %8s  not measured\n",
                  start.c_str(), "-", "-", "-", "-", "-");
  }
  return {};
}

static Result<int> list(const Arguments &arguments) {
  if (!arguments.getPositional().empty())
    return fail(FailureKind::Usage, "list takes no arguments, got '" +
                                        arguments.getPositional().front() +
                                        "'");
  bool isMeasured = arguments.has("measured");
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  std::string tasks = joinPath(*root, "tasks");
  Result<std::vector<std::string>> names = listDirectory(tasks);
  if (!names)
    return forwardFailure(std::move(names));
  if (isMeasured)
    std::printf("%-52s %10s %-8s %10s %12s %8s  device\n", "workload",
                "bound us", "limit", "baseline", "naive", "headroom");
  else
    std::printf("%-24s %9s  %-7s  %s\n", "task", "workloads", "GPUs", "what");
  for (const std::string &name : *names) {
    std::string folder = joinPath(tasks, name);
    std::string file = joinPath(folder, "task.json");
    if (!isRegularFile(file))
      continue;
    Result<task::Task> task = task::Task::load(file);
    if (!task)
      return forwardFailure(std::move(task));
    if (!isMeasured)
      printTask(name, *task);
    else if (Result<void> done = printMeasured(folder, *task); !done)
      return forwardFailure(std::move(done));
  }
  return 0;
}

Command d2k::run::getListCommand() {
  return {"list",
          "",
          "Lists the tasks.",
          {{"measured", "",
            "a line a workload: the bound, what baseline and naive kernel take "
            "(us, cold L2), headroom = baseline / bound, and the device"}},
          list};
}
