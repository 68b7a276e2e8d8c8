// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver, loaded at run time: programs start, and say what is missing,
// on machines without one, and tests put a library of their own in its place.
// Only the oracle and the worker load it, never `d2k-run` itself.

#ifndef D2K_RUNNER_CUDA_CUDADRIVER_H
#define D2K_RUNNER_CUDA_CUDADRIVER_H

#include "d2k/Support/Failure.h"

#include <cuda.h>

#include <string>
#include <string_view>

namespace d2k::runner {

/// The functions of CudaDriver.def as members of their own names:
/// `driver.cuMemAlloc(&pointer, bytes)`.
class CudaDriver {
public:
#define D2K_CUDA_DRIVER(name) decltype(&::name) name = nullptr;
#include "CudaDriver.def"

  /// The driver of this process. The first call loads the library that the
  /// environment variable D2K_CUDA_DRIVER names, else libcuda.so.1, with its
  /// symbols global, so that what is loaded later can be linked against it;
  /// and calls cuInit. Fails with kind Environment when there is no such
  /// library, when it lacks a function, and when it finds no usable device.
  static Result<const CudaDriver *> load();

  /// Nothing when \p result is CUDA_SUCCESS, else a Failure of kind
  /// Environment: "cannot \p what: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  Result<void> check(CUresult result, std::string_view what) const;

  /// The name and sentence of \p result, as in the text above.
  std::string describe(CUresult result) const;

  /// The file that was loaded, as it was named.
  const std::string &getPath() const { return path; }

private:
  CudaDriver() = default;
  static Result<CudaDriver> open();

  std::string path;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_CUDADRIVER_H
