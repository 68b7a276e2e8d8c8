// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A submission for the toy task on several ranks whose ranks do not agree: the
// second one's result is wrong by less than the tolerance.

#include "d2k_toy_sum.h"

#include <cstring>

void sumRanks(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_sum_args **>(parameters[0]);
  for (int64_t n = 0; n < args->N; ++n)
    args->Y[n] = args->X[0][n] + args->X[1][n];
  if (args->rank == 1) {
    uint32_t bits;
    std::memcpy(&bits, args->Y, 4);
    bits ^= 1;
    std::memcpy(args->Y, &bits, 4);
  }
}

extern "C" int d2k_toy_sum(const d2k_toy_sum_args *args, void *, size_t,
                           cudaStream_t stream) {
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(sumRanks), dim3(1),
                          dim3(1), parameters, 0, stream);
}
