// RUN: d2k-host --task %tasks/gemm_bf16/task.json --arch sm_90a -I %tasks/gemm_bf16/exemplars %s \
// RUN:   | FileCheck %s
// RUN: d2k-host --entry d2k_gemm_bf16 --arch sm_90a -I %tasks/gemm_bf16/exemplars %s \
// RUN:   | FileCheck %s --check-prefix=NOTASK
// Which kernel runs may depend on the alignment of an address: tensors start at
// multiples of 256 bytes. Of more than that, and without a task, nothing is known.

#include "d2k_gemm_bf16.h"
#include <cstdint>

__global__ void wide(const void *x, int i) {}
__global__ void narrow(const void *x, int i) {}

static bool isAligned(const void *p, int bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

// NOTASK: launch? wide(void const*, int) grid 1x1x1 {{.*}}(X, 1)
// NOTASK: launch? narrow(void const*, int) grid 1x1x1 {{.*}}(X, 1)
// CHECK: trace d2k_gemm_bf16 under llama3_70b_o_proj
// CHECK: launch wide(void const*, int) grid 1x1x1 {{.*}}(X, 1)
// CHECK-NEXT: launch wide(void const*, int) grid 1x1x1 {{.*}}(X, 2)
// CHECK-NEXT: launch narrow(void const*, int) grid 1x1x1 {{.*}}(X, 3)
// CHECK-NEXT: launch? wide(void const*, int) grid 1x1x1 {{.*}}(X, 4)
// CHECK: launch? narrow(void const*, int) grid 1x1x1 {{.*}}(X, 4)
// CHECK: launch? wide(void const*, int) grid 1x1x1 {{.*}}(workspace, 5)
// CHECK: launch? narrow(void const*, int) grid 1x1x1 {{.*}}(workspace, 5)
// CHECK: trace d2k_gemm_bf16 under llama3_8b_down_proj
extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *a, void *workspace,
                             size_t, cudaStream_t s) {
  auto launch = [&](bool aligned, const void *p, int i) {
    if (aligned)
      wide<<<1, 32, 0, s>>>(p, i);
    else
      narrow<<<1, 32, 0, s>>>(p, i);
  };
  const uint16_t *x = (const uint16_t *)a->X;
  launch(isAligned(x, 16), x, 1);
  launch((15 & (uintptr_t)(x + 8)) == 0, x, 2);
  launch(((uintptr_t)(x + 1) & 15) == 0, x, 3);
  launch(isAligned(x, 512), x, 4);
  launch(isAligned(workspace, 16), workspace, 5);
  return 0;
}
