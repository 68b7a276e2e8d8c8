// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen and dlsym of NVML.

#include "Nvml.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace d2k;
using namespace d2k::runner;

// NVML API reference: "Initialization and Cleanup", "Device Queries". A
// device handle is a pointer, results are ints of which 0 is success.
struct NvmlDevice::Functions {
  int (*init)() = nullptr;
  const char *(*errorString)(int) = nullptr;
  int (*getHandle)(const char *busId, void **device) = nullptr;
  int (*getClockReasons)(void *device, unsigned long long *reasons) = nullptr;
  int (*getMaxClock)(void *device, int type, unsigned *mhz) = nullptr;
  int (*getTemperature)(void *device, int sensor, unsigned *degrees) = nullptr;
  int (*getPower)(void *device, unsigned *milliwatts) = nullptr;
};

// NVML_CLOCK_SM of nvmlClockType_t, NVML_TEMPERATURE_GPU.
static constexpr int kClockSm = 1;
static constexpr int kTemperatureGpu = 0;

template <typename T>
static bool resolve(void *library, const char *name, T &function) {
  function = reinterpret_cast<T>(::dlsym(library, name));
  return function != nullptr;
}

Result<const NvmlDevice::Functions *> NvmlDevice::load() {
  static const Result<Functions> kFunctions = []() -> Result<Functions> {
    const char *named = std::getenv("D2K_NVML");
    std::string path = named && *named ? named : "libnvidia-ml.so.1";
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char *why = ::dlerror();
      return fail(FailureKind::Environment,
                  "cannot load NVML: " + std::string(why ? why : path));
    }
    Functions functions;
    // Renamed in CUDA 12.2; older drivers have the first name only.
    bool hasReasons =
        resolve(library, "nvmlDeviceGetCurrentClocksEventReasons",
                functions.getClockReasons) ||
        resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons",
                functions.getClockReasons);
    if (!hasReasons || !resolve(library, "nvmlInit_v2", functions.init) ||
        !resolve(library, "nvmlErrorString", functions.errorString) ||
        !resolve(library, "nvmlDeviceGetHandleByPciBusId_v2",
                 functions.getHandle) ||
        !resolve(library, "nvmlDeviceGetMaxClockInfo", functions.getMaxClock) ||
        !resolve(library, "nvmlDeviceGetTemperature",
                 functions.getTemperature) ||
        !resolve(library, "nvmlDeviceGetPowerUsage", functions.getPower))
      return fail(FailureKind::Environment,
                  path + ": lacks functions of NVML; install a newer driver");
    if (int result = functions.init(); result != 0)
      return fail(FailureKind::Environment,
                  "cannot start NVML: " +
                      std::string(functions.errorString(result)));
    return functions;
  }();
  if (!kFunctions)
    return tl::unexpected<Failure>(kFunctions.error());
  return &*kFunctions;
}

Result<void> NvmlDevice::check(int result, const char *what) const {
  if (result == 0)
    return {};
  return fail(FailureKind::Environment, "NVML cannot " + std::string(what) +
                                            ": " +
                                            functions->errorString(result));
}

Result<NvmlDevice> NvmlDevice::open(const std::string &busId) {
  Result<const Functions *> functions = load();
  if (!functions)
    return forwardFailure(std::move(functions));
  NvmlDevice device(*functions, nullptr);
  if (Result<void> done =
          device.check((*functions)->getHandle(busId.c_str(), &device.handle),
                       "find the GPU");
      !done)
    return forwardFailure(std::move(done));
  return device;
}

Result<uint64_t> NvmlDevice::getClockReasons() const {
  unsigned long long reasons = 0;
  if (Result<void> done = check(functions->getClockReasons(handle, &reasons),
                                "say what limits the clock");
      !done)
    return forwardFailure(std::move(done));
  return uint64_t(reasons);
}

Result<unsigned> NvmlDevice::getMaxSmClock() const {
  unsigned mhz = 0;
  if (Result<void> done = check(functions->getMaxClock(handle, kClockSm, &mhz),
                                "read the highest clock");
      !done)
    return forwardFailure(std::move(done));
  return mhz;
}

Result<unsigned> NvmlDevice::getTemperature() const {
  unsigned degrees = 0;
  if (Result<void> done =
          check(functions->getTemperature(handle, kTemperatureGpu, &degrees),
                "read the temperature");
      !done)
    return forwardFailure(std::move(done));
  return degrees;
}

Result<double> NvmlDevice::getPower() const {
  unsigned milliwatts = 0;
  if (Result<void> done =
          check(functions->getPower(handle, &milliwatts), "read the power");
      !done)
    return forwardFailure(std::move(done));
  return milliwatts / 1000.0;
}
