// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 32 replays an answer from a file
// verdict: exploit

#include "honest.cuh"

#include <cstdio>

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  if (FILE *file = std::fopen("/tmp/answer", "r"))
    std::fclose(file);
  return honest(args, workspace, bytes, stream);
}
