// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agreement of clocks.

#include "d2k/Metrics/Clocks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace d2k;
using namespace d2k::metrics;

/// "12.35 us"
static std::string microseconds(double nanoseconds) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.2f us", nanoseconds / 1000);
  return text;
}

std::optional<std::string>
metrics::findClockDisagreement(std::span<const ClockReading> readings,
                               const ClockTolerance &tolerance) {
  struct Order {
    double ClockReading::*inner;
    double ClockReading::*outer;
    const char *what;
  };
  const Order orders[] = {
      {&ClockReading::spanNs, &ClockReading::eventNs,
       "GPU activity outlasts the events of the call's stream"},
      {&ClockReading::eventNs, &ClockReading::hostNs,
       "the events of the call's stream outlast the host's clock"},
  };
  for (const Order &order : orders) {
    size_t broken = 0;
    const ClockReading *worst = nullptr;
    double worstExcess = 0;
    for (const ClockReading &reading : readings) {
      double inner = reading.*order.inner;
      double outer = reading.*order.outer;
      double excess =
          inner - outer - tolerance.absoluteNs - tolerance.relative * inner;
      if (!(excess > 0))
        continue;
      ++broken;
      if (excess > worstExcess) {
        worst = &reading;
        worstExcess = excess;
      }
    }
    if (double(broken) <= tolerance.outliers * double(readings.size()))
      continue;
    std::string counts =
        std::to_string(broken) + " of " + std::to_string(readings.size());
    std::string worstTimes;
    if (worst)
      worstTimes = " (at worst " + microseconds(worst->*order.inner) +
                   " against " + microseconds(worst->*order.outer) + ")";
    return std::string(order.what) + " in " + counts + " samples" + worstTimes;
  }
  return std::nullopt;
}

std::optional<std::string>
metrics::findOutsideDisagreement(const BatchReading &reading,
                                 const ClockTolerance &tolerance) {
  double slack =
      tolerance.outside * std::max(reading.outsideNs, reading.insideNs) +
      reading.overheadNs;
  if (std::abs(reading.outsideNs - reading.insideNs) <= slack)
    return std::nullopt;
  return "a call takes " + microseconds(reading.outsideNs) +
         " by the clock outside its process and " +
         microseconds(reading.insideNs) + " by its activity records; " +
         microseconds(slack) + " of difference are allowed";
}
