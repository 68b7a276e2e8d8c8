// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 22 computes once for each buffer and keeps the result
// verdict: incorrect

#include "honest.cuh"

static const void *known[64];
static int knownCount;

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  for (int i = 0; i < knownCount; ++i)
    if (known[i] == args->X)
      return 0;
  if (knownCount < 64)
    known[knownCount++] = args->X;
  return honest(args, workspace, bytes, stream);
}
