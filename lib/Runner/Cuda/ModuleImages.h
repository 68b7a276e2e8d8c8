// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code that was loaded onto the GPU: the images of modules, which CUPTI
// hands out when the driver loads them, and the names of the kernels in each.
// They say whose kernel ran, and the analyser can read them.

#ifndef D2K_RUNNER_CUDA_MODULEIMAGES_H
#define D2K_RUNNER_CUDA_MODULEIMAGES_H

#include "Cupti.h"

#include <string>
#include <string_view>
#include <vector>

namespace d2k::runner {

struct ModuleImage {
  /// Of the contents.
  std::string sha256;
  /// An ELF file, that is, a cubin; empty when CUPTI gave none.
  std::string contents;
  /// Mangled names of the kernels and device functions with code.
  std::vector<std::string> kernels;
};

/// Names of the functions in the ELF file \p image, from its `.text.NAME`
/// sections; nothing for what is no ELF file. The image may be hostile.
std::vector<std::string> readKernelNames(std::string_view image);

/// Remembers modules from now on.
class ModuleCollector {
public:
  /// Subscribes to CUPTI's callbacks, once in a process; before the code of
  /// interest is loaded. Fails with kind Environment.
  static Result<ModuleCollector *> start(const Cupti &cupti);

  /// Images since the start, each once; they stay here.
  std::vector<ModuleImage> getImages() const;

  /// Says whose kernels are the submission's: of the modules whose images are
  /// a part of the file \p path. Its code must not be compressed.
  Result<void> setSubmission(const std::string &path);

  /// "submission" for a kernel of such a module, otherwise what can be said:
  /// the CUDA libraries in this process, or "unknown". \p kernel is mangled.
  std::string attribute(const std::string &kernel) const;

private:
  ModuleCollector() = default;

  /// Contents of the submission's file.
  std::string submission;
};

} // namespace d2k::runner

#endif // D2K_RUNNER_CUDA_MODULEIMAGES_H
