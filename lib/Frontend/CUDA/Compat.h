// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A header that is included before every source: what CUDA 13 code expects of
// nvcc and Clang's host pass does not give.

#ifndef D2K_LIB_FRONTEND_CUDA_COMPAT_H
#define D2K_LIB_FRONTEND_CUDA_COMPAT_H

namespace d2k::cuda {

/// The name it is known by; no such file exists.
inline constexpr const char *kCompatPath = "/d2k/clang-cuda-compat.h";

inline constexpr const char *kCompatText = R"(#pragma once
#pragma clang system_header
#include <complex>
#include <cmath>
#define __NVCC_COMPAT_BY_D2K__ 1
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#endif
#ifndef __nv_pure__
#define __nv_pure__
#endif
)";

} // namespace d2k::cuda

#endif // D2K_LIB_FRONTEND_CUDA_COMPAT_H
