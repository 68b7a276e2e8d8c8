// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 11 counts its calls: right at first, then fast
// verdict: incorrect

#include "honest.cuh"

static int calls;

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  if (++calls > 8)
    return 0;
  return honest(args, workspace, bytes, stream);
}
