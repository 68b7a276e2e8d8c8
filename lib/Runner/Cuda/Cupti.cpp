// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen and dlsym over the table.

#include "Cupti.h"

#include <cstdlib>
#include <vector>

#include <dlfcn.h>

using namespace d2k;
using namespace d2k::runner;

/// Where the library may be, best first.
static std::vector<std::string> candidatePaths() {
  const char *named = std::getenv("D2K_CUPTI");
  if (named && *named)
    return {named};
  std::vector<std::string> paths = {"libcupti.so.13"};
  auto addToolkit = [&](const std::string &root) {
    // The packages of distributions and of the toolkit's installer differ.
    paths.push_back(root + "/lib64/libcupti.so.13");
    paths.push_back(root + "/extras/CUPTI/lib64/libcupti.so.13");
  };
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable); root && *root)
      addToolkit(root);
  addToolkit("/usr/local/cuda");
  return paths;
}

Result<Cupti> Cupti::open() {
  Cupti cupti;
  void *library = nullptr;
  std::string reasons;
  for (const std::string &path : candidatePaths()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      cupti.path = path;
      break;
    }
    const char *why = ::dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(why ? why : path);
  }
  if (!library)
    return fail(FailureKind::Environment,
                "cannot load CUPTI: " + reasons +
                    "; install the CUDA toolkit 13 or set D2K_CUPTI to its "
                    "libcupti.so.13");
#define D2K_CUPTI(name)                                                        \
  cupti.name =                                                                 \
      reinterpret_cast<decltype(cupti.name)>(::dlsym(library, #name));         \
  if (!cupti.name)                                                             \
    return fail(FailureKind::Environment,                                      \
                cupti.path + ": has no function " #name                        \
                             "; install the CUDA toolkit 13");
#include "Cupti.def"
  return cupti;
}

Result<const Cupti *> Cupti::load() {
  // Never unloaded: it has hooks in the driver.
  static const Result<Cupti> kCupti = open();
  if (!kCupti)
    return tl::unexpected<Failure>(kCupti.error());
  return &*kCupti;
}

Result<void> Cupti::check(CUptiResult result, std::string_view what) const {
  if (result == CUPTI_SUCCESS)
    return {};
  const char *name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || !name)
    name = "unknown error";
  std::string message = "cannot " + std::string(what) + ": " + name + " (" +
                        std::to_string(int(result)) + ")";
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
    message += "; the driver gives counters to administrators only: load it "
               "with NVreg_RestrictProfilingToAdminUsers=0, or run with "
               "CAP_SYS_ADMIN";
  return fail(FailureKind::Environment, std::move(message));
}
