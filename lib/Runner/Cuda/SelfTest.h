// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the measurement on this machine's GPU: how often intervals hold the
// true value, whether known differences and delays are found, what the kind of
// flush does, what the hardware reaches. `d2k-run doctor --gpu` runs these
// parts, each in a process of its own, and judges the figures.

#ifndef D2K_RUNNER_CUDA_SELFTEST_H
#define D2K_RUNNER_CUDA_SELFTEST_H

#include "d2k/Support/Json.h"

#include <string>
#include <vector>

namespace d2k::runner {

/// Runs a part and returns its figures, an object. The parts:
///
///   machine            what there is: device, driver, CUPTI, NVML, counters
///   equal PAIRS        comparisons of a kernel with itself
///   different PAIRS    comparisons with the same kernel on 3% more bytes
///   delays             differences between kernels that wait for known times
///   flush              times after a read flush and after a write flush
///   medians            times of three kernels, to compare processes
///   counters           DRAM bytes of a copy of known size
///   peaks              bandwidth, cost of a launch and of a sample
///   clocks             clock D beside the others, honest and cheated
///   plain              runs a kernel without CUPTI, for another profiler
///
/// Fails with kind Usage for an unknown part, else with Environment.
Result<json::Value> runSelfTest(const std::vector<std::string> &arguments);

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_SELFTEST_H
