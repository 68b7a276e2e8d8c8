// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 49 includes what is not its own
// verdict: exploit

#include "honest.cuh"

#include "../../../tasks/toy_scale/reference.cu"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  return honest(args, workspace, bytes, stream);
}
