// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads CUDA source with Clang and follows what the host does from the entry
// function, under the axis values of each workload. Clang judges nothing: code
// that nvcc accepts and Clang does not makes the result incomplete, never a
// failure.

#ifndef D2K_FRONTEND_CUDA_HOSTREADER_H
#define D2K_FRONTEND_CUDA_HOSTREADER_H

#include "d2k/Frontend/CUDA/HostTrace.h"
#include "d2k/Support/Failure.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k::cuda {

/// What the entry's argument structure holds, by field name.
struct EntryArguments {
  /// A tensor on the device.
  struct Tensor {
    bool isOutput = false;
    /// Its size, when known.
    std::optional<int64_t> bytes;
  };

  /// Axes and integer scalars.
  std::map<std::string, int64_t> integers;
  /// By the field's name.
  std::map<std::string, Tensor> tensors;
  /// The entry's parameter that says how large the workspace is.
  std::optional<int64_t> workspaceBytes;
};

/// One workload to interpret under.
struct HostWorkload {
  std::string id;
  EntryArguments arguments;
};

/// Facts about the machine that host code asks for. Which product stands for a
/// target is in lib/Frontend/CUDA/Machines.def.
struct Machine {
  std::string product;
  int64_t multiprocessors = 0;
  int64_t sharedPerBlockOptin = 0;
  int64_t sharedPerMultiprocessor = 0;
  int64_t registersPerMultiprocessor = 65536;
  int64_t threadsPerMultiprocessor = 2048;
  int64_t l2Bytes = 0;
  int major = 0, minor = 0;
};

/// The machine for "sm_90a"; nothing for a target that has none.
std::optional<Machine> getMachine(const std::string &arch);

struct HostRequest {
  /// Sources of the submission; each is a translation unit.
  std::vector<std::string> sources;
  std::string arch;
  std::vector<std::string> includeDirectories;
  /// Flags for each source, as nvcc takes them; one list a source.
  std::vector<std::vector<std::string>> sourceFlags;
  /// Folder of the CUDA toolkit ("/usr/local/cuda").
  std::string toolkit;
  /// Folder in which precompiled headers are kept and found again; nothing
  /// reads the headers as text.
  std::optional<std::string> headerFolder;
  /// The entry; empty means every host function that launches and that no
  /// other one calls.
  std::string entry;
  std::vector<HostWorkload> workloads;
};

/// Reads the sources of \p request. Fails only when an input cannot be read.
Result<HostProgram> readHost(const HostRequest &request);

/// Reads the sources of \p request as the device's compiler does and returns
/// the sites in device code, those under `#ifdef __CUDA_ARCH__` included. Fails
/// only when an input cannot be read.
Result<std::vector<MathSite>> readDeviceMath(const HostRequest &request);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_HOSTREADER_H
