// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a task's baseline and naive kernel took on the devices where somebody
// measured them: tasks/<task>/measured.json, which scripts/gpu-tasks evaluate
// makes out of the results of `d2k-run eval`.

#ifndef D2K_TASK_MEASURED_H
#define D2K_TASK_MEASURED_H

#include "d2k/Support/Failure.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k::task {

/// Medians of calls with a cold L2, in microseconds.
struct MeasuredWorkload {
  /// What no kernel can be faster than, from the task's `flops` and `bytes` and
  /// the rates of the device, and which of these decides: "compute", "memory"
  /// or "peers", the traffic between GPUs.
  double bound = 0;
  std::string limit;
  double baseline = 0;
  /// Nothing where the naive kernel was not timed.
  std::optional<double> naive;
};

/// All that was measured of a task on one kind of device.
struct MeasuredDevice {
  /// As the driver calls it: "NVIDIA H200".
  std::string name;
  /// GPUs that took part.
  int64_t world = 1;
  /// Day of the measurement, YYYY-MM-DD.
  std::string date;
  /// Library, version and algorithm of the baseline.
  std::string baseline;
  /// By id.
  std::map<std::string, MeasuredWorkload> workloads;
};

/// Reads \p path; no device when there is no such file. Fails with kind Input
/// when it is not what scripts/lib/measured.py writes.
Result<std::vector<MeasuredDevice>> loadMeasured(const std::string &path);

} // namespace d2k::task

#endif // D2K_TASK_MEASURED_H
