// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles device code with Clang's NVPTX backend, for machines without nvcc.
// It is not the code that nvcc makes, and Clang rejects some of what nvcc
// takes: what it shows is the tier `ptx:clang`.

#ifndef D2K_FRONTEND_CUDA_CLANGCOMPILER_H
#define D2K_FRONTEND_CUDA_CLANGCOMPILER_H

#include "d2k/Frontend/CUDA/HostReader.h"

namespace d2k::cuda {

/// What Clang made of one source.
struct ClangPtx {
  /// Empty when Clang rejects the source.
  std::string ptx;
  /// Errors, with their places.
  std::vector<std::string> diagnostics;
  /// Files that were read.
  std::vector<std::string> files;
  /// "Clang 22.1.8"
  std::string tool;
  double seconds = 0;
};

/// Compiles source number \p index of \p request at -O3 with line information.
/// Fails only when it cannot be read.
Result<ClangPtx> compileWithClang(const HostRequest &request, size_t index);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_CLANGCOMPILER_H
