// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles CUDA source with nvcc. nvcc, with the ptxas behind it, is the only
// judge of what compiles: code that it rejects is not analysed, and its own
// words are the error.

#ifndef D2K_DRIVER_COMPILE_H
#define D2K_DRIVER_COMPILE_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k {

/// What to compile and how.
struct CompileRequest {
  /// The `.cu` file.
  std::string source;
  /// "sm_90a"
  std::string arch;
  /// Folders searched for headers, in order.
  std::vector<std::string> includeDirectories;
  /// The user's own flags, behind ours.
  std::vector<std::string> flags;
};

/// What ptxas says about one kernel (`-Xptxas -v`).
struct KernelResources {
  std::optional<int64_t> registers;
  /// Static shared memory in bytes.
  std::optional<int64_t> sharedBytes;
  /// Spill stores plus spill loads in bytes.
  std::optional<int64_t> spillBytes;
};

/// The outcome of a compilation.
struct CompiledSource {
  /// The PTX text.
  std::string ptx;
  /// The machine code: an ELF file.
  std::string cubin;
  /// By mangled name.
  std::map<std::string, KernelResources> resources;
  /// "nvcc 13.0.88"
  std::string tool;
  /// Files that were read: the source and what it includes.
  std::vector<std::string> files;
  /// Warnings, one an entry.
  std::vector<std::string> diagnostics;
  /// Wall-clock time of nvcc.
  double seconds = 0;
};

/// Compiles one source to PTX and on to machine code. Flags are those of the
/// benchmark (`-O3 -std=c++20 -lineinfo -arch=...`). Fails with kind Input and
/// nvcc's words when the code is rejected, with kind Environment when nvcc is
/// missing or broken.
Result<CompiledSource> compileCuda(const CompileRequest &request);

/// Reads the resource lines of `ptxas -v` out of \p log.
std::map<std::string, KernelResources>
parseKernelResources(const std::string &log);

} // namespace d2k

#endif // D2K_DRIVER_COMPILE_H
