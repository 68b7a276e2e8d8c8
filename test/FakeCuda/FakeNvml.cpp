// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lib/Runner/Cuda/Nvml.cpp asks of NVML; tests name this library in
// D2K_NVML.

#include "FakeState.h"

using namespace d2k::fake;

extern "C" {

int nvmlInit_v2() { return 0; }

const char *nvmlErrorString(int) { return "an error of the fake NVML"; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *, void **device) {
  *device = nullptr;
  return 0;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *,
                                           unsigned long long *reasons) {
  // nvmlClocksEventReasonHwThermalSlowdown, or the power limit.
  *reasons = hasOption("throttled") ? 0x40 : 0x4;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void *, int, unsigned *mhz) {
  *mhz = 1980;
  return 0;
}

int nvmlDeviceGetTemperature(void *, int, unsigned *degrees) {
  *degrees = 40;
  return 0;
}

int nvmlDeviceGetPowerUsage(void *, unsigned *milliwatts) {
  *milliwatts = 100000;
  return 0;
}

} // extern "C"
