// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// d2k-run list: the tasks that there are.

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Json.h"
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

namespace {
/// What there is beside a task's own folder.
struct Extras {
  /// An expert's design, for `show --guidance` and the arms of `agent`.
  bool guidance = false;
  /// How an implementation is scored, by `d2k-analyze --task` and `eval`.
  bool rubric = false;
};
} // namespace

static Extras findExtras(const std::string &root, const std::string &name) {
  return {isRegularFile(joinPath(root, "guidance/" + name + ".md")),
          isRegularFile(joinPath(root, "rubrics/" + name + ".json"))};
}

static void printTask(const task::Task &task, const Extras &extras) {
  std::printf("%-24s %9zu  %-7s  %-8s  %-6s  %s\n", task.name.c_str(),
              task.workloads.size(), getDevices(task).c_str(),
              extras.guidance ? "yes" : "-", extras.rubric ? "yes" : "-",
              sanitize(task.title).c_str());
}

static json::Value toJson(const task::Task &task, const Extras &extras,
                          const std::vector<task::MeasuredDevice> &devices) {
  json::Array worlds;
  if (const task::Axis *axis = task.findMachineAxis())
    for (int64_t value : axis->values)
      worlds.emplace_back(value);
  else
    worlds.emplace_back(1);
  json::Array workloads;
  for (const task::Workload &workload : task.workloads) {
    json::Array measured;
    for (const task::MeasuredDevice &device : devices) {
      auto found = device.workloads.find(workload.id);
      if (found == device.workloads.end())
        continue;
      const task::MeasuredWorkload &times = found->second;
      measured.emplace_back(json::Object{
          {"device", device.name},
          {"world", int64_t(device.world)},
          {"bound_us", times.bound},
          {"limit", times.limit},
          {"baseline_us", times.baseline},
          {"naive_us", times.naive ? json::Value(*times.naive) : nullptr}});
    }
    workloads.emplace_back(
        json::Object{{"id", workload.id}, {"measured", std::move(measured)}});
  }
  return json::Object{
      {"name", task.name},         {"title", task.title},
      {"gpus", std::move(worlds)}, {"guidance", extras.guidance},
      {"rubric", extras.rubric},   {"workloads", std::move(workloads)}};
}

/// Microseconds; more digits of what is less than one.
static std::string formatTime(double us) {
  char text[32];
  std::snprintf(text, sizeof(text), us < 1 ? "%.3f" : "%.1f", us);
  return text;
}

/// A line a workload and device; one of dashes for a workload that nobody
/// measured.
static void printMeasured(const task::Task &task,
                          const std::vector<task::MeasuredDevice> &devices) {
  for (const task::Workload &workload : task.workloads) {
    std::string start = task.name + "/" + workload.id;
    bool isMeasured = false;
    for (const task::MeasuredDevice &device : devices) {
      auto found = device.workloads.find(workload.id);
      if (found == device.workloads.end())
        continue;
      isMeasured = true;
      const task::MeasuredWorkload &times = found->second;
      std::string naive = times.naive ? formatTime(*times.naive) : "-";
      std::printf(
          "%-52s %10s %-8s %10s %12s %8.2f  %s%s\n", start.c_str(),
          formatTime(times.bound).c_str(), sanitize(times.limit).c_str(),
          formatTime(times.baseline).c_str(), naive.c_str(),
          times.baseline / times.bound,
          device.world > 1 ? (std::to_string(device.world) + " x ").c_str()
                           : "",
          sanitize(device.name).c_str());
    }
    if (!isMeasured)
      std::printf("%-52s %10s %-8s %10s %12s %8s  not measured\n",
                  start.c_str(), "-", "-", "-", "-", "-");
  }
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
  std::optional<std::string> jsonFile = arguments.get("json");
  // With the document on standard output, nothing else is printed.
  bool isQuiet = jsonFile == "/dev/stdout";
  if (isMeasured && !isQuiet)
    std::printf("%-52s %10s %-8s %10s %12s %8s  device\n", "workload",
                "bound us", "limit", "baseline", "naive", "headroom");
  else if (!isQuiet)
    std::printf("%-24s %9s  %-7s  %-8s  %-6s  %s\n", "task", "workloads",
                "GPUs", "guidance", "rubric", "what");
  json::Array document;
  for (const std::string &name : *names) {
    std::string folder = joinPath(tasks, name);
    std::string file = joinPath(folder, "task.json");
    if (!isRegularFile(file))
      continue;
    Result<task::Task> task = task::Task::load(file);
    if (!task)
      return forwardFailure(std::move(task));
    Extras extras = findExtras(*root, name);
    std::vector<task::MeasuredDevice> devices;
    if (isMeasured || jsonFile) {
      Result<std::vector<task::MeasuredDevice>> loaded =
          task::loadMeasured(joinPath(folder, "measured.json"));
      if (!loaded)
        return forwardFailure(std::move(loaded));
      devices = std::move(*loaded);
    }
    if (isMeasured && !isQuiet)
      printMeasured(*task, devices);
    else if (!isQuiet)
      printTask(*task, extras);
    document.push_back(toJson(*task, extras, devices));
  }
  if (jsonFile)
    if (Result<void> written =
            writeFile(*jsonFile,
                      json::dump(json::Object{{"schema", "d2k.list/1"},
                                              {"tasks", std::move(document)}}) +
                          "\n");
        !written)
      return forwardFailure(std::move(written));
  if (!isMeasured && !isQuiet)
    std::printf(
        "\nd2k-run show TASK prints what to write; show TASK --guidance all "
        "adds an expert's\ndesign, and d2k-analyze --task TASK scores code "
        "against a rubric, where there is one.\n");
  return 0;
}

Command d2k::run::getListCommand() {
  return {"list",
          "",
          "Lists the tasks.",
          {{"measured", "",
            "a line a workload: the bound, what baseline and naive kernel take "
            "(us, cold L2), headroom = baseline / bound, and the device"},
           {"json", "FILE", "write all of it (docs/schemas/list.schema.json)"}},
          list};
}
