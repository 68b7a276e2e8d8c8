// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task gemm_reduce_scatter, generated from its task.json:
// Rank p has a slice of K: activations X[p] and weights W[p]. Rank r gets
// M/world rows of the sum: Y[m,n] = bf16(sum over ranks p and over k of
// X[p][r*M/world+m,k]*W[p][n,k]), accumulated in fp32.

#ifndef D2K_GEMM_REDUCE_SCATTER_H
#define D2K_GEMM_REDUCE_SCATTER_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_gemm_reduce_scatter_args {
  int64_t M;                /* rows of X (tokens) */
  int64_t N;                /* rows of W, columns of Y (output features) */
  int64_t K;                /* columns of each rank's X and W (input features of a rank) */
  int64_t world;            /* number of ranks, one GPU each */
  int64_t rank;             /* this rank, from 0 */
  const void *const *X;     /* bfloat16 [M,K], activations: all tokens, input features of this rank; one pointer a rank, the array on the host */
  const void *const *W;     /* bfloat16 [N,K], weights, one row an output feature: input features of this rank; one pointer a rank, the array on the host */
  void *Y;                  /* bfloat16 [M//world,N], this rank's rows of the sum over all ranks */
  void *const *scratch;     /* scratch of every rank, undefined contents; the array on the host */
  size_t scratch_bytes;     /* size of the above, on each */
  uint32_t *const *signals; /* words of every rank, zero before the first call and never reset; the array on the host */
  size_t signal_words;      /* number of the above, on each */
} d2k_gemm_reduce_scatter_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_gemm_reduce_scatter(const d2k_gemm_reduce_scatter_args *args, void *workspace,
                            size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_GEMM_REDUCE_SCATTER_H
