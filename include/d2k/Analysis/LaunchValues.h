// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one launch of a kernel decides in its code: conditions on parameters and
// on the extents of the launch that the code alone leaves open.
//
// The numbers of the launch are put in the place of loads of parameters and of
// special registers, and constants are propagated once more. Of what comes out
// only the *decisions* are kept: conditions of branches, guards and choices,
// and zeros that data is multiplied with. Everything else stays symbolic, so
// that loops, addresses and what is said about them do not depend on the
// numbers.
//
// Example: a launch with 256 threads whose third argument is 0, of
//   if (mode == 5) v = f(v);       decided: false, f does not run
//   for (i = 0; i < mode; ++i)     decided: the loop's body does not run
//   y = mode == 5 ? f(v) : v       decided: y is v
//   y = v + scale * f(v)           scale 0.f: decided, nothing of f is in y
//   if (threadIdx.x >= 256)        decided: false
//   for (i = 0; i < k; ++i)        with k = 64: not decided, k stays symbolic
//
// A pointer is not null, and the low bits of its address are known when those
// of its buffer are: addresses are tried out with two different numbers, and
// what both decide alike holds.
//
// Not detected: conditions that device memory decides; arithmetic with
// floating-point numbers other than zeros; multiplication with an integer zero.
//
// Unknown: a number that the launch does not have is symbolic, as without a
// launch.

#ifndef D2K_ANALYSIS_LAUNCHVALUES_H
#define D2K_ANALYSIS_LAUNCHVALUES_H

#include "d2k/Analysis/MemoryRoots.h"

#include <array>
#include <compare>
#include <map>
#include <string>

namespace d2k::analysis {

class KernelContext;

/// A pointer that a launch passes and that is not null.
struct LaunchPointer {
  /// Pointers into one buffer have the same number.
  uint32_t buffer = 0;
  /// Bytes from the start of the buffer, when known.
  std::optional<int64_t> offset;
  /// What the start of the buffer is a multiple of, in bytes; a power of two up
  /// to 256.
  int64_t alignment = 1;

  friend auto operator<=>(const LaunchPointer &,
                          const LaunchPointer &) = default;
};

/// The numbers of one launch, as far as they are known.
struct LaunchValues {
  std::array<std::optional<int64_t>, 3> grid, block;
  /// Bytes of the parameters.
  std::map<ParameterPlace, uint8_t> bytes;
  std::map<ParameterPlace, LaunchPointer> pointers;
  /// What is written there is no result.
  UnreadMemory unread;

  friend auto operator<=>(const LaunchValues &, const LaunchValues &) = default;
};

/// What a launch decides.
struct LaunchDecisions {
  /// Values that are constants under the launch and not without it.
  KnownValues known;
  /// As in LaunchValues.
  UnreadMemory unread;
  /// What decides that work on data does not run, or that nothing comes of it:
  /// "argument 3 is 0"; empty when only other things are decided.
  std::string because;
  /// The launch and what decides, for sentences: "as launched at k.cu:40, where
  /// argument 3 is 0". Set by whoever knows the launch.
  std::string launch;

  /// Whether the kernel does something else than its code alone says.
  bool matters() const { return !because.empty() || !unread.empty(); }
};

/// What \p launch decides in \p kernel, which was made without decisions.
LaunchDecisions decideByLaunch(KernelContext &kernel,
                               const LaunchValues &launch);

/// The numbers that \p text lists, for tests: "param:2:0:4=0,block.x=256,
/// pointer:0:0=16,unread:1:0=scratch" (without blanks). A parameter has index,
/// byte and size, a pointer the alignment of its buffer or 0 when it is null.
/// Nothing when it is malformed.
std::optional<LaunchValues> parseLaunchValues(std::string_view text);

} // namespace d2k::analysis

#endif // D2K_ANALYSIS_LAUNCHVALUES_H
