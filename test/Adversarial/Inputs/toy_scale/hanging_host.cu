// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: never returns
// verdict: timeout
// arguments: --call-timeout 1

#include "d2k_toy_scale.h"

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  for (volatile int i = 0;; i = i + 1) {
  }
}
