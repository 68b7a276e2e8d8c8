// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags of nvcc as the front end understands them: what a source means depends
// on its macros, include path and language; everything else concerns nvcc
// alone.

#ifndef D2K_FRONTEND_CUDA_NVCCFLAGS_H
#define D2K_FRONTEND_CUDA_NVCCFLAGS_H

#include <string>
#include <vector>

namespace d2k::cuda {

/// What flags of nvcc say about the meaning of a source (CUDA Compiler Driver
/// NVCC, "Command Option Description").
struct NvccFlags {
  /// Macros in their order, as Clang takes them: "-DN=4", "-UNDEBUG".
  std::vector<std::string> macros;
  /// Include path and headers that are included first, as Clang takes them:
  /// "-Iinclude", "-isystem", "/opt/include", "-include", "config.h".
  std::vector<std::string> includes;
  /// "c++20"
  std::string standard = "c++20";
  /// `--use_fast_math`: all of the following.
  bool fastMath = false;
  /// `--ftz=true`, `--prec-div=false`, `--prec-sqrt=false`.
  bool flushDenormals = false, approximateDivide = false,
       approximateRoot = false;
  /// `--extended-lambda`
  bool extendedLambda = false;
  /// `--expt-relaxed-constexpr`
  bool relaxedConstexpr = false;
};

/// Reads \p flags. Long and short spellings are understood, with the value
/// behind `=`, glued on, or as the next flag; the rest is passed over.
NvccFlags readNvccFlags(const std::vector<std::string> &flags);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_NVCCFLAGS_H
