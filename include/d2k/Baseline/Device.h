// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What baselines ask the current device, and tell it about kernels.

#ifndef D2K_BASELINE_DEVICE_H
#define D2K_BASELINE_DEVICE_H

#include <cuda_runtime_api.h>

namespace d2k::baseline {

/// An attribute of the current device. Returns a cudaError.
inline int getAttribute(int &value, cudaDeviceAttr attribute) {
  int device = 0;
  if (cudaError_t error = cudaGetDevice(&device))
    return error;
  return cudaDeviceGetAttribute(&value, attribute, device);
}

/// The SMs of the current device. Returns a cudaError.
inline int countMultiprocessors(int &count) {
  return getAttribute(count, cudaDevAttrMultiProcessorCount);
}

/// Whether the current device has wgmma (compute capability 9). Returns a
/// cudaError.
inline int findWgmma(bool &isThere) {
  int major = 0;
  int error = getAttribute(major, cudaDevAttrComputeCapabilityMajor);
  isThere = major == 9;
  return error;
}

/// Lets \p kernel have \p bytes of dynamic shared memory, which may be more
/// than the 48 KiB that every kernel may have. Returns a cudaError.
template <typename Kernel>
int allowShared(Kernel *kernel, size_t bytes) {
  return cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
}

} // namespace d2k::baseline

#endif // D2K_BASELINE_DEVICE_H
