// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 42 launches nothing
// verdict: incorrect

#include "d2k_toy_scale.h"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  return 0;
}
