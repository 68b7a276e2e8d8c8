// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiled trusted kernels, embedded by cmake/D2KDeviceImage.cmake.

#ifndef D2K_RUNNER_DEVICE_DEVICEIMAGE_H
#define D2K_RUNNER_DEVICE_DEVICEIMAGE_H

namespace d2k::runner {

/// What cuModuleLoadData takes: a fatbin.
extern const unsigned char *const kDeviceImage;

/// False when the build had no nvcc: then the image is none, and only a driver
/// that needs none can load it.
extern const bool kDeviceImageHasCode;

} // namespace d2k::runner

#endif // D2K_RUNNER_DEVICE_DEVICEIMAGE_H
