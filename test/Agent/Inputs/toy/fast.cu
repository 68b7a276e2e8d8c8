// Right and fast: one pass.

#include "d2k_toy_scale.h"

void scaleOnce(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_scale_args **>(parameters[0]);
  for (int64_t m = 0; m < args->M; ++m) {
    float factor = args->s[m];
    for (int64_t n = 0; n < args->N; ++n)
      args->Y[m * args->N + n] = factor * args->X[m * args->N + n];
  }
}

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *, size_t,
                             cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(scaleOnce), dim3(1),
                          dim3(1), parameters, 0, stream);
}
