// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what a kernel's code says to what its launches make of it.
//
// The code alone leaves open which way a condition on a parameter goes, and
// who reads a buffer. The host code may know: `findLaunches` lists, for each
// kernel, its launches with the numbers that are known of them, and
// `specializeKernels` analyses a kernel again as it runs under a launch, when
// that decides away work on data (Analysis/LaunchValues.h).
//
// A fact holds under a workload when a launch that is certain there, and of
// which a result is used, has it. What only the code has becomes a near miss
// that names the launch and the number; what only a launch has that may not
// happen is undecided.
//
// Example: `if (mode == 5) out = fast(x); else out = slow(x);`, launched with
// mode 0 under one workload and 5 under another: the facts of fast() hold under
// the second.
//
// Not known: a kernel without a launch, or with launches of which nothing is
// known, keeps what its code says; so does one with more than
// kMaxLaunches different launches.

#ifndef D2K_PROPERTIES_LAUNCHEDKERNELS_H
#define D2K_PROPERTIES_LAUNCHEDKERNELS_H

#include "d2k/Analysis/LaunchValues.h"
#include "d2k/Frontend/CUDA/HostTrace.h"
#include "d2k/Properties/Properties.h"

namespace d2k::properties {

/// Launches of a kernel with the same numbers.
struct KernelLaunch {
  /// The first of them.
  SourceLocation where;
  /// Workloads under which it is issued for sure and for a result, and those
  /// under which it may be.
  std::set<std::string> certain, possible;
};

struct KernelLaunches {
  /// Different launches beyond these are not told apart.
  static constexpr size_t kMaxLaunches = 64;

  std::map<analysis::LaunchValues, KernelLaunch> launches;
  /// Workloads under which the kernel may be launched with other numbers.
  std::set<std::string> open;
};

/// By mangled name.
using LaunchMap = std::map<std::string, KernelLaunches>;

/// The launches of the kernels of \p analysis, whose uses of parameters say
/// what becomes of buffers. Nothing when no host code was followed.
LaunchMap findLaunches(const cuda::HostProgram &program, Analysis &analysis);

/// Replaces what \p kernels, which analyzeModule found in \p module, say by
/// what holds under \p launches. \p module is not changed.
void specializeKernels(mlir::ModuleOp module, const Options &options,
                       const SnippetProvider &snippets,
                       const LaunchMap &launches,
                       std::vector<KernelFacts> &kernels);

} // namespace d2k::properties

#endif // D2K_PROPERTIES_LAUNCHEDKERNELS_H
