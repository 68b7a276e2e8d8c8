// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the options of the commands that evaluate submissions.

#include "EvaluateArguments.h"

#include "Commands.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"

#include <charconv>
#include <filesystem>

using namespace d2k;
using namespace d2k::run;
using namespace d2k::runner;

std::vector<Option> d2k::run::addEvaluateOptions(std::vector<Option> own) {
  const Option common[] = {
      {"devices", "0,1", "the devices, one a rank (default 0)"},
      {"require-isolation", "", "refuse to run where a wall is missing"},
      {"host-memory", "GIB", "host memory of the submission (default 16)"},
      {"gpu-seconds", "N", "GPU time for each workload (default 20)"},
      {"call-timeout", "SECONDS", "a longer call hangs (default 10)"},
      {"clock-tolerance", "PERCENT",
       "how far the parent's clock may be off (default 5)"}};
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

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

Result<EvaluateOptions>
d2k::run::readEvaluateOptions(const Arguments &arguments,
                              const std::string &task) {
  EvaluateOptions options;
  Result<std::string> root = findDataRoot();
  if (!root)
    return forwardFailure(std::move(root));
  options.dataRoot = *root;
  Result<std::string> folder = findTaskFolder(*root, task);
  if (!folder)
    return forwardFailure(std::move(folder));
  options.taskFolder = *folder;
  options.requireIsolation = arguments.has("require-isolation");
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
  options.analyzer = findBeside("d2k-analyze");
  return options;
}
