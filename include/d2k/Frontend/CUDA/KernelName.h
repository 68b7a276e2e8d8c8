// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of kernels as different compilers spell them.

#ifndef D2K_FRONTEND_CUDA_KERNELNAME_H
#define D2K_FRONTEND_CUDA_KERNELNAME_H

#include <string>

namespace d2k::cuda {

/// Whether the kernel that one compiler calls \p mangledA and another
/// \p mangledB may be the same: equal names, or names that differ only in how
/// an unnamed namespace is spelled (nvcc's carries a hash of the path).
bool isSameKernelName(const std::string &mangledA, const std::string &mangledB);

} // namespace d2k::cuda

#endif // D2K_FRONTEND_CUDA_KERNELNAME_H
