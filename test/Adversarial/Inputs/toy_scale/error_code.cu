// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: returns an error
// verdict: incorrect

#include "d2k_toy_scale.h"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  return cudaErrorInvalidValue;
}
