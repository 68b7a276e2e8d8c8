// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hardware counters of one call, by CUPTI's range profiler. The call is run
// once for each pass that the counters need:
//
//   Result<std::unique_ptr<RangeProfiler>> profiler =
//       RangeProfiler::create(cupti, context, device);
//   profiler->measure([&] { flush(); return Result<void>{}; },
//                     [&] { call(); synchronize(); return Result<void>{}; });
//
// The counters need a permission that many containers do not have; create
// then fails with the remedy, and the caller goes on without.

#ifndef D2K_RUNNER_CUDA_RANGEPROFILER_H
#define D2K_RUNNER_CUDA_RANGEPROFILER_H

#include "Cupti.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace d2k::runner {

/// Names of Counters.def with values; undefined values are left out.
using CounterValues = std::vector<std::pair<std::string, double>>;

/// What a counter of Counters.def tells; empty for an unknown name.
std::string_view getCounterMeaning(std::string_view name);

class RangeProfiler {
public:
  /// \p device is the index by which CUPTI knows the GPU of \p context, which
  /// is current. Fails with kind Environment.
  static Result<std::unique_ptr<RangeProfiler>>
  create(const Cupti &cupti, CUcontext context, unsigned device);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler &) = delete;
  RangeProfiler &operator=(const RangeProfiler &) = delete;

  /// Counters of \p call, summed over all kernels that it runs. \p prepare
  /// runs before each pass, outside the counters. Both wait for the GPU.
  Result<CounterValues> measure(const std::function<Result<void>()> &prepare,
                                const std::function<Result<void>()> &call);

  unsigned getPasses() const { return host.passes; }

private:
  /// What the host side knows of a chip's counters; made once for each device.
  struct Host {
    CUpti_Profiler_Host_Object *object = nullptr;
    std::vector<uint8_t> config;
    /// Of the counters that this chip has: index into Counters.def, and metric.
    std::vector<size_t> counters;
    std::vector<const char *> metrics;
    unsigned passes = 0;
  };

  RangeProfiler(const Cupti &cupti, const Host &host)
      : cupti(cupti), host(host) {}
  static Result<const Host *> getHost(const Cupti &cupti, CUcontext context,
                                      unsigned device);
  static Result<Host> makeHost(const Cupti &cupti, CUcontext context,
                               unsigned device);
  Result<void> enable(CUcontext context);

  const Cupti &cupti;
  const Host &host;
  CUpti_RangeProfiler_Object *target = nullptr;
  std::vector<uint8_t> counterData;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_RANGEPROFILER_H
