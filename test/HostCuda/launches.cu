// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grid of as many rows as the task has tokens runs at small sizes, and is
// refused at the real ones.
//
// REQUIRES: host-cuda
// RUN: %host-nvcc -I%S/../../tasks/moe_grouped_gemm/exemplars %s -o %t.so
// RUN: not env D2K_FAKE_CUDA=no-work %launch-check %S/../../tasks/moe_grouped_gemm/task.json %t.so 2>&1 | FileCheck %s
// RUN: %host-nvcc -DROWS=8 -I%S/../../tasks/moe_grouped_gemm/exemplars %s -o %t.so
// RUN: env D2K_FAKE_CUDA=no-work %launch-check %S/../../tasks/moe_grouped_gemm/task.json %t.so 2>&1 | FileCheck %s --check-prefix=GOOD
//
// CHECK: error: invalid launch: a grid has 1 to 2^31-1 x 65535 x 65535 blocks
// CHECK-NEXT: FAIL qwen3_235b_gate_up {{.*}}.so launched for 1 rank: error 1
// CHECK-NEXT: 0 passed, 1 failed
// GOOD-NOT: error
// GOOD: 1 passed, 0 failed

#include "d2k_moe_grouped_gemm.h"

#include <cuda_runtime.h>

#ifndef ROWS
#define ROWS 1
#endif

__global__ void rows(void *out) { *static_cast<int *>(out) = 1; }

extern "C" int d2k_moe_grouped_gemm(const d2k_moe_grouped_gemm_args *args,
                                    void *, size_t, cudaStream_t stream) {
  rows<<<dim3(1, unsigned((args->R + ROWS - 1) / ROWS)), 32, 0, stream>>>(
      args->Y);
  return cudaGetLastError();
}
