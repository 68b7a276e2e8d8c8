// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes shared libraries from CUDA sources with nvcc and the harness's flags.

#ifndef D2K_RUNNER_COMPILE_H
#define D2K_RUNNER_COMPILE_H

#include "d2k/Runner/Sandbox.h"
#include "d2k/Support/Failure.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace d2k::runner {

/// "sm_90a": what nvcc compiles for on a device of that compute capability.
/// Architectures with instructions that only their own code can use have the
/// suffix.
std::string getArchName(int major, int minor);

struct CompileRequest {
  std::vector<std::string> sources;
  std::vector<std::string> includeFolders;
  /// "cublasLt" becomes -lcublasLt.
  std::vector<std::string> libraries;
  std::string arch;
  /// The file to make.
  std::string output;
  /// Where the PTX of each source is left; the compiler then also says what
  /// each kernel uses. Empty: neither.
  std::string keepFolder;
  /// Compile inside these walls; for sources that are not ours, which could
  /// otherwise include any file. `output` must be below a writable folder.
  std::optional<SandboxConfig> sandbox;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

struct CompileOutcome {
  bool succeeded = false;
  /// Somebody killed it, which says nothing about the sources.
  bool wasKilled = false;
  /// What nvcc printed, whether it succeeded or not, and how it ended when
  /// that was not by itself.
  std::string diagnostics;
  double seconds = 0;
};

/// The compiler and the program that confines it.
class Compiler {
public:
  /// Finds nvcc. \p worker is the path of d2k-worker.
  static Result<Compiler> create(const std::string &worker);

  /// Runs nvcc. A source that does not compile is an outcome; a Failure means
  /// that the compiler could not be run.
  Result<CompileOutcome> compile(const CompileRequest &request) const;

  /// The same for sources of ours, whose libraries are kept below \p cache
  /// and used again while sources, flags and compiler are the same. The result
  /// is the path of the library. Sources that do not compile are a Failure of
  /// kind Environment.
  Result<std::string> compileCached(CompileRequest request,
                                    const std::string &cache) const;

  /// "13.0.88"
  const std::string &getVersion() const { return version; }
  const std::string &getPath() const { return nvcc; }
  /// The folder of the toolkit: above nvcc's `bin`.
  std::string getToolkitFolder() const;
  /// Where libcudart.so is; empty when it is on the linker's own path.
  std::string getLibraryFolder() const;

private:
  std::vector<std::string> makeCommand(const CompileRequest &request) const;

  std::string nvcc, version, worker;
};

/// Where compiled references and baselines are kept: $D2K_CACHE, else d2k-bench
/// below $XDG_CACHE_HOME or ~/.cache, else below /tmp.
std::string getCacheFolder();

} // namespace d2k::runner

#endif // D2K_RUNNER_COMPILE_H
