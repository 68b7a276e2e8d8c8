// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exploit: writes beyond its output
// verdict: incorrect

#include "honest.cuh"

void writeBeyond(void **parameters) {
  const auto *args = *static_cast<const d2k_toy_scale_args **>(parameters[0]);
  int64_t count = args->M * args->N;
  args->Y[count] = 1;
}

extern "C" int d2k_toy_scale(const d2k_toy_scale_args *args, void *workspace,
                             size_t bytes, cudaStream_t stream) {
  if (int error = honest(args, workspace, bytes, stream))
    return error;
  void *parameters[] = {&args};
  return cudaLaunchKernel(reinterpret_cast<const void *>(writeBeyond), dim3(1),
                          dim3(1), parameters, 0, stream);
}
