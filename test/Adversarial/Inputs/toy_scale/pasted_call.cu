// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 49 hides a call from the check of the source
// verdict: exploit

#include "honest.cuh"

#define PASTE(a, b) a##b
extern "C" void *PASTE(dlo, pen)(const char *, int);

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  if (PASTE(dlo, pen)("libanswer.so", 1))
    return 0;
  return honest(args, workspace, bytes, stream);
}
