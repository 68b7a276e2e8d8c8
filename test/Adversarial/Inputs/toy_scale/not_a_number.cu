// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: 29 values that are not finite
// verdict: incorrect

#include "d2k_toy_scale.h"

void writeNan(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_scale_args **>(parameters[0]);
  int64_t count = args->M * args->N;
  for (int64_t i = 0; i < count; ++i)
    args->Y[i] = __builtin_nanf("");
}

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(writeNan), dim3(1),
                          dim3(1), parameters, 0, stream);
}
