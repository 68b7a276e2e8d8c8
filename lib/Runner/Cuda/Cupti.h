// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUPTI, loaded at run time. It is part of the toolkit, not of the driver, so
// a machine may have a GPU and no CUPTI; what needs it says so and goes on.

#ifndef D2K_RUNNER_CUDA_CUPTI_H
#define D2K_RUNNER_CUDA_CUPTI_H

#include "d2k/Support/Failure.h"

#include <cuda.h>

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>
#include <string_view>

namespace d2k::runner {

/// The functions of Cupti.def as members of their own names.
class Cupti {
public:
#define D2K_CUPTI(name) decltype(&::name) name = nullptr;
#include "Cupti.def"

  /// CUPTI of this process. The first call loads the library that the
  /// environment variable D2K_CUPTI names, else libcupti.so.13 by the loader's
  /// rules, in the toolkit that CUDA_HOME or CUDA_PATH names, or in
  /// /usr/local/cuda. Fails with kind Environment.
  static Result<const Cupti *> load();

  /// Nothing when \p result is CUPTI_SUCCESS, else a Failure of kind
  /// Environment. What is missing for want of permission comes with the
  /// remedy.
  Result<void> check(CUptiResult result, std::string_view what) const;

  /// The file that was loaded.
  const std::string &getPath() const { return path; }

private:
  Cupti() = default;
  static Result<Cupti> open();

  std::string path;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_CUPTI_H
