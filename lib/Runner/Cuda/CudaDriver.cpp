// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen and dlsym over the table.

#include "CudaDriver.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace d2k;
using namespace d2k::runner;

// Two steps, so that cuda.h's renaming macros are expanded first.
#define D2K_QUOTE(name) #name
#define D2K_QUOTE_EXPANDED(name) D2K_QUOTE(name)

Result<CudaDriver> CudaDriver::open() {
  CudaDriver driver;
  const char *named = std::getenv("D2K_CUDA_DRIVER");
  driver.path = named && *named ? named : "libcuda.so.1";
  void *library = ::dlopen(driver.path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char *why = ::dlerror();
    return fail(
        FailureKind::Environment,
        "cannot load the CUDA driver: " +
            std::string(why ? why : driver.path.c_str()) +
            "; run this on a machine with an NVIDIA GPU and its driver");
  }
#define D2K_CUDA_DRIVER(name)                                                  \
  driver.name = reinterpret_cast<decltype(driver.name)>(                       \
      ::dlsym(library, D2K_QUOTE_EXPANDED(name)));                             \
  if (!driver.name)                                                            \
    return fail(FailureKind::Environment,                                      \
                driver.path +                                                  \
                    ": has no function " D2K_QUOTE_EXPANDED(                   \
                        name) "; "                                             \
                              "install a driver for CUDA 13 (580 or newer)");
#include "CudaDriver.def"
  if (Result<void> done =
          driver.check(driver.cuInit(0), "start the CUDA driver");
      !done)
    return forwardFailure(std::move(done));
  return driver;
}

Result<const CudaDriver *> CudaDriver::load() {
  // Never unloaded: contexts and threads of the driver live to the end.
  static const Result<CudaDriver> kDriver = open();
  if (!kDriver)
    return tl::unexpected<Failure>(kDriver.error());
  return &*kDriver;
}

std::string CudaDriver::describe(CUresult result) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(int(result));
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(text) + " (" + name + ")";
}

Result<void> CudaDriver::check(CUresult result, std::string_view what) const {
  if (result == CUDA_SUCCESS)
    return {};
  return fail(FailureKind::Environment,
              "cannot " + std::string(what) + ": " + describe(result));
}
