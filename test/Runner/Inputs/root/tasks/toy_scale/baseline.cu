// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Baseline of the test's task, for the fake device: three times as much work
// as needed.

#include "d2k_toy_scale.h"

void scaleThrice(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_scale_args **>(parameters[0]);
  for (int round = 0; round < 3; ++round)
    for (int64_t m = 0; m < args->M; ++m)
      for (int64_t n = 0; n < args->N; ++n) {
        volatile float *y = args->Y + m * args->N + n;
        *y = args->s[m] * args->X[m * args->N + n];
      }
}

extern "C" const char *d2k_baseline_identity(void) { return "toy 1.0"; }

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *, size_t,
                             cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(scaleThrice), dim3(1),
                          dim3(1), parameters, 0, stream);
}
