// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task allgather_gemm, generated from its task.json: Rank r
// has M/world rows X[r] of the activations and weights W[r] of its own: Y[m,n]
// = bf16(sum over k of Xall[m,k]*W[r][n,k]) on rank r, accumulated in fp32,
// with Xall the rows of all ranks in the order of the ranks.

#ifndef D2K_ALLGATHER_GEMM_H
#define D2K_ALLGATHER_GEMM_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_allgather_gemm_args {
  int64_t M;                /* rows of all ranks' X together, and of Y (tokens) */
  int64_t N;                /* rows of each rank's W, columns of Y (output features of a rank) */
  int64_t K;                /* columns of X and of W (input features) */
  int64_t world;            /* number of ranks, one GPU each */
  int64_t rank;             /* this rank, from 0 */
  const void *const *X;     /* bfloat16 [M//world,K], activations: rows of this rank; one pointer a rank, the array on the host */
  const void *const *W;     /* bfloat16 [N,K], weights, one row an output feature; a rank needs its own only; one pointer a rank, the array on the host */
  void *Y;                  /* bfloat16 [M,N], the result: all tokens, this rank's output features */
  void *const *scratch;     /* scratch of every rank, undefined contents; the array on the host */
  size_t scratch_bytes;     /* size of the above, on each */
  uint32_t *const *signals; /* words of every rank, zero before the first call and never reset; the array on the host */
  size_t signal_words;      /* number of the above, on each */
} d2k_allgather_gemm_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_allgather_gemm(const d2k_allgather_gemm_args *args, void *workspace,
                       size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ALLGATHER_GEMM_H
