// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time under which no implementation can be: what the arithmetic takes at
// the chip's peak rate, what the compulsory bytes take at the memory's data
// sheet rate, what peers must exchange. A measured time below it is wrong.

#ifndef D2K_METRICS_SPEEDOFLIGHT_H
#define D2K_METRICS_SPEEDOFLIGHT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace d2k::metrics {

/// Peak rates of a chip, from its data sheet: DevicePeaks.def.
struct DevicePeaks {
  /// "sm_90a"
  std::string_view arch;
  /// Dense matrix FLOP per SM and clock by the width of the narrower operand;
  /// a multiplication and an addition are two.
  double flops16 = 0;
  double flops8 = 0;
  double flops4 = 0;
  /// Bytes per nanosecond (GB/s / 1) of device memory.
  double memoryBytesPerNs = 0;
  /// Of the links to peers, one direction.
  double peerBytesPerNs = 0;
};

/// The peaks of \p arch; null when DevicePeaks.def has no line for it. A
/// suffix 'a' or 'f' does not matter.
const DevicePeaks *findDevicePeaks(std::string_view arch);

/// What a call must at least do, on each GPU.
struct CompulsoryWork {
  double flops = 0;
  /// Bits of the narrowest floating-point input: decides the rate.
  unsigned operandBits = 16;
  double readBytes = 0;
  double writtenBytes = 0;
  /// Bytes that must arrive from peers.
  double peerBytes = 0;
};

/// The machine as it was during the measurement.
struct MachineState {
  unsigned multiprocessors = 0;
  double smClockMHz = 0;
  /// Written bytes may stay in the L2 beyond the end of the call.
  double l2Bytes = 0;
};

/// What limits a call.
enum class Limit : uint8_t { Arithmetic, Memory, Peers };
/// "arithmetic", "memory", "peers".
std::string_view getLimitName(Limit limit);

struct TimeFloor {
  double nanoseconds = 0;
  Limit limit = Limit::Memory;
};

/// The least time of a call.
TimeFloor computeFloor(const CompulsoryWork &work, const DevicePeaks &peaks,
                       const MachineState &machine);

} // namespace d2k::metrics

#endif // D2K_METRICS_SPEEDOFLIGHT_H
