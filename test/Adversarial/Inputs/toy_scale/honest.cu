// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: none: an honest submission passes
// verdict: correct

#include "honest.cuh"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  return honest(args, workspace, bytes, stream);
}
