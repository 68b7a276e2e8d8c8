// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source --facts --entry present %s | FileCheck %s --check-prefix=PRESENT
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source --facts --entry same %s | FileCheck %s --check-prefix=SAME
// RUN: d2k-analyze --task gemm_bf16 --arch sm_90a --tiers source --facts --entry absent %s | FileCheck %s --check-prefix=ABSENT
//
// shape_dispatch: which kernel runs depends on the shape. The workloads of
// gemm_bf16 have M = 8192, 4096, 2048 and 1000.

#include "d2k_gemm_bf16.h"

template <int kTile>
__global__ void tile(const void *x, void *y) {}
__global__ void other(const void *x, void *y) {}

// Two instantiations, by M; a third kernel that always runs is no choice.
// PRESENT: {{^ *}}shape_dispatch (variants 2), source
int present(const d2k_gemm_bf16_args *a, cudaStream_t s) {
  if (a->M > 2048)
    tile<256><<<8, 128, 0, s>>>(a->X, a->D);
  else
    tile<128><<<8, 128, 0, s>>>(a->X, a->D);
  other<<<1, 32, 0, s>>>(a->X, a->D);
  return 0;
}

// Decoy: a choice of which every workload takes the same side.
// SAME-NOT: {{^ *}}shape_dispatch (
// SAME: near miss: shape_dispatch
// SAME: the host can launch 2 kernels, but the results of all workloads are made by the same
int same(const d2k_gemm_bf16_args *a, cudaStream_t s) {
  if (a->M > 1)
    tile<256><<<8, 128, 0, s>>>(a->X, a->D);
  else
    tile<128><<<8, 128, 0, s>>>(a->X, a->D);
  return 0;
}

// Decoy: the shape changes the grid and nothing else.
// ABSENT-NOT: {{^ *}}shape_dispatch
// ABSENT: {{^}}Facts
// ABSENT-NOT: {{^ *}}shape_dispatch
// ABSENT: launch_shape (x 128, y 1, z 1), source
// ABSENT-NOT: {{^ *}}shape_dispatch
int absent(const d2k_gemm_bf16_args *a, cudaStream_t s) {
  tile<256><<<int(a->M / 128), 128, 0, s>>>(a->X, a->D);
  return 0;
}
