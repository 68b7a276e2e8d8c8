// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the programs of the CUDA toolkit. Where they are looked for, in order:
//   1. the variable D2K_NVCC, D2K_PTXAS, D2K_NVDISASM or D2K_CUOBJDUMP, which
//      must name an executable file when it is set;
//   2. PATH;
//   3. the bin folder of CUDA_HOME, then of CUDA_PATH;
//   4. /usr/local/cuda/bin, then /usr/local/cuda-*/bin, newest version first;
//   5. a Python environment .venv in the given folder or one above it, then in
//      one above the running program: scripts/quickstart puts what a minimal
//      toolkit lacks into that of the checkout, and the tools are used from
//      elsewhere, too.

#ifndef D2K_SUPPORT_CUDATOOLS_H
#define D2K_SUPPORT_CUDATOOLS_H

#include "d2k/Support/Failure.h"

#include <optional>
#include <string>
#include <string_view>

namespace d2k {

/// A program of the CUDA toolkit.
enum class CudaTool : uint8_t { Nvcc, Ptxas, Nvdisasm, Cuobjdump };

/// "nvcc", "ptxas", "nvdisasm", "cuobjdump".
std::string_view getCudaToolName(CudaTool tool);

/// The environment variable that overrides the search: "D2K_NVCC".
std::string getCudaToolVariable(CudaTool tool);

/// The path of \p tool. \p startDirectory is where the search for a `.venv`
/// begins. Fails with kind Environment, says where it looked and how to get
/// the program.
Result<std::string> findCudaTool(CudaTool tool,
                                 const std::string &startDirectory = ".");

/// The folder of the CUDA toolkit, the one that holds include/cuda_runtime.h:
/// the nvcc's that findCudaTool finds, else an installed one, else that of the
/// PyPI packages in a `.venv`. Fails with kind Environment.
Result<std::string> findCudaToolkit(const std::string &startDirectory = ".");

/// A tool's version, as it prints it.
struct ToolVersion {
  int major = 0;
  int minor = 0;
  /// "13.0.88"
  std::string text;
};

/// Runs `PATH --version`. Fails with kind Environment when that does not end
/// well or prints no version: the program is broken.
Result<ToolVersion> queryToolVersion(const std::string &path);

/// The version in the output of a CUDA program's `--version`, which has a line
/// like "Cuda compilation tools, release 13.0, V13.0.88".
std::optional<ToolVersion> parseToolVersion(std::string_view output);

} // namespace d2k

#endif // D2K_SUPPORT_CUDATOOLS_H
