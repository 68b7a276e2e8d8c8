// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline of gemm_bf16: one cublasLtMatmul with beta = 1, C = R and D
// apart.

#include "d2k_gemm_bf16.h"

#include "d2k/Baseline/CublasLt.h"

static d2k::baseline::MatmulPlanner &getPlanner() {
  static d2k::baseline::MatmulPlanner planner;
  return planner;
}

/// Library, version and algorithm of the last call.
extern "C" const char *d2k_baseline_identity() {
  return getPlanner().getIdentity().c_str();
}

extern "C" int d2k_gemm_bf16(const d2k_gemm_bf16_args *args, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream) {
  d2k::baseline::Matmul product;
  product.m = args->M;
  product.n = args->N;
  product.k = args->K;
  product.x = args->X;
  product.w = args->W;
  product.c = args->R;
  product.d = args->D;
  return getPlanner().run(product, workspace, workspace_bytes, stream);
}
