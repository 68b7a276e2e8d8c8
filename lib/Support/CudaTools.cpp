// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search for the CUDA toolkit's programs; the order is in the header.

#include "d2k/Support/CudaTools.h"

#include "d2k/Support/DataRoot.h"
#include "d2k/Support/Files.h"
#include "d2k/Support/Subprocess.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <unistd.h>

using namespace d2k;

std::string_view d2k::getCudaToolName(CudaTool tool) {
  static constexpr std::string_view kNames[] = {"nvcc", "ptxas", "nvdisasm",
                                                "cuobjdump"};
  return kNames[static_cast<size_t>(tool)];
}

std::string d2k::getCudaToolVariable(CudaTool tool) {
  std::string variable = "D2K_";
  for (char c : getCudaToolName(tool))
    variable += char(c - 'a' + 'A');
  return variable;
}

static bool isExecutable(const std::string &path) {
  return isRegularFile(path) && ::access(path.c_str(), X_OK) == 0;
}

/// The numbers of "cuda-13.0", for ordering; other names give none.
static std::vector<int> getVersionKey(std::string_view name) {
  std::vector<int> key;
  const char *end = name.data() + name.size();
  for (const char *at = name.data(); at < end;) {
    int number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0) {
      ++at;
      continue;
    }
    key.push_back(number);
    at = next;
  }
  return key;
}

/// Folders of an installed toolkit, in order of preference.
static std::vector<std::string> getToolkitFolders() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char *value = std::getenv(variable);
    if (value && *value)
      folders.push_back(joinPath(value, "bin"));
  }
  folders.push_back("/usr/local/cuda/bin");
  if (Result<std::vector<std::string>> names = listDirectory("/usr/local")) {
    std::erase_if(*names, [](const std::string &name) {
      return name.compare(0, 5, "cuda-") != 0;
    });
    std::sort(names->begin(), names->end(),
              [](const std::string &a, const std::string &b) {
                return getVersionKey(a) > getVersionKey(b);
              });
    for (const std::string &name : *names)
      folders.push_back("/usr/local/" + name + "/bin");
  }
  return folders;
}

/// The `.venv` folders in \p startDirectory and above it, then in and above the
/// folder of the running program.
static std::vector<std::string> getVenvs(const std::string &startDirectory) {
  std::vector<std::string> venvs;
  for (const std::string &start : {startDirectory, getProgramPath()}) {
    std::error_code error;
    std::filesystem::path folder =
        std::filesystem::absolute(start, error).lexically_normal();
    for (; !error && !folder.empty(); folder = folder.parent_path()) {
      if (std::string venv = (folder / ".venv").string(); isDirectory(venv))
        venvs.push_back(std::move(venv));
      if (folder == folder.parent_path())
        break;
    }
  }
  return venvs;
}

/// The folders of NVIDIA's packages in a Python environment; those of CUDA 13
/// share one, which is laid out like a toolkit.
static std::vector<std::string> getPackages(const std::string &venv) {
  std::vector<std::string> folders;
  Result<std::vector<std::string>> versions = listDirectory(venv + "/lib");
  if (!versions)
    return folders;
  for (const std::string &version : *versions) {
    std::string base = venv + "/lib/" + version + "/site-packages/nvidia";
    Result<std::vector<std::string>> packages = listDirectory(base);
    if (!packages)
      continue;
    for (const std::string &package : *packages)
      folders.push_back(joinPath(base, package));
  }
  return folders;
}

/// Where the PyPI packages put a program: beside the interpreter, or in the
/// package's own folder.
static std::string findInVenv(const std::string &venv,
                              const std::string &name) {
  if (std::string path = venv + "/bin/" + name; isExecutable(path))
    return path;
  for (const std::string &folder : getPackages(venv))
    if (std::string path = folder + "/bin/" + name; isExecutable(path))
      return path;
  return {};
}

static std::string getRemedy(CudaTool tool) {
  std::string variable = getCudaToolVariable(tool);
  if (tool == CudaTool::Nvdisasm || tool == CudaTool::Cuobjdump)
    return "run scripts/quickstart, which installs it into .venv from the PyPI "
           "package nvidia-cuda-" +
           std::string(getCudaToolName(tool)) + ", or set " + variable +
           " to its path";
  return "install the CUDA toolkit 13 (package cuda-nvcc-13-0), or set " +
         variable + " to its path";
}

Result<std::string> d2k::findCudaTool(CudaTool tool,
                                      const std::string &startDirectory) {
  std::string name(getCudaToolName(tool));
  std::string variable = getCudaToolVariable(tool);
  if (const char *value = std::getenv(variable.c_str()); value && *value) {
    if (isExecutable(value))
      return std::string(value);
    return fail(FailureKind::Environment,
                variable + " is set to \"" + value +
                    "\", which is no executable file; unset it or give the "
                    "path of " +
                    name);
  }
  if (std::string path = findProgram(name); !path.empty())
    return path;
  for (const std::string &folder : getToolkitFolders())
    if (std::string path = joinPath(folder, name); isExecutable(path))
      return path;
  for (const std::string &venv : getVenvs(startDirectory))
    if (std::string path = findInVenv(venv, name); !path.empty())
      return path;
  return fail(
      FailureKind::Environment,
      "cannot find " + name +
          " in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* or .venv; " +
          getRemedy(tool));
}

Result<std::string> d2k::findCudaToolkit(const std::string &startDirectory) {
  std::vector<std::string> folders = getToolkitFolders();
  if (Result<std::string> nvcc = findCudaTool(CudaTool::Nvcc, startDirectory)) {
    // nvcc on PATH may be a link into the toolkit.
    std::error_code error;
    std::filesystem::path real = std::filesystem::canonical(*nvcc, error);
    if (!error)
      folders.insert(folders.begin(), real.parent_path().string());
  }
  for (const std::string &bin : folders) {
    std::string folder =
        std::filesystem::path(bin).parent_path().lexically_normal().string();
    if (isRegularFile(joinPath(folder, "include/cuda_runtime.h")))
      return folder;
  }
  for (const std::string &venv : getVenvs(startDirectory))
    for (const std::string &folder : getPackages(venv))
      if (isRegularFile(joinPath(folder, "include/cuda_runtime.h")))
        return folder;
  return fail(FailureKind::Environment,
              "cannot find the headers of the CUDA toolkit "
              "(include/cuda_runtime.h) beside nvcc, in CUDA_HOME, CUDA_PATH, "
              "/usr/local/cuda* or .venv; run scripts/quickstart "
              "--no-toolkit, which installs them from PyPI, or " +
                  getRemedy(CudaTool::Nvcc));
}

std::optional<ToolVersion> d2k::parseToolVersion(std::string_view output) {
  size_t at = output.find(", V");
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = output.substr(at + 3);
  size_t length = std::min(rest.find_first_not_of("0123456789."), rest.size());
  std::string_view text = rest.substr(0, length);
  ToolVersion version;
  version.text = std::string(text);
  const char *end = text.data() + text.size();
  auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.')
    return std::nullopt;
  auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc())
    return std::nullopt;
  return version;
}

Result<ToolVersion> d2k::queryToolVersion(const std::string &path) {
  Command command;
  command.argv = {path, "--version"};
  command.timeout = std::chrono::seconds(60);
  Result<CommandResult> result = runCommand(command);
  if (!result)
    return forwardFailure(std::move(result));
  if (!result->succeeded())
    return fail(FailureKind::Environment,
                path + ": is broken: `--version` ended with " +
                    result->describeEnd() + "; reinstall it");
  if (std::optional<ToolVersion> version = parseToolVersion(result->output))
    return *version;
  return fail(FailureKind::Environment,
              path + ": is broken: `--version` printed no version; reinstall "
                     "it, or name another one in its D2K_ variable");
}
