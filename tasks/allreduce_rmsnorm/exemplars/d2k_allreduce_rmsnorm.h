// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry point of the task allreduce_rmsnorm, generated from its task.json: On
// every rank: r = bf16(sum over ranks p of x[p] + res), the sum in fp32 in the
// order of the ranks; y = bf16(r * rsqrt(mean(r*r) + eps) * w) from the rounded
// r. r and y have the same bits on all ranks.

#ifndef D2K_ALLREDUCE_RMSNORM_H
#define D2K_ALLREDUCE_RMSNORM_H

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are in device memory, row-major and contiguous unless their
   comment says otherwise, with bases aligned to 256 bytes. */
typedef struct d2k_allreduce_rmsnorm_args {
  int64_t T;                /* tokens: rows of all tensors but w */
  int64_t H;                /* hidden size: columns */
  int64_t world;            /* number of ranks, one GPU each */
  int64_t rank;             /* this rank, from 0 */
  const void *const *x;     /* bfloat16 [T,H], partial sums of a product that is split over the ranks; one pointer a rank, the array on the host */
  const void *res;          /* bfloat16 [T,H], residual stream, the same on all ranks */
  const void *w;            /* bfloat16 [H], weight of the norm, the same on all ranks */
  float eps;                /* float32, added to the mean of squares */
  void *r;                  /* bfloat16 [T,H], the new residual stream */
  void *y;                  /* bfloat16 [T,H], normalised */
  void *const *scratch;     /* scratch of every rank, undefined contents; the array on the host */
  size_t scratch_bytes;     /* size of the above, on each */
  uint32_t *const *signals; /* words of every rank, zero before the first call and never reset; the array on the host */
  size_t signal_words;      /* number of the above, on each */
} d2k_allreduce_rmsnorm_args;

/* Enqueues one call on `stream` and returns a cudaError. Neither
   allocates nor waits. `workspace` may be null when `workspace_bytes`
   is 0; it holds arbitrary bytes. */
int d2k_allreduce_rmsnorm(const d2k_allreduce_rmsnorm_args *args, void *workspace,
                          size_t workspace_bytes, cudaStream_t stream);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif // D2K_ALLREDUCE_RMSNORM_H
