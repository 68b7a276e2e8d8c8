// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: faults on the device
// verdict: crash

#include "d2k_toy_scale.h"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  // The fake device faults on a kernel that is none.
  return cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, stream);
}
