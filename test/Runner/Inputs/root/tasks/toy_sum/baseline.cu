// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Baseline of the test's task on several ranks, for the fake device.

#include "d2k_toy_sum.h"

void sumRanks(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_sum_args **>(parameters[0]);
  for (int64_t n = 0; n < args->N; ++n) {
    volatile float sum = 0;
    for (int64_t rank = 0; rank < args->world; ++rank)
      sum = sum + args->X[rank][n];
    args->Y[n] = sum;
  }
}

extern "C" const char *d2k_baseline_identity(void) { return "toy 1.0"; }

extern "C" int d2k_toy_sum(const d2k_toy_sum_args *args, void *, size_t,
                           cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(sumRanks), dim3(1),
                          dim3(1), parameters, 0, stream);
}
