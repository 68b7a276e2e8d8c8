// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_dual_swiglu, generated from its task.json:
// H[m,f] = bf16(silu(G[m,f]) * U[m,f]) with G = X * W[0:F]^T, U = X * W[F:2F]^T
// and silu(g) = g / (1 + exp(-g)); sums in fp32.

#ifndef D2K_GEMM_DUAL_SWIGLU_H
#define D2K_GEMM_DUAL_SWIGLU_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_dual_swiglu_args {
  int64_t M;     /* rows of X and H (tokens) */
  int64_t F;     /* columns of H; half the rows of W (intermediate size) */
  int64_t K;     /* columns of X and of W (hidden size) */
  const void *X; /* bfloat16 [M,K], activations */
  const void *W; /* bfloat16 [2*F,K], weights: F rows of the gate, then F rows of the up projection */
  void *H;       /* bfloat16 [M,F], the result */
} d2k_gemm_dual_swiglu_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_dual_swiglu(const d2k_gemm_dual_swiglu_args *args, void *workspace,
                         size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_DUAL_SWIGLU_H
