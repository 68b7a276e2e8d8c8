// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The least time of a call.

#include "d2k/Metrics/SpeedOfLight.h"

#include <algorithm>
#include <cassert>
#include <iterator>

using namespace d2k;
using namespace d2k::metrics;

static const DevicePeaks kPeaks[] = {
#define D2K_DEVICE_PEAKS(arch, flops16, flops8, flops4, memory, peer)          \
  {arch, flops16, flops8, flops4, memory, peer},
#include "d2k/Metrics/DevicePeaks.def"
};

const DevicePeaks *metrics::findDevicePeaks(std::string_view arch) {
  if (arch.ends_with('a') || arch.ends_with('f'))
    arch.remove_suffix(1);
  const DevicePeaks *found = std::find_if(
      std::begin(kPeaks), std::end(kPeaks),
      [&](const DevicePeaks &peaks) { return peaks.arch == arch; });
  return found == std::end(kPeaks) ? nullptr : found;
}

std::string_view metrics::getLimitName(Limit limit) {
  switch (limit) {
  case Limit::Arithmetic:
    return "arithmetic";
  case Limit::Memory:
    return "memory";
  case Limit::Peers:
    break;
  }
  return "peers";
}

TimeFloor metrics::computeFloor(const CompulsoryWork &work,
                                const DevicePeaks &peaks,
                                const MachineState &machine) {
  assert(machine.multiprocessors > 0 && machine.smClockMHz > 0 &&
         "a machine with a clock");
  double rate = work.operandBits <= 4   ? peaks.flops4
                : work.operandBits <= 8 ? peaks.flops8
                                        : peaks.flops16;
  double flopsPerNs =
      rate * machine.multiprocessors * machine.smClockMHz / 1000;
  double bytes =
      work.readBytes + std::max(0.0, work.writtenBytes - machine.l2Bytes);
  TimeFloor floor{work.flops / flopsPerNs, Limit::Arithmetic};
  auto raise = [&](double nanoseconds, Limit limit) {
    if (nanoseconds > floor.nanoseconds)
      floor = {nanoseconds, limit};
  };
  raise(bytes / peaks.memoryBytesPerNs, Limit::Memory);
  raise(work.peerBytes / peaks.peerBytesPerNs, Limit::Peers);
  return floor;
}
