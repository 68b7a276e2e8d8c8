// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a translated CUDA source is compiled with (see translate.py): the
// toolkit's headers as a host compiler sees them, and then what only the CUDA
// compiler declares. Included before the first line of every source.

#ifndef D2K_TEST_HOSTCUDA_HOSTCUDA_H
#define D2K_TEST_HOSTCUDA_HOSTCUDA_H

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <math_constants.h>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

// Attributes that a host compiler does not know. __global__, __device__,
// __host__ and __constant__ are empty already.
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __maxnreg__
#define __maxnreg__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __cluster_dims__
#define __cluster_dims__(...)
#undef __align__
#define __align__(bytes) alignas(bytes)
#define __builtin_assume(condition) static_cast<void>(0)

// Kernels that choose by architecture get the code for an H200. After the
// toolkit's headers, which would take it for the CUDA compiler.
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1

#include "Execution.h"

#include "Warp.h"

#include "Atomics.h"
#include "Intrinsics.h"
#include "Ptx.h"

#endif // D2K_TEST_HOSTCUDA_HOSTCUDA_H
