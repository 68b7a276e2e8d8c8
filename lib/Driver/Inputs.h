// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user named: files and folders, sorted by what they hold.

#ifndef D2K_LIB_DRIVER_INPUTS_H
#define D2K_LIB_DRIVER_INPUTS_H

#include "d2k/Support/Failure.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace d2k {

enum class InputKind : uint8_t {
  /// CUDA source.
  Cuda,
  Ptx,
  /// A cubin, or a fatbin, object, library or program that holds some.
  MachineCode,
  /// What `nvdisasm -json` printed.
  Disassembly,
};

/// What a launch of one kernel looks like, where an input says it.
struct LaunchInfo {
  /// Threads of a block.
  std::optional<int64_t> threads;
  /// Dynamic shared memory in bytes.
  std::optional<int64_t> dynamicShared;
};

/// One input file.
struct Input {
  std::string path;
  InputKind kind = InputKind::Ptx;
  std::string bytes;
  /// Launches that a file beside it describes, by the kernel's mangled name.
  std::map<std::string, LaunchInfo> launches;
  /// Of a source: flags for its compiler.
  std::vector<std::string> flags;
};

/// Reads the file \p path and finds out what it holds. Fails with kind Input
/// when it cannot be read, is empty, or holds nothing that can be analysed.
Result<Input> readInput(const std::string &path);

/// Reads the inputs in the folder \p path: its sources; without sources, PTX
/// and cubins, which belong together; without those, libraries and objects;
/// without any, the PTX and cubins of its subfolders, as in Triton's cache. The
/// metadata that Triton writes beside a cubin (NAME.json) says how the kernel
/// is launched.
Result<std::vector<Input>> readFolder(const std::string &path);

/// Leaves of \p inputs, which were found in \p folder, those for the
/// architecture \p arch, and those of which it is not known (sources). Fails
/// with kind Usage when there are none, and when there is code for several
/// architectures and none was chosen.
Result<void> pickTarget(const std::string &folder,
                        const std::optional<std::string> &arch,
                        std::vector<Input> &inputs);

} // namespace d2k

#endif // D2K_LIB_DRIVER_INPUTS_H
