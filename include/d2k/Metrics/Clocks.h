// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether four clocks that look at the same calls agree. All times are
// nanoseconds for one call.
//
//   A  activity records: from the first start to the last end of all kernels,
//      copies and memsets of the call, on all streams
//   B  events on the call's stream
//   C  the host clock of the process that runs the call
//   D  the clock of another process, over a batch of calls
//
// Work on a side stream that the call does not wait for makes A longer than B;
// a replaced event makes B longer than C; a forged record makes A shorter than
// D. Each is a time that must not become a score.

#ifndef D2K_METRICS_CLOCKS_H
#define D2K_METRICS_CLOCKS_H

#include <optional>
#include <span>
#include <string>

namespace d2k::metrics {

/// What the process that ran a call says about it.
struct ClockReading {
  double spanNs = 0;  // A
  double eventNs = 0; // B
  double hostNs = 0;  // C
};

struct ClockTolerance {
  /// Events have a resolution of about half a microsecond.
  double absoluteNs = 1000;
  double relative = 0.01;
  /// Part of the readings that may break the order: an interrupt between two
  /// clocks is no fraud.
  double outliers = 0.05;
  /// Clock D and A differ by this part and by what launching costs.
  double outside = 0.05;
};

/// Checks A <= B + tolerance and B <= C + tolerance. The answer is why not, in
/// one sentence.
std::optional<std::string>
findClockDisagreement(std::span<const ClockReading> readings,
                      const ClockTolerance &tolerance = {});

/// What clock D and the worker's own clock say about the same batch.
struct BatchReading {
  /// The other process's clock.
  double outsideNs = 0;
  /// Clock A over the batch.
  double insideNs = 0;
  /// What D may see in excess: the exchange of messages divided by the calls,
  /// and launches that the GPU waits for.
  double overheadNs = 0;
};

/// Checks that both differ by no more than the overhead and 5% of the larger.
std::optional<std::string>
findOutsideDisagreement(const BatchReading &reading,
                        const ClockTolerance &tolerance = {});

} // namespace d2k::metrics

#endif // D2K_METRICS_CLOCKS_H
