// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trusted kernels on the host, for a CUDA driver that is no driver: tests
// on machines without a GPU.

#ifndef D2K_RUNNER_DEVICE_HOSTKERNELS_H
#define D2K_RUNNER_DEVICE_HOSTKERNELS_H

#include <string_view>

namespace d2k::runner {

struct KernelGrid {
  unsigned grid[3];
  unsigned block[3];
};

/// Does the work of a whole launch. \p parameters are those of cuLaunchKernel.
using HostKernel = void (*)(const KernelGrid &, void **parameters);

/// The kernel with the device name \p name ("d2k_fill"), or null.
HostKernel findHostKernel(std::string_view name);

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_HOSTKERNELS_H
