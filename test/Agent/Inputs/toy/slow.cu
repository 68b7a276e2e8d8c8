// Right, and slow on purpose: each product is made sixty times.

#include "d2k_toy_scale.h"

void scaleSlowly(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_scale_args **>(parameters[0]);
  for (int round = 0; round < 60; ++round)
    for (int64_t m = 0; m < args->M; ++m)
      for (int64_t n = 0; n < args->N; ++n) {
        volatile float *y = args->Y + m * args->N + n;
        *y = args->s[m] * args->X[m * args->N + n];
      }
}

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *, size_t,
                             cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(scaleSlowly), dim3(1),
                          dim3(1), parameters, 0, stream);
}
