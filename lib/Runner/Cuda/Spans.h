// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clock A from activity records: which of them are our own kernels around a
// call, and from when to when the rest ran.

#ifndef D2K_RUNNER_CUDA_SPANS_H
#define D2K_RUNNER_CUDA_SPANS_H

#include "Activity.h"

#include <span>
#include <string_view>
#include <vector>

namespace d2k::runner {

// Names of our own kernels, lib/Runner/Device/Kernels.def.
inline constexpr std::string_view kReadClocks = "d2k_readClocks";
inline constexpr std::string_view kReadFlush = "d2k_readFlush";
inline constexpr std::string_view kBarrier = "d2k_barrier";
inline constexpr std::string_view kSpin = "d2k_spin";

/// A kernel of our own that samples and batches enqueue.
bool isHarness(const Activity &activity);

/// Records, in the order of the calls; they point into another list.
using ActivityList = std::vector<const Activity *>;

/// Those of one GPU.
ActivityList selectDevice(std::span<const Activity> activities,
                          uint32_t device);

/// Takes the first kernel of each name in \p before and the last of each in
/// \p after off the list: a thread of the submission may launch between ours,
/// and may use our names, without taking anything out of the span. False when
/// one is not there.
bool stripHarness(ActivityList &activities,
                  std::span<const std::string_view> before,
                  std::span<const std::string_view> after);

/// From the first start to the last end in nanoseconds; 0 of nothing.
double getSpan(std::span<const Activity *const> activities);

/// The median span of the calls of a round: what ran between two flushes
/// without the spin before the next; without \p flush, the span of everything
/// that is not ours, divided by \p rounds. Our names hide nothing else. The
/// median, because a GPU that other processes use too may stop for
/// milliseconds in one of the rounds.
double getRoundSpan(std::span<const Activity *const> activities,
                    unsigned rounds, bool flush);

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_SPANS_H
