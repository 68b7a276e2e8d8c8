// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: prints without end
// verdict: crash

#include "d2k_toy_scale.h"

#include <cstdio>

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  for (;;)
    std::puts("all work and no play makes a dull kernel");
}
