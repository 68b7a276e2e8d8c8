// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A right submission for the toy task on several ranks. It also looks at what
// it was given: its own rank, scratch that each rank can write, and signals
// that keep their values from call to call.

#include "d2k_toy_sum.h"

void sumRanks(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_sum_args **>(parameters[0]);
  uint32_t calls = ++args->signals[args->rank][0];
  bool isSound = args->world == 2 && args->signal_words == 16 &&
                 args->scratch_bytes == size_t(4 * args->N) && calls != 0;
  auto *scratch = static_cast<float *>(args->scratch[args->rank]);
  for (int64_t n = 0; n < args->N; ++n) {
    scratch[n] = args->X[0][n] + args->X[1][n];
    args->Y[n] = isSound ? scratch[n] : 0;
  }
}

extern "C" int d2k_toy_sum(const d2k_toy_sum_args *args, void *, size_t,
                           cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(sumRanks), dim3(1),
                          dim3(1), parameters, 0, stream);
}
