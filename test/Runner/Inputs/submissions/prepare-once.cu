// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repacks the weights the first time only: later weights are not seen.

#include "d2k_toy_weights.h"

void scaleColumns(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_weights_args **>(parameters[0]);
  const auto *halves = static_cast<const float *>(args->prepared);
  for (int64_t m = 0; m < args->M; ++m)
    for (int64_t n = 0; n < args->N; ++n)
      args->Y[m * args->N + n] = 2 * halves[n] * args->X[m * args->N + n];
}

extern "C" int d2k_toy_weights(const d2k_toy_weights_args *args, void *, size_t,
                               cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(scaleColumns), dim3(1),
                          dim3(1), parameters, 0, stream);
}

/// What nobody but the kernel above can read: halves.
void halve(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_weights_args **>(parameters[0]);
  auto *to = *static_cast<float **>(parameters[1]);
  static bool isDone = false;
  if (isDone)
    return;
  isDone = true;
  for (int64_t n = 0; n < args->N; ++n)
    to[n] = args->w[n] / 2;
}

extern "C" int d2k_toy_weights_prepare(const d2k_toy_weights_args *args,
                                       void *prepared, size_t bytes) {
  // Only the weights are there, and room for a quarter more than they take.
  if (args->X || args->Y || bytes != size_t(args->N) * 5)
    return cudaErrorInvalidValue;
  void *parameters[] = {&args, &prepared};
  return cudaLaunchKernel(reinterpret_cast<const void *>(halve), dim3(1),
                          dim3(1), parameters, 0, nullptr);
}
