// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times calls on the device, for baselines that choose between designs at the
// first call of a shape.

#ifndef D2K_BASELINE_CALLTIMER_H
#define D2K_BASELINE_CALLTIMER_H

#include <cuda_runtime_api.h>

#include <cstddef>

namespace d2k::baseline {

class CallTimer {
public:
  /// The time of some runs of \p call, a function that enqueues work on
  /// \p stream and returns a cudaError, after one that is not timed; waits.
  /// With
  /// \p scratch its \p bytes are overwritten before each run, which takes
  /// operands out of caches that are not larger than it. Returns a cudaError.
  template <typename Call>
  int measure(float &milliseconds, const Call &call, void *scratch,
              size_t bytes, cudaStream_t stream) {
    if (!end) {
      if (int error = cudaEventCreate(&begin))
        return error;
      if (int error = cudaEventCreate(&end))
        return error;
    }
    if (int error = call())
      return error;
    milliseconds = 0;
    // Cold runs are timed one by one, others together.
    int groups = scratch ? kRuns : 1;
    for (int group = 0; group < groups; ++group) {
      if (scratch)
        if (int error = cudaMemsetAsync(scratch, group, bytes, stream))
          return error;
      if (int error = cudaEventRecord(begin, stream))
        return error;
      for (int run = 0; run < kRuns / groups; ++run)
        if (int error = call())
          return error;
      if (int error = cudaEventRecord(end, stream))
        return error;
      if (int error = cudaEventSynchronize(end))
        return error;
      float elapsed = 0;
      if (int error = cudaEventElapsedTime(&elapsed, begin, end))
        return error;
      milliseconds += elapsed;
    }
    return cudaSuccess;
  }

  /// Which of \p candidates calls, call(0), call(1), ..., takes the least time;
  /// the others are as for measure().
  template <typename Call>
  int findFastest(int &fastest, int candidates, const Call &call, void *scratch,
                  size_t bytes, cudaStream_t stream) {
    float best = 0;
    for (int i = 0; i < candidates; ++i) {
      float milliseconds = 0;
      auto callThis = [&] { return call(i); };
      if (int error = measure(milliseconds, callThis, scratch, bytes, stream))
        return error;
      if (i == 0 || milliseconds < best) {
        best = milliseconds;
        fastest = i;
      }
    }
    return cudaSuccess;
  }

private:
  static constexpr int kRuns = 5;
  cudaEvent_t begin = nullptr, end = nullptr;
};

} // namespace d2k::baseline

#endif // D2K_BASELINE_CALLTIMER_H
