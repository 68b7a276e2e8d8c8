// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of NVML that say how a GPU is, loaded at run time. Its
// header is not part of every toolkit, so the functions are declared here, as
// the NVML API reference has them.

#ifndef D2K_RUNNER_CUDA_NVML_H
#define D2K_RUNNER_CUDA_NVML_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <string>

namespace d2k::runner {

/// One GPU as NVML sees it.
class NvmlDevice {
public:
  /// The GPU at the PCI address \p busId ("00000000:1B:00.0"). The library is
  /// the one that the environment variable D2K_NVML names, else
  /// libnvidia-ml.so.1. Fails with kind Environment.
  static Result<NvmlDevice> open(const std::string &busId);

  /// The mask of nvmlClocksEventReasons: why the clock is not higher.
  Result<uint64_t> getClockReasons() const;
  /// The highest clock of the SMs in MHz.
  Result<unsigned> getMaxSmClock() const;
  /// Degrees Celsius and watts, for the record.
  Result<unsigned> getTemperature() const;
  Result<double> getPower() const;

private:
  struct Functions;
  NvmlDevice(const Functions *functions, void *handle)
      : functions(functions), handle(handle) {}
  static Result<const Functions *> load();
  Result<void> check(int result, const char *what) const;

  const Functions *functions;
  void *handle;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_NVML_H
